// What orders the accesses is not known, but said: without that there is a data race. What is said of another address, or
// the other way round, orders nothing.
// flags: -g -O1
// run: --detect races -s dpor
// exit: 0
// run: --detect races -i 200
// exit: 0
// run: --detect races -s dpor -- other
// exit: 2
// line: bug in test main: data-race: read of `number`
// run: --detect races -s dpor -- reversed
// exit: 2
// line: bug in test main: data-race: read of `number`
#include <coyote.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static volatile int number;
static atomic_int ready;
static int here, there;
static int other, reversed;

static void *sender(void *argument) {
  number = 42;
  if (reversed)
    coyote_happens_after(&here);
  else
    coyote_happens_before(&here);
  atomic_store_explicit(&ready, 1, memory_order_relaxed);
  return argument;
}

int main(int count, char **list) {
  other = count > 1 && !strcmp(list[1], "other");
  reversed = count > 1 && !strcmp(list[1], "reversed");
  pthread_t thread;
  pthread_create(&thread, 0, sender, 0);
  int value = 0;
  if (atomic_load_explicit(&ready, memory_order_relaxed)) {
    if (reversed)
      coyote_happens_before(&here);
    else
      coyote_happens_after(other ? &there : &here);
    value = number;
  }
  pthread_join(thread, 0);
  return value != 0 && value != 42;
}
