/* Infinite recursion that uses the stack in memory.
 *
 * Expected: a stack overflow in both tests: in main, whose stack the linker made, and in a worker,
 * whose stack lies in the heap, where an overflow would damage somebody else's data without a trap. */
#include <coyote.h>

#pragma clang diagnostic ignored "-Winfinite-recursion"

static int recurse(volatile int *parent, int depth) {
  volatile int frame[16];
  frame[0] = *parent + depth;
  return recurse(frame, depth + 1) + frame[0];
}

static void overflow(void *unused) {
  (void)unused;
  volatile int first = 0;
  recurse(&first, 0);
}

COYOTE_TEST(in_main) { overflow(NULL); }

COYOTE_TEST(in_worker) {
  coyote_thread worker;
  coyote_thread_create(&worker, overflow, NULL);
  coyote_thread_join(&worker);
}
