/* pthread.h for guests of coyote-wasm: POSIX threads over the tool's workers and objects.
 *
 * Complete except for cancellation, signals and robust mutexes: a call that needs them ends the run, with
 * the name of the function. Misuse for which POSIX defines an error returns it; misuse that POSIX leaves undefined,
 * such as unlocking a normal mutex that another thread holds, is reported as a bug of the program. */
#ifndef COYOTE_PTHREAD_H
#define COYOTE_PTHREAD_H

#include <coyote_shim.h>
#include <sched.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PTHREAD_CREATE_JOINABLE 0
#define PTHREAD_CREATE_DETACHED 1

#define PTHREAD_MUTEX_NORMAL 0
#define PTHREAD_MUTEX_DEFAULT 0
#define PTHREAD_MUTEX_RECURSIVE 1
#define PTHREAD_MUTEX_ERRORCHECK 2
#define PTHREAD_MUTEX_TIMED_NP PTHREAD_MUTEX_NORMAL
#define PTHREAD_MUTEX_FAST_NP PTHREAD_MUTEX_NORMAL
#define PTHREAD_MUTEX_ADAPTIVE_NP PTHREAD_MUTEX_NORMAL
#define PTHREAD_MUTEX_RECURSIVE_NP PTHREAD_MUTEX_RECURSIVE
#define PTHREAD_MUTEX_ERRORCHECK_NP PTHREAD_MUTEX_ERRORCHECK

#define PTHREAD_MUTEX_STALLED 0
#define PTHREAD_MUTEX_ROBUST 1
#define PTHREAD_MUTEX_STALLED_NP PTHREAD_MUTEX_STALLED
#define PTHREAD_MUTEX_ROBUST_NP PTHREAD_MUTEX_ROBUST

#define PTHREAD_PRIO_NONE 0
#define PTHREAD_PRIO_INHERIT 1
#define PTHREAD_PRIO_PROTECT 2

#define PTHREAD_INHERIT_SCHED 0
#define PTHREAD_EXPLICIT_SCHED 1

#define PTHREAD_SCOPE_SYSTEM 0
#define PTHREAD_SCOPE_PROCESS 1

#define PTHREAD_PROCESS_PRIVATE 0
#define PTHREAD_PROCESS_SHARED 1

#define PTHREAD_CANCEL_ENABLE 0
#define PTHREAD_CANCEL_DISABLE 1
#define PTHREAD_CANCEL_DEFERRED 0
#define PTHREAD_CANCEL_ASYNCHRONOUS 1
#define PTHREAD_CANCELED ((void *)-1)

#define PTHREAD_BARRIER_SERIAL_THREAD (-1)

#define PTHREAD_RWLOCK_PREFER_READER_NP 0
#define PTHREAD_RWLOCK_PREFER_WRITER_NP 1
#define PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP 2
#define PTHREAD_RWLOCK_DEFAULT_NP PTHREAD_RWLOCK_PREFER_READER_NP

/* The first word of a mutex says its kind. */
#define PTHREAD_MUTEX_INITIALIZER {{{0}}}
#define PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP {{{PTHREAD_MUTEX_RECURSIVE}}}
#define PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP {{{PTHREAD_MUTEX_ERRORCHECK}}}
#define PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP PTHREAD_MUTEX_INITIALIZER
#define PTHREAD_COND_INITIALIZER {{{0}}}
#define PTHREAD_RWLOCK_INITIALIZER {{{0}}}
#define PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP PTHREAD_RWLOCK_INITIALIZER
#define PTHREAD_ONCE_INIT 0

#ifndef PTHREAD_STACK_MIN
#define PTHREAD_STACK_MIN 2048
#endif
#ifndef PTHREAD_KEYS_MAX
#define PTHREAD_KEYS_MAX 128
#endif
#ifndef PTHREAD_DESTRUCTOR_ITERATIONS
#define PTHREAD_DESTRUCTOR_ITERATIONS 4
#endif

/* ---- Threads ---- */

