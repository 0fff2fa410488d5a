// What an invariant reads takes part in no data race, and its evaluation orders nothing: the race of two others is found.
// flags: -g -O1
// run: -i 300 --races bug
// exit: 0
// run: -s dpor --races bug
// exit: 0
// run: -i 300 --races bug -- racy
// exit: 2
// line: bug in test main: data-race
#include <coyote.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;
static int racy;

static int is_small(void *argument) {
  return count <= 2;
}

static void *counts(void *argument) {
  if (!racy)
    pthread_mutex_lock(&lock);
  count++;
  if (!racy)
    pthread_mutex_unlock(&lock);
  return argument;
}

int main(int arguments, char **list) {
  static coyote_invariant invariant;
  racy = arguments > 1;
  coyote_invariant_begin(&invariant, "small", is_small, 0);
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], 0, counts, 0);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], 0);
  return 0;
}
