// A register whose readers keep what they read is not linearizable; one that is read each time is, and so is what a worker
// leaves undone. The C check agrees with brute force on random histories.
// run: -i 2000 --test stale
// exit: 2
// line: bug in test stale: assertion: 
// run: -i 300 --test correct
// exit: 0
// run: -i 1 --test random --max-steps 100000000
// exit: 5
#include "coyote_linearize.h"
#include <pthread.h>
#include <stdatomic.h>

enum { READ, WRITE };

static int cell(void *state, const coyote_operation *operation) {
  int64_t *value = state;
  if (operation->kind == WRITE) *value = operation->argument;
  return !operation->returned || operation->kind == WRITE || operation->result == *value;
}

static coyote_operation room[3][4];
static coyote_history logs[3];
static _Atomic int shared;
static int keeps;

static void *writer(void *unused) {
  for (int value = 1; value <= 2; value++) {
    uint32_t at = coyote_history_begin(&logs[0], WRITE, value);
    atomic_store(&shared, value);
    coyote_history_end(&logs[0], at, 0);
  }
  return unused;
}

static void *reader(void *number) {
  coyote_history *log = &logs[(intptr_t)number];
  int kept = -1;
  for (int i = 0; i < 2; i++) {
    uint32_t at = coyote_history_begin(log, READ, 0);
    if (kept < 0 || !keeps) kept = atomic_load(&shared);
    coyote_history_end(log, at, kept);
  }
  return NULL;
}

static void check(int stale) {
  for (int i = 0; i < 3; i++) logs[i] = (coyote_history){room[i], 4, 0};
  keeps = stale;
  pthread_t threads[3];
  pthread_create(&threads[0], NULL, writer, NULL);
  for (intptr_t i = 1; i < 3; i++) pthread_create(&threads[i], NULL, reader, (void *)i);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  /* Never returned: it may have happened or not. */
  coyote_history_begin(&logs[0], WRITE, 7);
  int64_t zero = 0;
  COYOTE_ASSERT(coyote_linearizable(logs, 3, &zero, sizeof zero, cell));
}

COYOTE_TEST(stale) { check(1); }

COYOTE_TEST(correct) { check(0); }

/* Tries all orders. */
static int naive(const coyote_operation *all, int count, unsigned done, int64_t value) {
  uint64_t earliest = UINT64_MAX;
  for (int i = 0; i < count; i++) {
    if (!(done >> i & 1) && all[i].returned && all[i].to < earliest) earliest = all[i].to;
  }
  if (earliest == UINT64_MAX) return 1;
  for (int i = 0; i < count; i++) {
    int64_t after = value;
    if (done >> i & 1 || all[i].from > earliest || !cell(&after, &all[i])) continue;
    if (naive(all, count, done | 1u << i, after)) return 1;
  }
  return 0;
}

static unsigned state = 1;

static int below(int bound) {
  state = state * 1664525u + 1013904223u;
  return (int)((state >> 16) % (unsigned)bound);
}

COYOTE_TEST(random) {
  int explained = 0;
  for (int history = 0; history < 1000; history++) {
    coyote_operation all[6];
    for (int i = 0; i < 6; i++) {
      uint64_t from = (uint64_t)below(20), span = 1 + (uint64_t)below(8);
      int returned = below(6) != 0;
      all[i] = (coyote_operation){below(2), (uint32_t)returned, below(3), below(3), 2 * from, returned ? 2 * (from + span) + 1 : UINT64_MAX};
    }
    coyote_history log = {all, 6, 6};
    int64_t zero = 0;
    int found = coyote_linearizable(&log, 1, &zero, sizeof zero, cell);
    COYOTE_ASSERT(found == naive(all, 6, 0, 0));
    explained += found;
  }
  COYOTE_ASSERT(explained > 100 && explained < 900);
}
