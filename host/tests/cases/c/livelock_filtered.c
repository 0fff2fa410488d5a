// A worker that spins for ever, with points left out: what happens between points is not seen, so that the livelock is
// no proof and the run has no verdict. With all points it is one.
// run: -s dpor
// exit: 2
// line: livelock
// run: -s dpor --points sync
// exit: 6
// run: -s stateful --points sync
// exit: 6
// run: -s stateful --no-points-in none_of_this_name
// exit: 6
// run: -s stateful --points-only-in spins
// exit: 6
#include <pthread.h>

static int flag;

static void *spins(void *unused) {
  while (__atomic_load_n(&flag, __ATOMIC_SEQ_CST) != 1) {
  }
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, spins, 0);
  pthread_join(thread, 0);
}
