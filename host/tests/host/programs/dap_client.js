// Debugs the replay of a trace of `bounded_buffer` with the client that Visual Studio Code's adapters are tested with.
const assert = require('assert');
const { DebugClient } = require('@vscode/debugadapter-testsupport');
const [program, module_, trace] = process.argv.slice(2);

async function run() {
  const client = new DebugClient(program, 'dap', 'coyote-wasm');
  await client.start();
  const go = async (request, threadId) => {
    const stopped = client.waitForEvent('stopped');
    await client[request + 'Request']({ threadId });
    return (await stopped).body;
  };
  const entry = client.waitForEvent('stopped');
  await Promise.all([
    client.waitForEvent('initialized').then(() => client.configurationDoneRequest()),
    client.launch({ module: module_, trace }),
  ]);
  assert.equal((await entry).body.reason, 'entry');

  let last = await go('continue', 1);
  assert.equal(last.reason, 'exception');
  assert.match(last.text, /^deadlock: /);
  const threads = (await client.threadsRequest()).body.threads;
  assert.ok(threads.some(thread => /reader/.test(thread.name)), JSON.stringify(threads));

  // Step back until the schedule has switched twice to another worker.
  let switches = 0;
  let here = last.threadId;
  while (switches < 2) {
    const stopped = await go('stepBack', here);
    assert.equal(stopped.reason, 'step');
    switches += stopped.threadId !== here ? 1 : 0;
    here = stopped.threadId;
  }

  // Every worker that is there can be looked at from here, not only the one that goes on.
  let read = 0;
  for (const thread of (await client.threadsRequest()).body.threads) {
    const frames = (await client.stackTraceRequest({ threadId: thread.id })).body.stackFrames;
    if (thread.id === here || frames.length === 0) continue;
    const scopes = (await client.scopesRequest({ frameId: frames[0].id })).body.scopes;
    const worker = scopes.find(scope => scope.name === 'Worker');
    const variables = (await client.variablesRequest({ variablesReference: worker.variablesReference })).body.variables;
    const value = name => variables.find(variable => variable.name === name).value;
    assert.equal(value('worker'), thread.name);
    assert.notEqual(value('doing'), '');
    read += 1;
  }
  assert.ok(read > 0, 'another worker was read');

  // Forward again: the same end.
  const again = await go('continue', here);
  assert.deepEqual([again.reason, again.text, again.threadId], [last.reason, last.text, last.threadId]);
  // This disconnects.
  await client.stop();
  console.log('done');
}

run().catch(error => { console.error(error); process.exit(1); });
