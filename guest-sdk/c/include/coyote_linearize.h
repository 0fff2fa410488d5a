/* Checks whether the results that workers got from a shared object can be explained by a sequential order, for C and C++.
 *
 * A worker records its operations in a history of its own. Once the workers have ended, coyote_linearizable asks whether each
 * operation can be given an instant between its call and its return such that, executed at these instants by a model of
 * the object, they return what they returned. The Rust SDK has the same check as coyote::linearize, which cites its sources.
 *
 *   static int counter(void *state, const coyote_operation *operation) {
 *     int64_t before = (*(int64_t *)state)++;
 *     return !operation->returned || operation->result == before;
 *   }
 *
 *   coyote_operation room[2][8];
 *   coyote_history logs[2] = {{room[0], 8, 0}, {room[1], 8, 0}};
 *   // worker 0:
 *   uint32_t at = coyote_history_begin(&logs[0], ADD, 1);
 *   coyote_history_end(&logs[0], at, add(1));
 *   // in the end:
 *   int64_t zero = 0;
 *   COYOTE_ASSERT(coyote_linearizable(logs, 2, &zero, sizeof zero, counter));
 *
 * The check has no scheduling points. It takes long where the order of many overlapping operations shows only much later.
 */
#ifndef COYOTE_LINEARIZE_H
#define COYOTE_LINEARIZE_H

#include "coyote.h"
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An operation: what was called, with an argument, and what it returned. */
typedef struct {
  int32_t kind;
  /* Whether it returned. If not, it may have taken effect at any time after its call, or never. */
  uint32_t returned;
  int64_t argument;
  int64_t result;
  /* When it was called, and when it returned. */
  uint64_t from;
  uint64_t to;
} coyote_operation;

/* The operations of one worker, in an array of the program's. */
typedef struct {
  coyote_operation *operations;
  uint32_t room;
  uint32_t count;
} coyote_history;

/* Executes an operation on the model's state. Returns whether the model allows its result; if not, the state is
 * discarded. States are compared byte by byte: unused bytes must be equal. */
typedef int (*coyote_model)(void *state, const coyote_operation *operation);

__attribute__((weak)) uint64_t coyote_linearize_clock = 0;

/* Records that an operation is called. Returns its place. */
static inline uint32_t coyote_history_begin(coyote_history *log, int32_t kind, int64_t argument) {
  COYOTE_ASSERT_MESSAGE(log->count < log->room, "coyote_history_begin: the array is full");
  coyote_operation *operation = &log->operations[log->count];
  operation->kind = kind;
  operation->returned = 0;
  operation->argument = argument;
  operation->result = 0;
  operation->from = __atomic_fetch_add(&coyote_linearize_clock, 1, __ATOMIC_RELAXED);
  operation->to = UINT64_MAX;
  return log->count++;
}

/* Records that the operation has returned, and its result. */
static inline void coyote_history_end(coyote_history *log, uint32_t at, int64_t result) {
  coyote_operation *operation = &log->operations[at];
  operation->to = __atomic_fetch_add(&coyote_linearize_clock, 1, __ATOMIC_RELAXED);
  operation->result = result;
  operation->returned = 1;
}

/* Pairs of executed operations and state that the search has reached: bytes, one entry after the other. */
typedef struct {
  unsigned char *entries;
  uint32_t *slots;
  uint32_t count;
  uint32_t slots_count;
  uint32_t room;
} coyote_linearize_seen;

static inline uint32_t coyote_linearize_hash(const unsigned char *bytes, size_t length) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < length; i++) hash = (hash ^ bytes[i]) * 16777619u;
  return hash ^ (hash >> 15);
}

static inline void coyote_linearize_memory(const void *block) {
  COYOTE_ASSERT_MESSAGE(block != NULL, "coyote_linearizable: there is no memory for the check");
}

