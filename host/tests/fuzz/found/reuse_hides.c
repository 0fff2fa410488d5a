/* A freed block that is handed out again hides an access of it, in one order of allocations and not in another.
 * ends: 3 */
#include "fuzz.h"

static void *reads_freed(void *unused) {
  char *p = (char *)pointer[0];
  if (p)
    keep(2, 0, ((volatile char *)p)[4]);
  return NULL;
}

static void *frees_and_creates(void *unused) {
  pointer[0] = calloc(1, 9);
  int *p = pointer[0];
  free(p);
  pthread_create(&thread[2], NULL, reads_freed, NULL);
  return NULL;
}

COYOTE_TEST(reuse_hides) {
  prepare();
  pthread_create(&thread[1], NULL, frees_and_creates, NULL);
  int *p = realloc(pointer[1], 12);
  *(volatile int *)p = 3;
  pointer[0] = p;
  pthread_join(thread[1], NULL);
}
