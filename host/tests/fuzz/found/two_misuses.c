/* Two workers do the same wrong thing: two bugs.
 * ends: 2 */
#include "fuzz.h"

static void *unlocks(void *unused) {
  pthread_mutex_unlock(&mutex[1]);
  return unused;
}

COYOTE_TEST(two_misuses) {
  pthread_create(&thread[1], NULL, unlocks, NULL);
  pthread_mutex_unlock(&mutex[1]);
  pthread_join(thread[1], NULL);
}
