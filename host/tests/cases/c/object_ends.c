// Sync objects that are destroyed as early as POSIX allows it, and made again in the same memory: nothing to report.
// flags: -g -O1
// run: --races bug -s dpor -- mutex
// exit: 0
// run: --races bug -s dpor -- semaphore
// exit: 0
// run: --races bug -s dpor -- barrier
// exit: 0
// run: --races bug -s dpor -- condvar
// exit: 0
// run: --races bug -s dpor -- again
// exit: 0
// run: --races bug -i 500 -- mutex
// exit: 0
// run: --races bug -i 500 -- semaphore
// exit: 0
// run: --races bug -i 500 -- barrier
// exit: 0
// run: --races bug -i 500 -- condvar
// exit: 0
// run: --races bug -i 500 -- again
// exit: 0
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex;
static pthread_cond_t condvar;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int references = 2, ready;

/* Whoever gives the last reference up destroys the mutex that guards their number. */
static void *gives_up(void *unused) {
  pthread_mutex_lock(&mutex);
  int left = --references;
  pthread_mutex_unlock(&mutex);
  if (left == 0) {
    pthread_mutex_destroy(&mutex);
  }
  return unused;
}

/* The caller of sem_wait destroys the semaphore while sem_post may not have returned. */
static void *posts(void *unused) {
  sem_post(&semaphore);
  return unused;
}

/* One thread destroys the barrier while others may not have returned from it. */
static void *arrives(void *unused) {
  if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
    pthread_barrier_destroy(&barrier);
  }
  return unused;
}

/* The condition variable is destroyed when its waiters are woken, before they have the mutex again. */
static void *waits(void *unused) {
  pthread_mutex_lock(&mutex);
  while (!ready) {
    pthread_cond_wait(&condvar, &mutex);
  }
  pthread_mutex_unlock(&mutex);
  return unused;
}

/* Memory of a mutex that is freed and handed out to another thread. */
static void *makes(void *unused) {
  pthread_mutex_t *own = malloc(sizeof *own);
  pthread_mutex_init(own, NULL);
  pthread_mutex_lock(own);
  pthread_mutex_unlock(own);
  pthread_mutex_destroy(own);
  free(own);
  return unused;
}

int main(int count, char **arguments) {
  (void)count;
  pthread_t thread;
  const char *which = arguments[1];
  pthread_mutex_init(&mutex, NULL);
  pthread_cond_init(&condvar, NULL);
  pthread_barrier_init(&barrier, NULL, 2);
  sem_init(&semaphore, 0, 0);
  if (strcmp(which, "mutex") == 0) {
    pthread_create(&thread, NULL, gives_up, NULL);
    gives_up(NULL);
  } else if (strcmp(which, "semaphore") == 0) {
    pthread_t other;
    pthread_create(&thread, NULL, posts, NULL);
    pthread_create(&other, NULL, posts, NULL);
    sem_wait(&semaphore);
    sem_wait(&semaphore);
    sem_destroy(&semaphore);
    pthread_join(other, NULL);
  } else if (strcmp(which, "barrier") == 0) {
    pthread_create(&thread, NULL, arrives, NULL);
    arrives(NULL);
  } else if (strcmp(which, "condvar") == 0) {
    pthread_create(&thread, NULL, waits, NULL);
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_cond_broadcast(&condvar);
    pthread_cond_destroy(&condvar);
    pthread_mutex_unlock(&mutex);
  } else {
    pthread_create(&thread, NULL, makes, NULL);
    makes(NULL);
  }
  pthread_join(thread, NULL);
  return 0;
}