/* Inserts an entry. Returns whether it is new. */
static inline int coyote_linearize_insert(coyote_linearize_seen *seen, const unsigned char *entry, size_t bytes) {
  if (2 * (seen->count + 1) > seen->slots_count) {
    uint32_t slots_count = seen->slots_count ? 2 * seen->slots_count : 1024;
    uint32_t *slots = (uint32_t *)calloc(slots_count, sizeof *slots);
    coyote_linearize_memory(slots);
    for (uint32_t i = 0; i < seen->count; i++) {
      uint32_t at = coyote_linearize_hash(seen->entries + i * bytes, bytes) & (slots_count - 1);
      while (slots[at]) at = (at + 1) & (slots_count - 1);
      slots[at] = i + 1;
    }
    free(seen->slots);
    seen->slots = slots;
    seen->slots_count = slots_count;
  }
  uint32_t at = coyote_linearize_hash(entry, bytes) & (seen->slots_count - 1);
  for (; seen->slots[at]; at = (at + 1) & (seen->slots_count - 1)) {
    if (memcmp(seen->entries + (seen->slots[at] - 1) * bytes, entry, bytes) == 0) return 0;
  }
  if (seen->count == seen->room) {
    seen->room = seen->room ? 2 * seen->room : 512;
    seen->entries = (unsigned char *)realloc(seen->entries, seen->room * bytes);
    coyote_linearize_memory(seen->entries);
  }
  memcpy(seen->entries + seen->count * bytes, entry, bytes);
  seen->slots[at] = ++seen->count;
  return 1;
}

static inline int coyote_linearize_compare(const void *one, const void *other) {
  uint64_t a = (*(const coyote_operation *const *)one)->from, b = (*(const coyote_operation *const *)other)->from;
  return a < b ? -1 : a > b;
}

/* Implements coyote_linearizable. The tool knows it by its name and gives it no scheduling points. */
__attribute__((noinline, unused)) static int coyote_linearize_search(const coyote_history *logs, uint32_t logs_count,
                                                                      const void *initial, size_t state_bytes,
                                                                      coyote_model model) {
  uint32_t count = 0, left = 0, depth = 0;
  for (uint32_t i = 0; i < logs_count; i++) count += logs[i].count;
  size_t set_bytes = (count + 7) / 8, entry_bytes = set_bytes + state_bytes;
  /* By the time of the call. */
  const coyote_operation **sorted = (const coyote_operation **)malloc((count + 1) * sizeof *sorted);
  /* Of each decision: what was chosen, and the set and the state before. */
  uint32_t *chosen = (uint32_t *)calloc(count + 1, sizeof *chosen);
  unsigned char *frames = (unsigned char *)calloc(count + 2, entry_bytes + 1);
  coyote_linearize_memory(sorted);
  coyote_linearize_memory(chosen);
  coyote_linearize_memory(frames);
  for (uint32_t i = 0, n = 0; i < logs_count; i++) {
    for (uint32_t k = 0; k < logs[i].count; k++) {
      sorted[n++] = &logs[i].operations[k];
      left += logs[i].operations[k].returned;
    }
  }
  qsort(sorted, count, sizeof *sorted, coyote_linearize_compare);
  memcpy(frames + set_bytes, initial, state_bytes);
  coyote_linearize_seen seen = {NULL, NULL, 0, 0, 0};
  /* The next candidate of the present frame. */
  uint32_t next = 0;
  int explained = 0;
  for (;;) {
    if (left == 0) {
      explained = 1;
      break;
    }
    unsigned char *frame = frames + depth * entry_bytes;
    /* An operation that was called after a remaining one returned cannot precede that one. */
    uint64_t earliest = UINT64_MAX;
    for (uint32_t i = 0; i < count && sorted[i]->from <= earliest; i++) {
      int taken = frame[i / 8] >> (i % 8) & 1;
      if (!taken && sorted[i]->returned && sorted[i]->to < earliest) earliest = sorted[i]->to;
    }
    int gone_on = 0;
    for (; next < count && sorted[next]->from <= earliest; next++) {
      if (frame[next / 8] >> (next % 8) & 1) continue;
      unsigned char *after = frame + entry_bytes;
      memcpy(after, frame, entry_bytes);
      if (!model(after + set_bytes, sorted[next])) continue;
      after[next / 8] |= (unsigned char)(1u << (next % 8));
      if (!coyote_linearize_insert(&seen, after, entry_bytes)) continue;
      chosen[depth++] = next;
      left -= sorted[next]->returned;
      next = 0;
      gone_on = 1;
      break;
    }
    if (gone_on) continue;
    if (depth == 0) break;
    next = chosen[--depth];
    left += sorted[next]->returned;
    next++;
  }
  free(sorted);
  free(chosen);
  free(frames);
  free(seen.entries);
  free(seen.slots);
  return explained;
}

/* Whether the operations of all histories are linearizable, beginning with this state. */
static inline int coyote_linearizable(const coyote_history *logs, uint32_t logs_count, const void *initial, size_t state_bytes,
                                      coyote_model model) {
  return coyote_linearize_search(logs, logs_count, initial, state_bytes, model);
}

#ifdef __cplusplus
}
#endif

#endif
