/* A call of a library function that is atomic by default can come after another worker's step.
 * ends: 2 */
#include "fuzz.h"

static void *goes_to_d(void *unused) {
  chdir("/d");
  return unused;
}

COYOTE_TEST(without_a_point) {
  pthread_create(&thread[1], NULL, goes_to_d, NULL);
  chdir("/e");
  pthread_join(thread[1], NULL);
  keep(0, 0, here());
}
