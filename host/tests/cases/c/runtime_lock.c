// A lock made of a predicate that takes it; one whose wait and taking are two steps; and one that is never released.
// flags: -g -O1
// run: -s dpor
// exit: 0
// line: . Proved: no bug
// run: -s stateful
// exit: 0
// line: . Proved: no bug
// run: -i 500
// exit: 0
// run: --memory weak -i 500
// exit: 0
// run: --points sync -i 200
// exit: 0
// run: -s dpor -- torn
// exit: 2
// line: bug in test main: assertion
// run: -i 500 -- torn
// exit: 2
// line: bug in test main: data-race
// run: -s dpor -- kept
// exit: 2
// line: bug in test main: deadlock
// line: waits until its predicate holds
// run: -s pct -i 500 -- kept
// exit: 2
// line: bug in test main: deadlock
#include <coyote.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static atomic_int locked;
static int torn, kept, inside;

static int takes(void *unused) {
  int free = 0;
  return atomic_compare_exchange_strong(&locked, &free, 1);
}

static int is_free(void *unused) {
  return !atomic_load(&locked);
}

static void *worker(void *argument) {
  if (torn) {
    coyote_wait_until(is_free, 0);
    atomic_store(&locked, 1);
  } else {
    coyote_wait_until(takes, 0);
  }
  COYOTE_ASSERT(++inside == 1);
  inside--;
  if (!kept)
    atomic_store(&locked, 0);
  return argument;
}

int main(int count, char **list) {
  torn = count > 1 && !strcmp(list[1], "torn");
  kept = count > 1 && !strcmp(list[1], "kept");
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], 0, worker, 0);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], 0);
}