COYOTE_INLINE int pthread_create(pthread_t *__restrict __id,
                                 const pthread_attr_t *__restrict __attributes,
                                 void *(*__entry)(void *), void *__restrict __argument) {
  if (coyote_raw_fault(COYOTE_ADDRESS("!thread"), 7, 1)) {
    return 6; /* EAGAIN */
  }
  pthread_t __new =
      __coyote_prepare(__attributes, COYOTE_ADDRESS(__entry), COYOTE_ADDRESS(__argument));
  if (!__new) {
    return 6; /* EAGAIN */
  }
  *__id = __new; /* before the thread runs, as everywhere: it may look */
  __coyote_started(__new, coyote_raw_spawn(COYOTE_ADDRESS(__coyote_thread), COYOTE_ADDRESS(__new),
                                           __coyote_stack_low(__new), __coyote_stack_high(__new)));
  return 0;
}

COYOTE_INLINE int pthread_join(pthread_t __id, void **__result) {
  uint32_t __value;
  int __error = __coyote_join(__id);
  if (__error) {
    return __error;
  }
  coyote_raw_join(__coyote_worker(__id));
  __value = __coyote_joined(__id);
  if (__result) {
    *__result = (void *)(uintptr_t)__value;
  }
  return 0;
}

/* EBUSY if the thread has not ended. The load is the scheduling point. */
COYOTE_INLINE int pthread_tryjoin_np(pthread_t __id, void **__result) {
  if (!__atomic_load_n(__coyote_ends(__id), __ATOMIC_RELAXED)) {
    return 10; /* EBUSY */
  }
  return pthread_join(__id, __result);
}

/* ETIMEDOUT if the thread has not ended at this time of the clock. */
COYOTE_INLINE int pthread_clockjoin_np(pthread_t __id, void **__result, clockid_t __clock,
                                       const struct timespec *__until) {
  int __error;
  uint32_t __how;
  if (!__until) {
    return pthread_join(__id, __result);
  }
  if (__coyote_span(__clock, __until) < 0) {
    return 28; /* EINVAL */
  }
  __error = __coyote_join(__id);
  if (__error) {
    return __error;
  }
  do {
    __how = coyote_raw_futex_wait(__coyote_await_end(__id), 0, __coyote_span(__clock, __until));
  } while (__how == 0); /* woken: the next one sees why */
  __error = __coyote_not_joined(__id, 73); /* ETIMEDOUT */
  return __how == 1 ? pthread_join(__id, __result) : __error;
}

COYOTE_INLINE int pthread_timedjoin_np(pthread_t __id, void **__result, const struct timespec *__until) {
  return pthread_clockjoin_np(__id, __result, CLOCK_REALTIME, __until);
}

__attribute__((__noreturn__)) COYOTE_INLINE void pthread_exit(void *__result) {
  __coyote_finish(COYOTE_ADDRESS(__result));
  coyote_raw_exit();
  __builtin_unreachable();
}

COYOTE_INLINE int pthread_yield(void) {
  coyote_raw_yield();
  return 0;
}

int pthread_detach(pthread_t __id);
pthread_t pthread_self(void);
int pthread_equal(pthread_t __a, pthread_t __b);
/* The thread's name in reports: at most 15 bytes. */
int pthread_setname_np(pthread_t __id, const char *__name);
int pthread_getname_np(pthread_t __id, char *__name, size_t __size);
/* Signal 0 checks whether the thread exists; others are not supported. */
int pthread_kill(pthread_t __id, int __signal);
int pthread_atfork(void (*__prepare)(void), void (*__parent)(void), void (*__child)(void));
/* The same clock for all threads: clocks of processor time show virtual time. */
int pthread_getcpuclockid(pthread_t __id, clockid_t *__clock);

/* Kept, without an effect. */
int pthread_getconcurrency(void);
int pthread_setconcurrency(int __level);
int pthread_getschedparam(pthread_t __id, int *__restrict __policy,
                          struct sched_param *__restrict __parameters);
int pthread_setschedparam(pthread_t __id, int __policy, const struct sched_param *__parameters);
int pthread_setschedprio(pthread_t __id, int __priority);
int pthread_getaffinity_np(pthread_t __id, size_t __size, cpu_set_t *__set);
int pthread_setaffinity_np(pthread_t __id, size_t __size, const cpu_set_t *__set);

/* pthread_cancel is not supported, so that these only keep what is set. */
int pthread_cancel(pthread_t __id);
int pthread_setcancelstate(int __state, int *__old);
int pthread_setcanceltype(int __type, int *__old);
void pthread_testcancel(void);

