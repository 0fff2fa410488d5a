/* The step that fails is the second one, whoever's it is.
 * ends: 2 */
#include "fuzz.h"

static void *frees(void *unused) {
  free(pointer[0]);
  return unused;
}

COYOTE_TEST(double_free) {
  pthread_create(&thread[1], NULL, frees, NULL);
  free(pointer[0]);
  pthread_join(thread[1], NULL);
}
