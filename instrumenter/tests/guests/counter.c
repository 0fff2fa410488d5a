// Two workers add to a counter, one of them without the lock.
//
// clang-19 --target=wasm32-wasi -O0 (or -O2) -matomics -mbulk-memory -nostdlib -Wl,--no-entry
//   -Wl,--strip-debug counter.c -o counter-O0.wasm

#define COYOTE(name) __attribute__((import_module("coyote"), import_name(#name)))
COYOTE(spawn) int spawn(void (*entry)(void *), void *argument, char *stack_low, char *stack_high);
COYOTE(join) void join(int worker);
COYOTE(mutex_lock) int lock(int *mutex, long long timeout_ns);
COYOTE(mutex_unlock) int unlock(int *mutex);
COYOTE(fail) void fail(const char *text, int length);

static int mutex, counter, done;
static char stack[65536];

static void add(int times, int locked) {
  int before[4];
  for (int i = 0; i < times; i++) {
    if (locked) lock(&mutex, -1);
    before[i & 3] = counter;
    counter = before[i & 3] + 1;
    if (locked) unlock(&mutex);
  }
  __atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
}

static void worker(void *argument) { add(*(int *)argument, 1); }

__attribute__((export_name("coyote.test.counter"))) void counter_test(void) {
  int times = 3;
  int handle = spawn(worker, &times, stack, stack + sizeof stack);
  add(times, 0);
  join(handle);
  if (counter != 6) fail("lost", 4);
}
