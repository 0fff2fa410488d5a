/* A wait that finds another value does not touch the queue: a notification before it is in no race with it then, and
 * had been in one with the wait as it was.
 * ends: 5 */
#include "fuzz.h"

static void *stores_and_waits(void *unused) {
  o.futex = 1;
  keep(1, 0, futex_wait(1, 0));
  return unused;
}

static void *notifies(void *unused) {
  keep(2, 0, futex_wake(1));
  return unused;
}

COYOTE_TEST(wait_changed) {
  pthread_create(&thread[1], NULL, stores_and_waits, NULL);
  pthread_create(&thread[2], NULL, notifies, NULL);
  keep(0, 0, futex_wait(0, 1000000000ll));
  pthread_join(thread[1], NULL);
  pthread_join(thread[2], NULL);
}