struct __ptcb {
  void (*__f)(void *);
  void *__x;
  struct __ptcb *__next;
};

void _pthread_cleanup_push(struct __ptcb *__handler, void (*__function)(void *), void *__argument);
void _pthread_cleanup_pop(struct __ptcb *__handler, int __run);

#define pthread_cleanup_push(function, argument)                                       \
  do {                                                                                 \
    struct __ptcb __handler;                                                           \
  _pthread_cleanup_push(&__handler, function, argument)
#define pthread_cleanup_pop(run)                                                       \
  _pthread_cleanup_pop(&__handler, (run));                                             \
  }                                                                                    \
  while (0)

int pthread_attr_init(pthread_attr_t *__attributes);
int pthread_attr_destroy(pthread_attr_t *__attributes);
int pthread_attr_getdetachstate(const pthread_attr_t *__attributes, int *__state);
int pthread_attr_setdetachstate(pthread_attr_t *__attributes, int __state);
int pthread_attr_getstacksize(const pthread_attr_t *__restrict __attributes, size_t *__restrict __size);
int pthread_attr_setstacksize(pthread_attr_t *__attributes, size_t __size);
int pthread_attr_getstack(const pthread_attr_t *__restrict __attributes, void **__restrict __stack,
                          size_t *__restrict __size);
int pthread_attr_setstack(pthread_attr_t *__attributes, void *__stack, size_t __size);
int pthread_attr_getguardsize(const pthread_attr_t *__restrict __attributes, size_t *__restrict __size);
int pthread_attr_setguardsize(pthread_attr_t *__attributes, size_t __size);
int pthread_attr_getscope(const pthread_attr_t *__restrict __attributes, int *__restrict __scope);
int pthread_attr_setscope(pthread_attr_t *__attributes, int __scope);
int pthread_attr_getschedpolicy(const pthread_attr_t *__restrict __attributes, int *__restrict __policy);
int pthread_attr_setschedpolicy(pthread_attr_t *__attributes, int __policy);
int pthread_attr_getschedparam(const pthread_attr_t *__restrict __attributes,
                               struct sched_param *__restrict __parameters);
int pthread_attr_setschedparam(pthread_attr_t *__restrict __attributes,
                               const struct sched_param *__restrict __parameters);
int pthread_attr_getinheritsched(const pthread_attr_t *__restrict __attributes, int *__restrict __inherit);
int pthread_attr_setinheritsched(pthread_attr_t *__attributes, int __inherit);
int pthread_getattr_np(pthread_t __id, pthread_attr_t *__attributes);

/* ---- Mutexes ---- */

COYOTE_INLINE int pthread_mutex_init(pthread_mutex_t *__restrict __mutex,
                                     const pthread_mutexattr_t *__restrict __attributes) {
  return (int)coyote_raw_mutex_init(COYOTE_ADDRESS(__mutex),
                                    __coyote_new_mutex(__mutex, __attributes));
}

COYOTE_INLINE int pthread_mutex_destroy(pthread_mutex_t *__mutex) {
  return __coyote_destroyed(
      __mutex, __coyote_mutex_used(__mutex, (int)coyote_raw_mutex_destroy(__coyote_mutex(__mutex))));
}

COYOTE_INLINE int pthread_mutex_lock(pthread_mutex_t *__mutex) {
  return __coyote_mutex_used(__mutex, (int)coyote_raw_mutex_lock(__coyote_mutex(__mutex), COYOTE_NO_TIMEOUT));
}

COYOTE_INLINE int pthread_mutex_trylock(pthread_mutex_t *__mutex) {
  return __coyote_mutex_used(__mutex, (int)coyote_raw_mutex_try_lock(__coyote_mutex(__mutex)));
}

COYOTE_INLINE int pthread_mutex_clocklock(pthread_mutex_t *__restrict __mutex, clockid_t __clock,
                                          const struct timespec *__restrict __until) {
  int64_t __span = __coyote_span(__clock, __until);
  if (__span < 0) {
    return __coyote_without_time(
        __coyote_mutex_used(__mutex, (int)coyote_raw_mutex_try_lock(__coyote_mutex(__mutex))));
  }
  return __coyote_mutex_used(__mutex, (int)coyote_raw_mutex_lock(__coyote_mutex(__mutex), __span));
}

