/* What pthread.h, semaphore.h, threads.h and sched.h share; not for programs.
 *
 * Their functions that block or wake are inlined into the caller, also at -O0, so that the operation that
 * they announce has its place in the program, not in a library. Everything else that they need is in functions
 * of the library, `__coyote_*`, whose memory accesses are no scheduling points. So a call is one step.
 *
 * Every function exists in the library too, for programs that take its address or were compiled with
 * another pthread.h. Objects are identified by their addresses, and have the types of wasi-libc. */
#ifndef COYOTE_SHIM_H
#define COYOTE_SHIM_H

#include <coyote_raw.h>

#define __NEED_size_t
#define __NEED_time_t
#define __NEED_clockid_t
#define __NEED_pid_t
#define __NEED_struct_timespec
#define __NEED_pthread_t
#define __NEED_pthread_attr_t
#define __NEED_pthread_mutexattr_t
#define __NEED_pthread_condattr_t
#define __NEED_pthread_rwlockattr_t
#define __NEED_pthread_barrierattr_t
#define __NEED_pthread_mutex_t
#define __NEED_pthread_cond_t
#define __NEED_pthread_rwlock_t
#define __NEED_pthread_barrier_t
#define __NEED_pthread_spinlock_t
#define __NEED_pthread_key_t
#define __NEED_pthread_once_t
#define __NEED_mtx_t
#define __NEED_cnd_t
#include <bits/alltypes.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library defines this macro differently, so that it contains all functions. */
#ifndef COYOTE_INLINE
#define COYOTE_INLINE extern __inline__ __attribute__((__gnu_inline__, __always_inline__))
#endif

#define COYOTE_NO_TIMEOUT (-1LL)

/* The address of a mutex to be used. Tells the tool its kind, if a static initialiser made it. */
uint32_t __coyote_mutex(const volatile void *__mutex);
/* The part of __coyote_mutex that tells the tool. */
void __coyote_tell_mutex(volatile unsigned *__word);
/* Writes the attributes, which may be NULL, into a mutex or a condition variable. Returns the mutex's kind,
 * or the condition variable's address. */
uint32_t __coyote_new_mutex(volatile void *__mutex, const void *__attributes);
uint32_t __coyote_new_condvar(volatile void *__condvar, const void *__attributes);
/* The addresses of other objects. A bug if one was destroyed, or if a semaphore was not initialised. */
uint32_t __coyote_rwlock(const volatile void *__lock);
uint32_t __coyote_spin(const volatile void *__lock);
uint32_t __coyote_condvar(const volatile void *__condvar);
uint32_t __coyote_semaphore(const volatile void *__semaphore);
/* The same checks after the call's scheduling point: before it, another thread may have destroyed the object. Return the
 * call's result, which must be an argument at once: no access of memory, which may be a scheduling point, may come between
 * the call and this check. What waits at a condition variable is not checked again, since who wakes it may destroy it. */
int __coyote_mutex_used(const volatile void *__mutex, int __error);
int __coyote_rwlock_used(const volatile void *__lock, int __error);
int __coyote_spin_used(const volatile void *__lock, int __error);
int __coyote_condvar_used(const volatile void *__condvar, int __error);
int __coyote_semaphore_used(const volatile void *__semaphore, int __error);
/* The address of an object that is about to be initialised. */
uint32_t __coyote_new_object(volatile void *__object);
/* Mark a semaphore as initialised, an object as destroyed, unless there is an error. Return the error. */
int __coyote_new_semaphore(volatile void *__semaphore, int __error);
int __coyote_destroyed(volatile void *__object, int __error);
/* Nanoseconds until this time of the clock, at least 0; -1 if it is no valid time. */
int64_t __coyote_span(clockid_t __clock, const struct timespec *__until);
/* The same by a condition variable's clock. */
int64_t __coyote_condvar_span(const pthread_cond_t *__condvar, const struct timespec *__until);
/* What a timed call without a valid time returns if it would have to block: EBUSY becomes EINVAL. */
int __coyote_without_time(int __error);
/* 0 for 0, else -1 with errno set. */
int __coyote_result(int __error);
/* The same as a result of threads.h. */
int __coyote_thrd(int __error);
/* The same of mtx_unlock, of which an error is a bug: the caller does not hold the mutex. */
int __coyote_mtx_unlocked(const volatile void *__mutex, int __error);
/* The same of cnd_wait and cnd_timedwait. */
int __coyote_cnd_waited(const volatile void *__mutex, int __error);

/* A thread before it is started, or NULL if there is no memory for it; and where its stack is. */
pthread_t __coyote_prepare(const pthread_attr_t *__attributes, uint32_t __entry, uint32_t __argument);
uint32_t __coyote_stack_low(pthread_t __id);
uint32_t __coyote_stack_high(pthread_t __id);
/* What a worker runs, a function of type (i32) -> (). */
void __coyote_thread(uint32_t __id);
/* Records the worker as which a thread was started. */
void __coyote_started(pthread_t __id, uint32_t __worker);
/* 0 if the thread can be joined, else an error; the worker to be joined; the thread's result as a number,
 * after which the thread no longer exists. */
int __coyote_join(pthread_t __id);
uint32_t __coyote_worker(pthread_t __id);
uint32_t __coyote_joined(pthread_t __id);
/* What is 1 when a thread is about to end; the same as a futex that it then notifies, for a join with a timeout; what
 * such a join does if it fails: returns the error. */
const uint32_t *__coyote_ends(pthread_t __id);
uint32_t __coyote_await_end(pthread_t __id);
int __coyote_not_joined(pthread_t __id, int __error);
/* Everything that a thread does at its end, before its worker ends. */
void __coyote_finish(uint32_t __result);
/* Whether the function of a pthread_once is still to be called; records that it was called. */
int __coyote_once_begin(const volatile void *__once);
void __coyote_once_end(volatile void *__once);

#define COYOTE_ADDRESS(object) ((uint32_t)(uintptr_t)(object))

#ifdef __cplusplus
}
#endif

#endif
