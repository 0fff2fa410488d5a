/* Two threads that store into two cells, and an invariant: the cells never have two given values at once.
 * Arguments: the stores of each thread, three bits for each (cell, value), behind a leading 1; the forbidden values. */
#include <coyote.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

static atomic_int cells[2];

static int holds(void *forbidden) {
  const int *values = (const int *)forbidden;
  return cells[0] != values[0] || cells[1] != values[1];
}

static void *stores(void *packed) {
  for (uintptr_t rest = (uintptr_t)packed; rest > 1; rest >>= 3)
    cells[rest & 1] = rest >> 1 & 3;
  return NULL;
}

int main(int count, char **list) {
  int forbidden[2] = {atoi(list[3]), atoi(list[4])};
  coyote_invariant invariant;
  coyote_invariant_begin(&invariant, "allowed", holds, forbidden);
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, stores, (void *)(uintptr_t)atoi(list[1 + i]));
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  coyote_invariant_end(&invariant);
  return 0;
}
