// A thread writes to a local variable of a function that has returned, where another function now has its frame.
// run: -s random -i 200
// exit: 2
// line: bug in test main: use-after-return: store of 4 bytes
// run: -s dpor
// exit: 2
// line: bug in test main: use-after-return: store of 4 bytes
// run: -s stateful
// exit: 2
// line: bug in test main: use-after-return: store of 4 bytes
// run: -s dpor --no-detect use-after-return
// exit: 0
// line: no use of local variables of functions that have returned
#include <assert.h>
#include <pthread.h>

static pthread_t thread;

static void *body(void *at) {
  *(int *)at = 7;
  return 0;
}

__attribute__((noinline)) static void start(void) {
  volatile int local = 1;
  pthread_create(&thread, 0, body, (void *)&local);
}

__attribute__((noinline)) static int other(void) {
  volatile int local[4] = {1, 1, 1, 1};
  pthread_join(thread, 0);
  return local[0] + local[1] + local[2] + local[3];
}

int main(void) {
  start();
  assert(other() == 4);
  return 0;
}
