/* The pthreads of wasi-libc itself, over the wasi-threads convention: nothing here is coyote's but the
 * names of the tests. */

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define TEST(name) __attribute__((export_name("coyote.test." #name))) void name(void)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool ready;

static void *wait_ready(void *argument) {
  pthread_mutex_lock(&mutex);
  while (!ready) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  return argument;
}

static pthread_t start(void *(*function)(void *)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, function, &ready)) abort();
  return thread;
}

static void join(pthread_t thread) {
  void *result;
  if (pthread_join(thread, &result) || result != &ready) abort();
}

/* Without the mutex this can fall between the waiter's look at `ready` and its wait. */
TEST(lost_wakeup) {
  pthread_t thread = start(wait_ready);
  ready = true;
  pthread_cond_signal(&changed);
  join(thread);
}

TEST(wakeup) {
  pthread_t thread = start(wait_ready);
  pthread_mutex_lock(&mutex);
  ready = true;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&mutex);
  join(thread);
}

static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int initialised, serial;

static void initialise(void) { initialised++; }

static void *meet(void *argument) {
  pthread_once(&once, initialise);
  bool last = pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
  pthread_mutex_lock(&mutex);
  serial += last;
  pthread_mutex_unlock(&mutex);
  return argument;
}

TEST(barrier_once) {
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_t thread = start(meet);
  meet(NULL);
  join(thread);
  if (initialised != 1 || serial != 1) abort();
}
