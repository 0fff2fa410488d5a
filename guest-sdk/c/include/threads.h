/* threads.h (C11) for guests of coyote-wasm, complete. See pthread.h. */
#ifndef COYOTE_THREADS_H
#define COYOTE_THREADS_H

#include <coyote_shim.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#else
#define thread_local _Thread_local
#endif

typedef pthread_t thrd_t;
typedef int once_flag;
typedef unsigned tss_t;
typedef int (*thrd_start_t)(void *);
typedef void (*tss_dtor_t)(void *);

#define ONCE_FLAG_INIT 0
#define TSS_DTOR_ITERATIONS 4

enum {
  thrd_success = 0,
  thrd_busy = 1,
  thrd_error = 2,
  thrd_nomem = 3,
  thrd_timedout = 4,
};

enum {
  mtx_plain = 0,
  mtx_recursive = 1,
  mtx_timed = 2,
};

COYOTE_INLINE int thrd_create(thrd_t *__id, thrd_start_t __entry, void *__argument) {
  if (coyote_raw_fault(COYOTE_ADDRESS("!thread"), 7, 1)) {
    return thrd_error;
  }
  thrd_t __new = __coyote_prepare(0, COYOTE_ADDRESS(__entry), COYOTE_ADDRESS(__argument));
  if (!__new) {
    return thrd_nomem;
  }
  *__id = __new;
  __coyote_started(__new, coyote_raw_spawn(COYOTE_ADDRESS(__coyote_thread), COYOTE_ADDRESS(__new),
                                           __coyote_stack_low(__new), __coyote_stack_high(__new)));
  return thrd_success;
}

COYOTE_INLINE int thrd_join(thrd_t __id, int *__result) {
  uint32_t __value;
  if (__coyote_join(__id)) {
    return thrd_error;
  }
  coyote_raw_join(__coyote_worker(__id));
  __value = __coyote_joined(__id);
  if (__result) {
    *__result = (int)__value;
  }
  return thrd_success;
}

__attribute__((__noreturn__)) COYOTE_INLINE void thrd_exit(int __result) {
  __coyote_finish((uint32_t)__result);
  coyote_raw_exit();
  __builtin_unreachable();
}

COYOTE_INLINE void thrd_yield(void) {
  coyote_raw_yield();
}

int thrd_detach(thrd_t __id);
thrd_t thrd_current(void);
int thrd_equal(thrd_t __a, thrd_t __b);
/* Returns 0. There are no signals that could interrupt it. */
int thrd_sleep(const struct timespec *__span, struct timespec *__rest);

COYOTE_INLINE void call_once(once_flag *__once, void (*__function)(void)) {
  coyote_raw_mutex_lock(COYOTE_ADDRESS(__once), COYOTE_NO_TIMEOUT);
  if (__coyote_once_begin(__once)) {
    __function();
    __coyote_once_end(__once);
  }
  coyote_raw_mutex_unlock(COYOTE_ADDRESS(__once));
}

COYOTE_INLINE int mtx_init(mtx_t *__mutex, int __kind) {
  unsigned __attributes = __kind & mtx_recursive;
  return __coyote_thrd((int)coyote_raw_mutex_init(COYOTE_ADDRESS(__mutex),
                                                  __coyote_new_mutex(__mutex, &__attributes)));
}

/* C only forbids that a thread waits for the mutex: one that is held can be destroyed. */
COYOTE_INLINE void mtx_destroy(mtx_t *__mutex) {
  __coyote_destroyed(__mutex,
                     __coyote_mutex_used(__mutex, (int)coyote_raw_mutex_discard(__coyote_mutex(__mutex))));
}

COYOTE_INLINE int mtx_lock(mtx_t *__mutex) {
  return __coyote_thrd(
      __coyote_mutex_used(__mutex, (int)coyote_raw_mutex_lock(__coyote_mutex(__mutex), COYOTE_NO_TIMEOUT)));
}

COYOTE_INLINE int mtx_trylock(mtx_t *__mutex) {
  return __coyote_thrd(
      __coyote_mutex_used(__mutex, (int)coyote_raw_mutex_try_lock(__coyote_mutex(__mutex))));
}

COYOTE_INLINE int mtx_timedlock(mtx_t *__restrict __mutex,
                                const struct timespec *__restrict __until) {
  int64_t __span = __coyote_span(CLOCK_REALTIME, __until);
  if (__span < 0) {
    return thrd_error;
  }
  return __coyote_thrd(
      __coyote_mutex_used(__mutex, (int)coyote_raw_mutex_lock(__coyote_mutex(__mutex), __span)));
}

/* C leaves it undefined, also for recursive mutexes, what an unlock by a thread that does not hold the mutex does. */
COYOTE_INLINE int mtx_unlock(mtx_t *__mutex) {
  return __coyote_mtx_unlocked(
      __mutex, __coyote_mutex_used(__mutex, (int)coyote_raw_mutex_unlock(__coyote_mutex(__mutex))));
}

COYOTE_INLINE int cnd_init(cnd_t *__condvar) {
  return __coyote_thrd((int)coyote_raw_condvar_init(__coyote_new_condvar(__condvar, 0)));
}

COYOTE_INLINE void cnd_destroy(cnd_t *__condvar) {
  __coyote_destroyed(__condvar,
                     __coyote_condvar_used(__condvar, (int)coyote_raw_condvar_destroy(__coyote_condvar(__condvar))));
}

/* As of unlocks, C leaves it undefined what a wait by a thread that does not hold the mutex does. */
COYOTE_INLINE int cnd_wait(cnd_t *__condvar, mtx_t *__mutex) {
  return __coyote_cnd_waited(__mutex, (int)coyote_raw_condvar_wait(__coyote_condvar(__condvar),
                                                                   __coyote_mutex(__mutex), COYOTE_NO_TIMEOUT));
}

COYOTE_INLINE int cnd_timedwait(cnd_t *__restrict __condvar, mtx_t *__restrict __mutex,
                                const struct timespec *__restrict __until) {
  int64_t __span = __coyote_span(CLOCK_REALTIME, __until);
  if (__span < 0) {
    return thrd_error;
  }
  return __coyote_cnd_waited(
      __mutex, (int)coyote_raw_condvar_wait(__coyote_condvar(__condvar), __coyote_mutex(__mutex), __span));
}

COYOTE_INLINE int cnd_signal(cnd_t *__condvar) {
  return __coyote_condvar_used(__condvar,
                               (coyote_raw_condvar_signal(__coyote_condvar(__condvar)), 0));
}

COYOTE_INLINE int cnd_broadcast(cnd_t *__condvar) {
  return __coyote_condvar_used(__condvar,
                               (coyote_raw_condvar_broadcast(__coyote_condvar(__condvar)), 0));
}

int tss_create(tss_t *__key, tss_dtor_t __destructor);
void tss_delete(tss_t __key);
void *tss_get(tss_t __key);
int tss_set(tss_t __key, void *__value);

#ifdef __cplusplus
}
#endif

#endif
