/* Which of two allocations fails.
 * ends: 2 */
#include "fuzz.h"

static void *which_allocation_fails_by(void *number) {
  keep((int)number, 0, allocate(3 << 20) != NULL);
  return NULL;
}

COYOTE_TEST(which_allocation_fails) {
  pthread_create(&thread[1], NULL, which_allocation_fails_by, (void *)1);
  pthread_create(&thread[2], NULL, which_allocation_fails_by, (void *)2);
  pthread_join(thread[1], NULL);
  pthread_join(thread[2], NULL);
}
