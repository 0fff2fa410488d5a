/* The end after the first thread's is an end.
 * ends: 1 */
#include "fuzz.h"

static void *ends(void *unused) {
  return unused;
}

COYOTE_TEST(first_exits) {
  pthread_create(&thread[1], NULL, ends, NULL);
  pthread_exit(NULL);
}
