// A function that calls no other gives the address of a local variable away through memory.
// run: -s dpor
// exit: 2
// line: bug in test main: use-after-return: store of 4 bytes
// run: -s stateful
// exit: 2
// line: bug in test main: use-after-return: store of 4 bytes
#include <assert.h>
#include <pthread.h>

static int *volatile given;
static volatile int is_given;

static void *body(void *nothing) {
  if (is_given) *given = 7;
  return nothing;
}

__attribute__((noinline)) static int leaf(int n) {
  volatile int local[2] = {n, n};
  given = (int *)&local[0];
  is_given = 1;
  is_given = 0;
  return local[1];
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, body, 0);
  assert(leaf(3) == 3);
  pthread_join(thread, 0);
  return 0;
}
