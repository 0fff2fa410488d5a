/* Attributes: stored as they are set. Those without an effect here (priorities, scope, guards, sharing
 * between processes) are accepted, so that programs need no change. */
#include "library.h"
#include <errno.h>
#include <pthread.h>

/* ---- Of threads, in the words of pthread_attr_t; a stack size of 0 is the default ---- */

enum { STACK_SIZE, STACK, DETACHED, GUARD_SIZE, SCOPE, POLICY, PRIORITY, INHERIT };

#define WORD(attributes, word) ((attributes)->__u.__s[word])

int __coyote_pthread_attr_init(pthread_attr_t *attributes) {
  *attributes = (pthread_attr_t){0};
  return 0;
}
PUBLIC(pthread_attr_init);

int __coyote_pthread_attr_destroy(pthread_attr_t *attributes) {
  (void)attributes;
  return 0;
}
PUBLIC(pthread_attr_destroy);

int __coyote_pthread_attr_getstacksize(const pthread_attr_t *restrict attributes, size_t *restrict size) {
  size_t set = WORD(attributes, STACK_SIZE);
  *size = set ? set : COYOTE_STACK_BYTES;
  return 0;
}
PUBLIC(pthread_attr_getstacksize);

/* No stack can be larger: what is added to its size must not wrap around. */
#define STACK_MAX (SIZE_MAX / 4)

int __coyote_pthread_attr_setstacksize(pthread_attr_t *attributes, size_t size) {
  if (size < PTHREAD_STACK_MIN || size > STACK_MAX) {
    return EINVAL;
  }
  WORD(attributes, STACK_SIZE) = size;
  return 0;
}
PUBLIC(pthread_attr_setstacksize);

int __coyote_pthread_attr_getstack(const pthread_attr_t *restrict attributes, void **restrict stack,
                                   size_t *restrict size) {
  *stack = (void *)WORD(attributes, STACK);
  return pthread_attr_getstacksize(attributes, size);
}
PUBLIC(pthread_attr_getstack);

int __coyote_pthread_attr_setstack(pthread_attr_t *attributes, void *stack, size_t size) {
  if (size < PTHREAD_STACK_MIN || size > STACK_MAX) {
    return EINVAL;
  }
  WORD(attributes, STACK) = (unsigned long)stack;
  WORD(attributes, STACK_SIZE) = size;
  return 0;
}
PUBLIC(pthread_attr_setstack);

int __coyote_pthread_attr_getschedparam(const pthread_attr_t *restrict attributes,
                                        struct sched_param *restrict parameters) {
  parameters->sched_priority = (int)WORD(attributes, PRIORITY);
  return 0;
}
PUBLIC(pthread_attr_getschedparam);

int __coyote_pthread_attr_setschedparam(pthread_attr_t *restrict attributes,
                                        const struct sched_param *restrict parameters) {
  WORD(attributes, PRIORITY) = (unsigned long)parameters->sched_priority;
  return 0;
}
PUBLIC(pthread_attr_setschedparam);

