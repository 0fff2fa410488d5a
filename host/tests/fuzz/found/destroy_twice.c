/* Whether a mutex was destroyed before it is used again is part of what its use touches.
 * The second destruction is a misuse, also if it began before the first one.
 * ends: 2 */
#include "fuzz.h"

static void *destroys(void *unused) {
  pthread_mutex_destroy(&mutex[0]);
  return unused;
}

COYOTE_TEST(destroy_twice) {
  pthread_create(&thread[1], NULL, destroys, NULL);
  pthread_create(&thread[2], NULL, destroys, NULL);
  pthread_join(thread[1], NULL);
  pthread_join(thread[2], NULL);
}
