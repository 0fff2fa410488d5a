/* The end by exit is an end.
 * ends: 1 */
#include "fuzz.h"

static void *nothing(void *unused) {
  return unused;
}

COYOTE_TEST(exit_0) {
  pthread_create(&thread[1], NULL, nothing, NULL);
  pthread_join(thread[1], NULL);
  exit(0);
}
