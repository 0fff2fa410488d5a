/* The time, before anybody has read the clock.
 * ends: 2 */
#include "fuzz.h"

static void *wakes(void *unused) {
  o.futex = 1;
  futex_wake(1);
  return unused;
}

COYOTE_TEST(late) {
  pthread_create(&thread[1], NULL, wakes, NULL);
  futex_wait(0, 5000000000ll);
  pthread_join(thread[1], NULL);
  o.y = 1;
  keep(0, 0, now());
}
