/* A join of a detached thread is refused, also when its stack was freed by whoever came after it.
 * ends: 1 */
#include "fuzz.h"

static void *does_nothing(void *unused) {
  return unused;
}

COYOTE_TEST(detach_and_join) {
  pthread_create(&thread[1], NULL, does_nothing, NULL);
  pthread_create(&thread[2], NULL, does_nothing, NULL);
  pthread_detach(thread[2]);
  pointer[1] = malloc(4);
  pthread_join(thread[1], NULL);
  pthread_join(thread[2], NULL);
}
