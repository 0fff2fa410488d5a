/* A stale pointer is used after a free that comes between a malloc and the use: had the free come first, the malloc
 * would have got the block.
 * ends: 3 */
#include "fuzz.h"

static void *mallocs_and_uses(void *unused) {
  int *p = malloc(4);
  *(volatile int *)p = 2;
  int *stale = pointer[0];
  keep(1, 1, *(volatile int *)stale);
  keep(1, 0, *(volatile int *)p);
  free(p);
  return unused;
}

COYOTE_TEST(free_between) {
  pthread_create(&thread[1], NULL, mallocs_and_uses, NULL);
  int *p = pointer[0];
  free(p);
  pthread_join(thread[1], NULL);
}
