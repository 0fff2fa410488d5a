// Locks in opposite orders, which a semaphore keeps apart: a note, that nothing happened when it was tried. What visits
// everything knows that nothing can. Without the semaphore they are a bug.
// flags: -g -O1
// run: --detect lock-order -i 20
// exit: 0
// line: Potential deadlock: worker 0
// line: 100 schedules that were steered towards one had none.
// run: --detect lock-order -s dpor
// exit: 0
// line: ... All
// run: -i 20
// exit: 0
// run: --detect lock-order --no-shrink -i 50 -- free
// exit: 2
// line: bug in test main: deadlock:
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static sem_t done;

static void *second(void *unused) {
  sem_wait(&done);
  pthread_mutex_lock(&b);
  pthread_mutex_lock(&a);
  pthread_mutex_unlock(&a);
  pthread_mutex_unlock(&b);
  return unused;
}

int main(int argc, char **argv) {
  (void)argv;
  pthread_t thread;
  sem_init(&done, 0, argc > 1);
  pthread_create(&thread, NULL, second, NULL);
  pthread_mutex_lock(&a);
  pthread_mutex_lock(&b);
  pthread_mutex_unlock(&b);
  pthread_mutex_unlock(&a);
  sem_post(&done);
  pthread_join(thread, NULL);
  return 0;
}
