/* main returns while a thread waits for ever: the process ends, and with it the thread. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void *waits(void *argument) {
  pthread_mutex_lock(&mutex);
  for (;;) {
    pthread_cond_wait(&never, &mutex);
  }
  return argument;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, waits, NULL);
#ifdef EXITS
  pthread_exit(NULL);
#endif
  return 0;
}
