/* Two threads set a and then b, without a lock; a third one, started last, expects to see both old values
 * or both new ones. After SCTBench's reorder_3.
 *
 * Expected: it fails when it falls between the two stores of the first setter, before the other one. */
#include <pthread.h>
#include <stdlib.h>

static volatile int a, b;

static void *set(void *unused) {
  a = 1;
  b = -1;
  return unused;
}

static void *check(void *unused) {
  if (!((a == 0 && b == 0) || (a == 1 && b == -1))) {
    abort();
  }
  return unused;
}

int main(void) {
  pthread_t setters[2], checker;
  pthread_create(&setters[0], NULL, set, NULL);
  pthread_create(&setters[1], NULL, set, NULL);
  pthread_create(&checker, NULL, check, NULL);
  pthread_join(setters[0], NULL);
  pthread_join(setters[1], NULL);
  pthread_join(checker, NULL);
  return 0;
}
