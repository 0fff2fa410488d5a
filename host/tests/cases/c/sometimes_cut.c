// What happens in an execution before a search cuts it off, since all that follows is explored elsewhere, has happened: a
// condition that holds there alone holds sometimes, a fault there was tried, and random bytes were asked for.
// flags: -g -O1
// run: -s stateful --test chosen
// exit: 0
// line: Proved
// absent: Expected to hold sometimes
// run: -s dfs+states --test chosen
// exit: 0
// absent: Expected to hold sometimes
// run: -s ses --test chosen
// exit: 0
// absent: Expected to hold sometimes
// run: -s preemption-bounding+states --test chosen
// exit: 0
// absent: Expected to hold sometimes
// run: -s dpor --test chosen
// exit: 0
// absent: Expected to hold sometimes
// run: -s stateful --test never
// exit: 0
// line: Expected to hold sometimes, and never did: `none chosen` (
// run: -s stateful --test fails --faults point
// exit: 0
// line: Faults: point.f 1 times in
// absent: point.f 0 times
// run: -s stateful --test asks
// exit: 0
// line: the same random bytes in every execution
#include <coyote.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int STATE;

static void *stores(void *argument) {
  STATE = 1;
  return argument;
}

// All paths lead to the same states.
static void end(void) {
  pthread_t thread;
  pthread_create(&thread, 0, stores, 0);
  pthread_join(thread, 0);
  STATE = 2;
  STATE = 0;
}

COYOTE_TEST(chosen) {
  if (coyote_choose_bool())
    coyote_sometimes(1, "one chosen");
  else
    coyote_sometimes(0, "one chosen");
  end();
}

COYOTE_TEST(never) {
  coyote_choose_bool();
  coyote_sometimes(0, "none chosen");
  end();
}

COYOTE_TEST(fails) {
  if (coyote_fault_point("f"))
    STATE = 5;
  coyote_fault_stop();
  end();
}

COYOTE_TEST(asks) {
  static unsigned char bytes[8];
  if (coyote_choose_bool()) {
    getentropy(bytes, sizeof bytes);
    bytes[0] = 0;
  }
  end();
}
