/* A recursive mutex, and then in the same memory one that is not. Expected: the second lock waits for ever. */
#include <pthread.h>
#include <stddef.h>

static void lock_twice(pthread_mutex_t mutex) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  pthread_mutex_unlock(&mutex);
}

static void *work(void *argument) {
  lock_twice((pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP);
  lock_twice((pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER);
  return argument;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, work, NULL);
  pthread_create(&threads[1], NULL, work, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  return 0;
}
