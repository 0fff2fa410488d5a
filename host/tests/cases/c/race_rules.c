// Two data races; what becomes of them, options say. A known one hides no other one.
// flags: -g -O1
// run: --races bug -s dpor --explore
// exit: 2
// line: bug in test main: data-race: write of `a`
// run: --races warn -s dpor
// exit: 0
// line: Data race: write of 4 bytes by
// line: It is no bug with --races warn.
// line: without 2 data races that are noted
// run: --races warn -i 100
// exit: 0
// line: It is no bug with --races warn.
// run: --detect races --suppress race:known -s dpor
// exit: 2
// line: at unknown (
// line: Data races of 1 pair of places are suppressed: race:known (1).
// run: --detect races --suppress race:known --suppress race:*known -s dpor
// exit: 0
// line: without 2 data races that are suppressed
// run: --races bug --suppress race:*race_rules.c -i 100
// exit: 0
// line: Data races of 2 pairs of places are suppressed
// run: --races bug --suppress race:elsewhere -i 100
// exit: 2
// line: bug in test main: data-race
// run: --races off --detect races -i 100
// exit: 0
#include <pthread.h>

static volatile int a, b;

__attribute__((noinline)) static void known(void) { a = 1; }
__attribute__((noinline)) static void unknown(void) { b = 1; }

static void *thread(void *argument) {
  known();
  unknown();
  return argument;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, 0, thread, 0);
  thread(0);
  pthread_join(other, 0);
}
