// A worker can be joined once: a second join is a bug, whoever makes it and whether the worker has ended by then.
// run: --test by_one --iterations 20
// exit: 2
// line: bug in test by_one: misuse: join of worker 1, which is joined already
// run: --test by_two --strategy dpor
// exit: 2
// line: bug in test by_two: misuse: join of worker 1, which is joined already
// run: --test by_one_of_two --strategy dpor
// exit: 0
// run: --test after_a_choice --strategy stateful
// exit: 2
// line: bug in test after_a_choice: misuse: join of worker 1, which is joined already
#include "coyote.h"

static void nothing(void *argument) {
  (void)argument;
}

static void join(void *thread) {
  coyote_thread_join(thread);
}

COYOTE_TEST(by_one) {
  coyote_thread thread;
  coyote_thread_create(&thread, nothing, 0);
  coyote_thread_join(&thread);
  coyote_thread_join(&thread);
}

COYOTE_TEST(by_two) {
  coyote_thread thread, other;
  coyote_thread_create(&thread, nothing, 0);
  coyote_thread_create(&other, join, &thread);
  coyote_thread_join(&thread);
  coyote_thread_join(&other);
}

/* Each of them once, by different workers. */
COYOTE_TEST(by_one_of_two) {
  coyote_thread thread, other;
  coyote_thread_create(&thread, nothing, 0);
  coyote_thread_create(&other, join, &thread);
  coyote_thread_join(&other);
}

/* Whether the worker was joined is all that the two states differ in. */
COYOTE_TEST(after_a_choice) {
  coyote_thread thread;
  coyote_thread_create(&thread, nothing, 0);
  if (coyote_choose_bool()) {
    coyote_raw_join(thread.worker);
  }
  coyote_raw_join(thread.worker);
}
