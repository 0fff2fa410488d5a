// A thread reads a local variable of a function that may have returned: only where the thread runs late is that an error.
// run: -s random -i 200
// exit: 2
// line: bug in test main: use-after-return: load of 4 bytes
// run: -s dpor
// exit: 2
// line: bug in test main: use-after-return: load of 4 bytes
// run: -s stateful
// exit: 2
// line: bug in test main: use-after-return: load of 4 bytes
#include <assert.h>
#include <pthread.h>

static pthread_t thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void *body(void *at) {
  int number = *(int *)at;
  pthread_mutex_lock(&lock);
  sum += number;
  pthread_mutex_unlock(&lock);
  return 0;
}

__attribute__((noinline)) static void start(void) {
  volatile int local = 1;
  pthread_create(&thread, 0, body, (void *)&local);
}

__attribute__((noinline)) static int other(void) {
  volatile int local[4] = {1, 1, 1, 1};
  return local[0] + local[1] + local[2] + local[3];
}

int main(void) {
  start();
  assert(other() == 4);
  pthread_join(thread, 0);
  return 0;
}
