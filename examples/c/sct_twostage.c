/* SCTBench's twostage: two values with a lock each. N - 1 workers write the first one and then, in a
 * second locked stage, the other one from it. One worker reads both, also in two stages, and expects the
 * second stage of everybody whose first one it saw.
 *
 * Expected: all fail their assertion when the reader falls between the two stages of the first writer to
 * come. The more writers, the less often. */
#include <coyote.h>

/* A hundred stacks of the usual size would not fit in a little memory. */
#define STACK_BYTES 4096

static coyote_mutex lock_1 = COYOTE_MUTEX_INIT, lock_2 = COYOTE_MUTEX_INIT;
static int data_1, data_2;

static void write_both(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock_1);
  data_1 = 1;
  coyote_mutex_unlock(&lock_1);

  coyote_mutex_lock(&lock_2);
  data_2 = data_1 + 1;
  coyote_mutex_unlock(&lock_2);
}

static void read_both(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock_1);
  if (data_1 == 0) {
    coyote_mutex_unlock(&lock_1);
    return;
  }
  int first = data_1;
  coyote_mutex_unlock(&lock_1);

  coyote_mutex_lock(&lock_2);
  int second = data_2;
  coyote_mutex_unlock(&lock_2);
  COYOTE_ASSERT(second == first + 1);
}

/* Starts the workers from number i on and waits for them. Recursive, because handles in an array would be
 * accesses to memory, and scheduling points that the original does not have. */
static void run_from(int i, int workers) {
  if (i < workers) {
    coyote_thread thread;
    coyote_thread_create_sized(&thread, i + 1 < workers ? write_both : read_both, NULL, STACK_BYTES);
    run_from(i + 1, workers);
    coyote_thread_join(&thread);
  }
}

static void run(int workers) { run_from(0, workers); }

COYOTE_TEST(twostage_2) { run(2); }

COYOTE_TEST(twostage_20) { run(20); }

COYOTE_TEST(twostage_50) { run(50); }

COYOTE_TEST(twostage_100) { run(100); }
