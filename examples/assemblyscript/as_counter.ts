// Two threads of the wasi-threads convention increment a counter without a lock.

// @ts-ignore: decorator
@external("wasi", "thread-spawn")
declare function threadSpawn(argument: i32): i32;

// Globals would belong to each thread alone; what threads share lies in memory.
const counter: usize = memory.data(4);
const ended: usize = memory.data(4);

export function wasi_thread_start(_id: i32, _argument: i32): void {
  store<i32>(counter, load<i32>(counter) + 1);
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
