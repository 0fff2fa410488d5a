/* Traps, one a test, in a worker, so that a report has to name it.
 *
 * Expected: a trap in each. Wasm itself does not trap at address 0; that `null` is found at all is
 * the tool's doing. */
#include <coyote.h>

static volatile int zero;

static void store_null(void *unused) {
  (void)unused;
  volatile int *null = (volatile int *)(uintptr_t)zero;
  *null = 1;
}

static void load_out_of_bounds(void *unused) {
  (void)unused;
  volatile int *beyond = (volatile int *)(0xfffffff0u + (uintptr_t)zero);
  zero = *beyond;
}

static void reach_unreachable(void *unused) {
  (void)unused;
  __builtin_trap();
}

static void divide_by_zero(void *unused) {
  (void)unused;
  zero = 100 / zero;
}

/* Calls a function by a type that it does not have. */
static void call_by_another_type(void *unused) {
  (void)unused;
  void (*volatile entry)(void *) = store_null;
  int (*wrong)(int, int) = (int (*)(int, int))(uintptr_t)entry;
  zero = wrong(1, 2);
}

static void run(void (*entry)(void *)) {
  coyote_thread worker;
  coyote_thread_create(&worker, entry, NULL);
  coyote_thread_join(&worker);
}

COYOTE_TEST(null) { run(store_null); }

COYOTE_TEST(out_of_bounds) { run(load_out_of_bounds); }

COYOTE_TEST(unreachable) { run(reach_unreachable); }

COYOTE_TEST(division) { run(divide_by_zero); }

COYOTE_TEST(indirect_call) { run(call_by_another_type); }
