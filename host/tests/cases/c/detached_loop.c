// A detached thread that goes on when main returns: the program ends natively, and here only if that is asked for.
// run: -i 20 --max-steps 500 1000
// exit: 6
// line: try --at-exit kill if the end of the first worker is to end the others, --max-steps
// run: -i 20 --at-exit kill
// exit: 0
#include <pthread.h>
#include <stdatomic.h>

static atomic_int rounds;

static void *goes_on(void *unused) {
  for (;;) {
    rounds++;
  }
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, goes_on, NULL);
  pthread_detach(thread);
  return 0;
}
