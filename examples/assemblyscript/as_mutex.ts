// A mutex made of a futex that looks for waiters too early: who begins to wait in between sleeps for ever.

// @ts-ignore: decorator
@external("wasi", "thread-spawn")
declare function threadSpawn(argument: i32): i32;

// Globals would belong to each thread alone; what threads share lies in memory.
const locked: usize = memory.data(4);
const waiters: usize = memory.data(4);
const counter: usize = memory.data(4);
const ended: usize = memory.data(4);

function lock(): void {
  while (atomic.cmpxchg<i32>(locked, 0, 1) != 0) {
    atomic.add<i32>(waiters, 1);
    atomic.wait<i32>(locked, 1);
    atomic.sub<i32>(waiters, 1);
  }
}

function unlock(): void {
  const somebody = atomic.load<i32>(waiters) > 0;
  atomic.store<i32>(locked, 0);
  if (somebody) atomic.notify(locked, 1);
}

export function wasi_thread_start(_id: i32, _argument: i32): void {
  lock();
  store<i32>(counter, load<i32>(counter) + 1);
  unlock();
  atomic.add<i32>(ended, 1);
  atomic.notify(ended);
}

export function _start(): void {
  threadSpawn(0);
  threadSpawn(0);
  for (let n = atomic.load<i32>(ended); n < 2; n = atomic.load<i32>(ended)) {
    atomic.wait<i32>(ended, n);
  }
  assert(load<i32>(counter) == 2, "an increment is lost");
}