COYOTE_INLINE int pthread_mutex_timedlock(pthread_mutex_t *__restrict __mutex,
                                          const struct timespec *__restrict __until) {
  return pthread_mutex_clocklock(__mutex, CLOCK_REALTIME, __until);
}

COYOTE_INLINE int pthread_mutex_unlock(pthread_mutex_t *__mutex) {
  return __coyote_mutex_used(__mutex, (int)coyote_raw_mutex_unlock(__coyote_mutex(__mutex)));
}

/* No mutex is ever abandoned by a thread that died, so there is no consistency to restore. */
int pthread_mutex_consistent(pthread_mutex_t *__mutex);
int pthread_mutex_getprioceiling(const pthread_mutex_t *__restrict __mutex, int *__restrict __ceiling);
int pthread_mutex_setprioceiling(pthread_mutex_t *__restrict __mutex, int __ceiling,
                                 int *__restrict __old);

int pthread_mutexattr_init(pthread_mutexattr_t *__attributes);
int pthread_mutexattr_destroy(pthread_mutexattr_t *__attributes);
int pthread_mutexattr_gettype(const pthread_mutexattr_t *__restrict __attributes, int *__restrict __kind);
int pthread_mutexattr_settype(pthread_mutexattr_t *__attributes, int __kind);
int pthread_mutexattr_getpshared(const pthread_mutexattr_t *__restrict __attributes,
                                 int *__restrict __shared);
int pthread_mutexattr_setpshared(pthread_mutexattr_t *__attributes, int __shared);
int pthread_mutexattr_getprotocol(const pthread_mutexattr_t *__restrict __attributes,
                                  int *__restrict __protocol);
int pthread_mutexattr_setprotocol(pthread_mutexattr_t *__attributes, int __protocol);
int pthread_mutexattr_getprioceiling(const pthread_mutexattr_t *__restrict __attributes,
                                     int *__restrict __ceiling);
int pthread_mutexattr_setprioceiling(pthread_mutexattr_t *__attributes, int __ceiling);
int pthread_mutexattr_getrobust(const pthread_mutexattr_t *__restrict __attributes,
                                int *__restrict __robust);
int pthread_mutexattr_setrobust(pthread_mutexattr_t *__attributes, int __robust);

/* ---- Read-write locks. Neither readers nor writers have priority. ---- */

COYOTE_INLINE int pthread_rwlock_init(pthread_rwlock_t *__restrict __lock,
                                      const pthread_rwlockattr_t *__restrict __attributes) {
  (void)__attributes;
  return (int)coyote_raw_rwlock_init(__coyote_new_object(__lock));
}

COYOTE_INLINE int pthread_rwlock_destroy(pthread_rwlock_t *__lock) {
  return __coyote_destroyed(
      __lock, __coyote_rwlock_used(__lock, (int)coyote_raw_rwlock_destroy(__coyote_rwlock(__lock))));
}

COYOTE_INLINE int pthread_rwlock_rdlock(pthread_rwlock_t *__lock) {
  return __coyote_rwlock_used(__lock, (int)coyote_raw_rwlock_read(__coyote_rwlock(__lock), COYOTE_NO_TIMEOUT));
}

COYOTE_INLINE int pthread_rwlock_tryrdlock(pthread_rwlock_t *__lock) {
  return __coyote_rwlock_used(__lock, (int)coyote_raw_rwlock_try_read(__coyote_rwlock(__lock)));
}

COYOTE_INLINE int pthread_rwlock_clockrdlock(pthread_rwlock_t *__restrict __lock, clockid_t __clock,
                                             const struct timespec *__restrict __until) {
  int64_t __span = __coyote_span(__clock, __until);
  if (__span < 0) {
    return __coyote_without_time(
        __coyote_rwlock_used(__lock, (int)coyote_raw_rwlock_try_read(__coyote_rwlock(__lock))));
  }
  return __coyote_rwlock_used(__lock, (int)coyote_raw_rwlock_read(__coyote_rwlock(__lock), __span));
}

COYOTE_INLINE int pthread_rwlock_timedrdlock(pthread_rwlock_t *__restrict __lock,
                                             const struct timespec *__restrict __until) {
  return pthread_rwlock_clockrdlock(__lock, CLOCK_REALTIME, __until);
}