/* A pair that keeps a value, from 0 to `last`, in a word. */
#define KEEP(name, word, type, last)                                                           \
  int __coyote_pthread_attr_get##name(const pthread_attr_t *restrict attributes,              \
                                      type *restrict value) {                                  \
    *value = (type)WORD(attributes, word);                                                     \
    return 0;                                                                                  \
  }                                                                                            \
  PUBLIC(pthread_attr_get##name);                                                              \
  int __coyote_pthread_attr_set##name(pthread_attr_t *attributes, type value) {                \
    if ((unsigned)value > (unsigned)(last)) {                                                  \
      return EINVAL;                                                                           \
    }                                                                                          \
    WORD(attributes, word) = (unsigned long)value;                                             \
    return 0;                                                                                  \
  }                                                                                            \
  PUBLIC(pthread_attr_set##name);

KEEP(detachstate, DETACHED, int, PTHREAD_CREATE_DETACHED)
KEEP(guardsize, GUARD_SIZE, size_t, -1)
KEEP(scope, SCOPE, int, PTHREAD_SCOPE_PROCESS)
KEEP(schedpolicy, POLICY, int, SCHED_IDLE)
KEEP(inheritsched, INHERIT, int, PTHREAD_EXPLICIT_SCHED)

/* ---- Of mutexes: two bits of kind, then the others. The kind has to come first: mutexes take it. ---- */

enum { KIND_SHIFT = 0, SHARED_SHIFT = 2, PROTOCOL_SHIFT = 3, ROBUST_SHIFT = 5, CEILING_SHIFT = 8 };

/* A pair that keeps a value, from 0 to `last`, in some bits. */
#define KEEP_BITS(of, name, shift, mask, last)                                                  \
  int __coyote_pthread_##of##_get##name(const pthread_##of##_t *restrict attributes,            \
                                        int *restrict value) {                                  \
    *value = (int)(*(const unsigned *)attributes >> (shift) & (mask));                          \
    return 0;                                                                                   \
  }                                                                                             \
  PUBLIC(pthread_##of##_get##name);                                                             \
  int __coyote_pthread_##of##_set##name(pthread_##of##_t *attributes, int value) {              \
    if ((unsigned)value > (last)) {                                                             \
      return EINVAL;                                                                            \
    }                                                                                           \
    unsigned *word = (unsigned *)attributes;                                                    \
    *word = (*word & ~((unsigned)(mask) << (shift))) | (unsigned)value << (shift);              \
    return 0;                                                                                   \
  }                                                                                             \
  PUBLIC(pthread_##of##_set##name);

#define PLAIN(of)                                                                               \
  int __coyote_pthread_##of##_init(pthread_##of##_t *attributes) {                              \
    *attributes = (pthread_##of##_t){0};                                                        \
    return 0;                                                                                   \
  }                                                                                             \
  PUBLIC(pthread_##of##_init);                                                                  \
  int __coyote_pthread_##of##_destroy(pthread_##of##_t *attributes) {                           \
    (void)attributes;                                                                           \
    return 0;                                                                                   \
  }                                                                                             \
  PUBLIC(pthread_##of##_destroy);

PLAIN(mutexattr)
KEEP_BITS(mutexattr, type, KIND_SHIFT, 3, PTHREAD_MUTEX_ERRORCHECK)
KEEP_BITS(mutexattr, pshared, SHARED_SHIFT, 1, PTHREAD_PROCESS_SHARED)
KEEP_BITS(mutexattr, protocol, PROTOCOL_SHIFT, 3, PTHREAD_PRIO_PROTECT)
KEEP_BITS(mutexattr, prioceiling, CEILING_SHIFT, 255, 99)

int __coyote_pthread_mutexattr_getrobust(const pthread_mutexattr_t *restrict attributes,
                                         int *restrict robust) {
  (void)attributes;
  *robust = PTHREAD_MUTEX_STALLED;
  return 0;
}
PUBLIC(pthread_mutexattr_getrobust);

int __coyote_pthread_mutexattr_setrobust(pthread_mutexattr_t *attributes, int robust) {
  (void)attributes;
  if (robust == PTHREAD_MUTEX_ROBUST) {
    __coyote_unsupported("pthread_mutexattr_setrobust: robust mutexes");
  }
  return robust == PTHREAD_MUTEX_STALLED ? 0 : EINVAL;
}
PUBLIC(pthread_mutexattr_setrobust);

PLAIN(rwlockattr)
KEEP_BITS(rwlockattr, kind_np, KIND_SHIFT, 3, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP)
KEEP_BITS(rwlockattr, pshared, SHARED_SHIFT, 1, PTHREAD_PROCESS_SHARED)
PLAIN(barrierattr)
KEEP_BITS(barrierattr, pshared, SHARED_SHIFT, 1, PTHREAD_PROCESS_SHARED)

/* ---- Of condition variables, which take the clock ---- */

PLAIN(condattr)
KEEP_BITS(condattr, pshared, SHARED_SHIFT, 1, PTHREAD_PROCESS_SHARED)

int __coyote_pthread_condattr_getclock(const pthread_condattr_t *restrict attributes,
                                       clockid_t *restrict clock) {
  *clock = attributes->__attr & COYOTE_MONOTONIC ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  return 0;
}
PUBLIC(pthread_condattr_getclock);

int __coyote_pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t clock) {
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) {
    return EINVAL;
  }
  unsigned others = attributes->__attr & ~COYOTE_MONOTONIC;
  attributes->__attr = clock == CLOCK_MONOTONIC ? others | COYOTE_MONOTONIC : others;
  return 0;
}
PUBLIC(pthread_condattr_setclock);
