// A block that a static pointer keeps is a block, whatever the optimiser knows: aligned for atomic operations, and with an
// end.
// flags: -g -O2
// run: --test aligned -s dpor
// exit: 0
// run: --test behind -i 10
// exit: 2
// line: bug in test behind: heap-overflow
#include <assert.h>
#include <coyote.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct pair {
  _Atomic long long whole;
  int rest;
};

static volatile char odd;
static struct pair *kept;
static char *bytes;

static void *stores(void *arg) {
  (void)arg;
  atomic_store(&kept->whole, 1 + odd);
  return 0;
}

COYOTE_TEST(aligned) {
  kept = calloc(1, sizeof *kept);
  pthread_t thread;
  pthread_create(&thread, 0, stores, 0);
  long long seen = atomic_load(&kept->whole);
  pthread_join(thread, 0);
  assert(seen == 0 || seen == 1);
}

COYOTE_TEST(behind) {
  bytes = malloc(16);
  bytes[16] = odd;
}
