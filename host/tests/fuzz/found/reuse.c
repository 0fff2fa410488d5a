/* A stale pointer, between the free and the malloc that hands out the block again.
 * ends: 5 */
#include "fuzz.h"

static void *reads(void *unused) {
  int *p = pointer[0];
  if (p) {
    keep(1, 0, *(volatile int *)p);
  }
  return unused;
}

static void *reuses(void *unused) {
  int *p = pointer[0];
  pointer[0] = NULL;
  free(p);
  (void)o.x;
  p = malloc(4);
  *(volatile int *)p = 1;
  pointer[1] = p;
  return unused;
}

COYOTE_TEST(reuse) {
  pthread_create(&thread[1], NULL, reads, NULL);
  pthread_create(&thread[2], NULL, reuses, NULL);
  pthread_join(thread[1], NULL);
  pthread_join(thread[2], NULL);
}