COYOTE_INLINE int pthread_rwlock_wrlock(pthread_rwlock_t *__lock) {
  return __coyote_rwlock_used(__lock, (int)coyote_raw_rwlock_write(__coyote_rwlock(__lock), COYOTE_NO_TIMEOUT));
}

COYOTE_INLINE int pthread_rwlock_trywrlock(pthread_rwlock_t *__lock) {
  return __coyote_rwlock_used(__lock, (int)coyote_raw_rwlock_try_write(__coyote_rwlock(__lock)));
}

COYOTE_INLINE int pthread_rwlock_clockwrlock(pthread_rwlock_t *__restrict __lock, clockid_t __clock,
                                             const struct timespec *__restrict __until) {
  int64_t __span = __coyote_span(__clock, __until);
  if (__span < 0) {
    return __coyote_without_time(
        __coyote_rwlock_used(__lock, (int)coyote_raw_rwlock_try_write(__coyote_rwlock(__lock))));
  }
  return __coyote_rwlock_used(__lock, (int)coyote_raw_rwlock_write(__coyote_rwlock(__lock), __span));
}

COYOTE_INLINE int pthread_rwlock_timedwrlock(pthread_rwlock_t *__restrict __lock,
                                             const struct timespec *__restrict __until) {
  return pthread_rwlock_clockwrlock(__lock, CLOCK_REALTIME, __until);
}

COYOTE_INLINE int pthread_rwlock_unlock(pthread_rwlock_t *__lock) {
  return __coyote_rwlock_used(__lock, (int)coyote_raw_rwlock_unlock(__coyote_rwlock(__lock)));
}

int pthread_rwlockattr_init(pthread_rwlockattr_t *__attributes);
int pthread_rwlockattr_destroy(pthread_rwlockattr_t *__attributes);
int pthread_rwlockattr_getpshared(const pthread_rwlockattr_t *__restrict __attributes,
                                  int *__restrict __shared);
int pthread_rwlockattr_setpshared(pthread_rwlockattr_t *__attributes, int __shared);
/* Kept, without an effect: a thread may always read again under a lock that it reads under. */
int pthread_rwlockattr_getkind_np(const pthread_rwlockattr_t *__restrict __attributes,
                                  int *__restrict __kind);
int pthread_rwlockattr_setkind_np(pthread_rwlockattr_t *__attributes, int __kind);

/* ---- Spin locks: mutexes under another name ---- */

COYOTE_INLINE int pthread_spin_init(pthread_spinlock_t *__lock, int __shared) {
  (void)__shared;
  return (int)coyote_raw_mutex_init(__coyote_new_object(__lock), PTHREAD_MUTEX_NORMAL);
}

COYOTE_INLINE int pthread_spin_destroy(pthread_spinlock_t *__lock) {
  return __coyote_destroyed(
      __lock, __coyote_spin_used(__lock, (int)coyote_raw_mutex_destroy(__coyote_spin(__lock))));
}

COYOTE_INLINE int pthread_spin_lock(pthread_spinlock_t *__lock) {
  return __coyote_spin_used(__lock, (int)coyote_raw_mutex_lock(__coyote_spin(__lock), COYOTE_NO_TIMEOUT));
}

COYOTE_INLINE int pthread_spin_trylock(pthread_spinlock_t *__lock) {
  return __coyote_spin_used(__lock, (int)coyote_raw_mutex_try_lock(__coyote_spin(__lock)));
}

COYOTE_INLINE int pthread_spin_unlock(pthread_spinlock_t *__lock) {
  return __coyote_spin_used(__lock, (int)coyote_raw_mutex_unlock(__coyote_spin(__lock)));
}

/* ---- Barriers ---- */

COYOTE_INLINE int pthread_barrier_init(pthread_barrier_t *__restrict __barrier,
                                       const pthread_barrierattr_t *__restrict __attributes,
                                       unsigned __count) {
  (void)__attributes;
  return (int)coyote_raw_barrier_init(COYOTE_ADDRESS(__barrier), __count);
}

COYOTE_INLINE int pthread_barrier_destroy(pthread_barrier_t *__barrier) {
  return (int)coyote_raw_barrier_destroy(COYOTE_ADDRESS(__barrier));
}

/* PTHREAD_BARRIER_SERIAL_THREAD for one of the threads, 0 for the others. */
COYOTE_INLINE int pthread_barrier_wait(pthread_barrier_t *__barrier) {
  return (int)coyote_raw_barrier_wait(COYOTE_ADDRESS(__barrier));
}

