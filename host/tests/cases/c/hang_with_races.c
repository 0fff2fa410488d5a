// A round of steps can be repeated for ever, whatever the detector of data races has seen in it: hangs are proved with it as
// without it.
// flags: -g -O1
// run: -i 20 --races bug --no-shrink -- spins
// exit: 2
// line: bug in test main: livelock: 2 workers spin for ever and 1 waits: from here no end can be reached
// run: -i 20 --races off --no-shrink -- spins
// exit: 2
// line: bug in test main: livelock: 2 workers spin for ever and 1 waits: from here no end can be reached
// run: -i 200 --races bug --detect starvation --no-shrink -- waits
// exit: 2
// line: bug in test main: starvation: worker 0.1 can repeat a round
// run: -i 200 --races bug --detect lassos --no-shrink -- retries
// exit: 2
// line: bug in test main: lasso: worker 0.0 and worker 0.1 can repeat a round of 6 steps for ever
#include <pthread.h>
#include <string.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static const char *how;
static int ready;

static void *looks(void *unused) {
  for (int seen = 0; !seen;) {
    pthread_mutex_lock(&a);
    seen = ready;
    pthread_mutex_unlock(&a);
  }
  return unused;
}

static void *waits(void *unused) {
  pthread_mutex_lock(&a);
  ready = 1;
  pthread_mutex_unlock(&a);
  return unused;
}

static void *retries(void *first) {
  pthread_mutex_t *second = first == &a ? &b : &a;
  for (;;) {
    if (pthread_mutex_trylock(first)) continue;
    if (pthread_mutex_trylock(second) == 0) break;
    pthread_mutex_unlock(first);
  }
  pthread_mutex_unlock(second);
  pthread_mutex_unlock(first);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t threads[2];
  (void)argc;
  how = argv[1];
  if (!strcmp(how, "retries")) {
    pthread_create(&threads[0], NULL, retries, &a);
    pthread_create(&threads[1], NULL, retries, &b);
  } else {
    if (!strcmp(how, "waits")) pthread_create(&threads[0], NULL, waits, NULL);
    else pthread_create(&threads[0], NULL, looks, NULL);
    pthread_create(&threads[1], NULL, looks, NULL);
  }
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  return 0;
}
