/* SCTBench's reorder: N - 1 workers set a and then b, without a lock. One worker, started last, expects
 * to see both old values or both new ones.
 *
 * Expected: all fail their assertion when the checker falls between the two stores of the first setter to
 * come, before any other one has gone through. The more setters, the less often. */
#include <coyote.h>

/* Many stacks of the usual size would not fit in a little memory. */
#define STACK_BYTES 4096

/* volatile: each access stays where it is written. */
static volatile int a, b;

static void set(void *unused) {
  (void)unused;
  a = 1;
  b = -1;
}

static void check(void *unused) {
  (void)unused;
  COYOTE_ASSERT((a == 0 && b == 0) || (a == 1 && b == -1));
}

/* Starts the workers from number i on and waits for them. Recursive, because handles in an array would be
 * accesses to memory, and scheduling points that the original does not have. */
static void run_from(int i, int workers) {
  if (i < workers) {
    coyote_thread thread;
    coyote_thread_create_sized(&thread, i + 1 < workers ? set : check, NULL, STACK_BYTES);
    run_from(i + 1, workers);
    coyote_thread_join(&thread);
  }
}

static void run(int workers) { run_from(0, workers); }

COYOTE_TEST(reorder_3) { run(3); }

COYOTE_TEST(reorder_4) { run(4); }

COYOTE_TEST(reorder_5) { run(5); }

COYOTE_TEST(reorder_10) { run(10); }

COYOTE_TEST(reorder_20) { run(20); }

COYOTE_TEST(reorder_50) { run(50); }