int pthread_barrierattr_init(pthread_barrierattr_t *__attributes);
int pthread_barrierattr_destroy(pthread_barrierattr_t *__attributes);
int pthread_barrierattr_getpshared(const pthread_barrierattr_t *__restrict __attributes,
                                   int *__restrict __shared);
int pthread_barrierattr_setpshared(pthread_barrierattr_t *__attributes, int __shared);

/* ---- Condition variables ---- */

COYOTE_INLINE int pthread_cond_init(pthread_cond_t *__restrict __condvar,
                                    const pthread_condattr_t *__restrict __attributes) {
  return (int)coyote_raw_condvar_init(__coyote_new_condvar(__condvar, __attributes));
}

COYOTE_INLINE int pthread_cond_destroy(pthread_cond_t *__condvar) {
  return __coyote_destroyed(
      __condvar, __coyote_condvar_used(__condvar, (int)coyote_raw_condvar_destroy(__coyote_condvar(__condvar))));
}

COYOTE_INLINE int pthread_cond_wait(pthread_cond_t *__restrict __condvar,
                                    pthread_mutex_t *__restrict __mutex) {
  return (int)coyote_raw_condvar_wait(__coyote_condvar(__condvar), __coyote_mutex(__mutex),
                                      COYOTE_NO_TIMEOUT);
}

COYOTE_INLINE int pthread_cond_timedwait(pthread_cond_t *__restrict __condvar,
                                         pthread_mutex_t *__restrict __mutex,
                                         const struct timespec *__restrict __until) {
  int64_t __span = __coyote_condvar_span(__condvar, __until);
  if (__span < 0) {
    return 28; /* EINVAL */
  }
  return (int)coyote_raw_condvar_wait(__coyote_condvar(__condvar), __coyote_mutex(__mutex), __span);
}

COYOTE_INLINE int pthread_cond_clockwait(pthread_cond_t *__restrict __condvar,
                                         pthread_mutex_t *__restrict __mutex, clockid_t __clock,
                                         const struct timespec *__restrict __until) {
  int64_t __span = __coyote_span(__clock, __until);
  if (__span < 0) {
    return 28; /* EINVAL */
  }
  return (int)coyote_raw_condvar_wait(__coyote_condvar(__condvar), __coyote_mutex(__mutex), __span);
}

COYOTE_INLINE int pthread_cond_signal(pthread_cond_t *__condvar) {
  return __coyote_condvar_used(__condvar,
                               (coyote_raw_condvar_signal(__coyote_condvar(__condvar)), 0));
}

COYOTE_INLINE int pthread_cond_broadcast(pthread_cond_t *__condvar) {
  return __coyote_condvar_used(__condvar,
                               (coyote_raw_condvar_broadcast(__coyote_condvar(__condvar)), 0));
}

int pthread_condattr_init(pthread_condattr_t *__attributes);
int pthread_condattr_destroy(pthread_condattr_t *__attributes);
int pthread_condattr_getclock(const pthread_condattr_t *__restrict __attributes,
                              clockid_t *__restrict __clock);
int pthread_condattr_setclock(pthread_condattr_t *__attributes, clockid_t __clock);
int pthread_condattr_getpshared(const pthread_condattr_t *__restrict __attributes,
                                int *__restrict __shared);
int pthread_condattr_setpshared(pthread_condattr_t *__attributes, int __shared);

/* ---- Once, and values of a thread's own ---- */

COYOTE_INLINE int pthread_once(pthread_once_t *__once, void (*__function)(void)) {
  coyote_raw_mutex_lock(COYOTE_ADDRESS(__once), COYOTE_NO_TIMEOUT);
  if (__coyote_once_begin(__once)) {
    __function();
    __coyote_once_end(__once);
  }
  coyote_raw_mutex_unlock(COYOTE_ADDRESS(__once));
  return 0;
}

int pthread_key_create(pthread_key_t *__key, void (*__destructor)(void *));
int pthread_key_delete(pthread_key_t __key);
void *pthread_getspecific(pthread_key_t __key);
int pthread_setspecific(pthread_key_t __key, const void *__value);

#ifdef __cplusplus
}
#endif

#endif
