// A loop that waits by locking and unlocking leaves vector clocks different after each round, and is a spin all the same:
// with data races watched, too, one round is executed.
// flags: -g -O1
// run: --races bug -s dpor
// exit: 0
// line: Proved
// run: --races bug -s dpor -- racy
// exit: 2
// line: data-race
// run: --races bug -s dpor -- stuck
// exit: 2
// line: livelock
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int done;
static volatile int data;

static void *worker(void *sets) {
  data = 1;
  pthread_mutex_lock(&lock);
  done = sets != 0;
  pthread_mutex_unlock(&lock);
  return sets;
}

int main(int count, char **arguments) {
  pthread_t thread;
  int racy = count > 1 && arguments[1][0] == 'r', stuck = count > 1 && arguments[1][0] == 's';
  pthread_create(&thread, 0, worker, stuck ? 0 : &done);
  for (int seen = 0; !seen;) {
    if (racy) {
      data = 2;
    }
    pthread_mutex_lock(&lock);
    seen = done;
    pthread_mutex_unlock(&lock);
  }
  data = 3;
  pthread_join(thread, 0);
  return 0;
}
