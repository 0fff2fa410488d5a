/* Helpers of the inlined functions on mutexes, condition variables and other objects. */
#include "library.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <wasi/api.h>

#define KIND 3u
/* In a mutex's first word: the tool knows its kind. A mutex without it was made by a static initialiser, even if
 * another object was in this memory before. */
#define TOLD 0x100u
/* In the first word of an object that was destroyed, until something else is written there. */
#define DESTROYED 0xdead0b1eu
/* In the first word of a semaphore that was initialised: it has no static initialiser. */
#define INITIALISED 0x5e3a0b1eu
/* The index of the word in which a condition variable stores its attributes. */
#define ATTRIBUTES_WORD 4

_Noreturn void __coyote_unusable(const volatile void *object, const char *what, const char *how) {
  const char *parts[] = {what, " is used ", how, NULL};
  __coyote_misuse_parts(object, parts);
}

/* The address of an object that is alive: it was not destroyed, and has no bits but these in its first word, which
 * initialisers write. */
PRIVATE uint32_t alive(const volatile void *object, unsigned bits, const char *what) {
  unsigned first = *(const volatile unsigned *)object;
  if (first == DESTROYED) {
    __coyote_unusable(object, what, "after it was destroyed");
  }
  if (first & ~bits) {
    __coyote_unusable(object, what, "that was not initialised: its memory holds something else");
  }
  return COYOTE_ADDRESS(object);
}

/* Tells the tool a mutex's kind. The time of the call has no effect, so it is no part of a step's footprint. */
__attribute__((noinline)) void __coyote_tell_mutex(volatile unsigned *word) {
  if (!(*word & TOLD)) {
    *word |= TOLD;
    coyote_raw_mutex_kind(COYOTE_ADDRESS(word), *word & KIND);
  }
}

uint32_t __coyote_mutex(const volatile void *mutex) {
  alive(mutex, KIND | TOLD, "a mutex");
  __coyote_tell_mutex((volatile unsigned *)mutex);
  return COYOTE_ADDRESS(mutex);
}

uint32_t __coyote_new_mutex(volatile void *mutex, const void *attributes) {
  unsigned kind = attributes ? *(const unsigned *)attributes & KIND : PTHREAD_MUTEX_DEFAULT;
  *(volatile pthread_mutex_t *)mutex = (pthread_mutex_t){0};
  *(volatile unsigned *)mutex = kind | TOLD;
  return kind;
}

uint32_t __coyote_new_condvar(volatile void *condvar, const void *attributes) {
  *(volatile pthread_cond_t *)condvar = (pthread_cond_t){0};
  ((volatile unsigned *)condvar)[ATTRIBUTES_WORD] = attributes ? *(const unsigned *)attributes : 0;
  return COYOTE_ADDRESS(condvar);
}

uint32_t __coyote_rwlock(const volatile void *lock) {
  return alive(lock, 0, "a read-write lock");
}

uint32_t __coyote_spin(const volatile void *lock) {
  return alive(lock, 0, "a spin lock");
}

uint32_t __coyote_condvar(const volatile void *condvar) {
  return alive(condvar, 0, "a condition variable");
}

uint32_t __coyote_semaphore(const volatile void *semaphore) {
  uint32_t address = alive(semaphore, ~0u, "a semaphore");
  if (*(const volatile unsigned *)semaphore != INITIALISED) {
    __coyote_unusable(semaphore, "a semaphore", "that was not initialised by sem_init");
  }
  return address;
}

int __coyote_mutex_used(const volatile void *mutex, int error) {
  alive(mutex, KIND | TOLD, "a mutex");
  return error;
}

int __coyote_rwlock_used(const volatile void *lock, int error) {
  __coyote_rwlock(lock);
  return error;
}

int __coyote_spin_used(const volatile void *lock, int error) {
  __coyote_spin(lock);
  return error;
}

int __coyote_condvar_used(const volatile void *condvar, int error) {
  __coyote_condvar(condvar);
  return error;
}

int __coyote_semaphore_used(const volatile void *semaphore, int error) {
  __coyote_semaphore(semaphore);
  return error;
}

uint32_t __coyote_new_object(volatile void *object) {
  *(volatile unsigned *)object = 0;
  return COYOTE_ADDRESS(object);
}

int __coyote_new_semaphore(volatile void *semaphore, int error) {
  if (!error) {
    *(volatile unsigned *)semaphore = INITIALISED;
  }
  return error;
}

int __coyote_destroyed(volatile void *object, int error) {
  if (!error) {
    *(volatile unsigned *)object = DESTROYED;
  }
  return error;
}

int64_t __coyote_span(clockid_t clock, const struct timespec *until) {
  const int64_t second = 1000000000;
  __wasi_timestamp_t now;
  __wasi_clockid_t id = clock == CLOCK_REALTIME ? __WASI_CLOCKID_REALTIME : __WASI_CLOCKID_MONOTONIC;
  if ((clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) || until->tv_nsec < 0 ||
      until->tv_nsec >= second || __wasi_clock_time_get(id, 1, &now)) {
    return -1;
  }
  if (until->tv_sec < 0) {
    return 0;
  }
  if (until->tv_sec >= INT64_MAX / second) {
    return INT64_MAX; /* further away than virtual time reaches */
  }
  int64_t span = (int64_t)((uint64_t)until->tv_sec * second + (uint64_t)until->tv_nsec - now);
  return span < 0 ? 0 : span;
}

int64_t __coyote_condvar_span(const pthread_cond_t *condvar, const struct timespec *until) {
  unsigned attributes = ((const unsigned *)condvar)[ATTRIBUTES_WORD];
  return __coyote_span(attributes & COYOTE_MONOTONIC ? CLOCK_MONOTONIC : CLOCK_REALTIME, until);
}

int __coyote_without_time(int error) {
  return error == EBUSY || error == EAGAIN ? EINVAL : error;
}

int __coyote_result(int error) {
  if (!error) {
    return 0;
  }
  errno = error;
  return -1;
}

int __coyote_thrd(int error) {
  switch (error) {
  case 0:
    return thrd_success;
  case EBUSY:
    return thrd_busy;
  case ETIMEDOUT:
    return thrd_timedout;
  default:
    return thrd_error;
  }
}

int __coyote_mtx_unlocked(const volatile void *mutex, int error) {
  if (error) {
    __coyote_misuse(mutex, "mtx_unlock: the caller does not hold the mutex");
  }
  return thrd_success;
}

int __coyote_cnd_waited(const volatile void *mutex, int error) {
  if (error == EPERM) {
    __coyote_misuse(mutex, "cnd_wait: the caller does not hold the mutex");
  }
  return __coyote_thrd(error);
}

int __coyote_once_begin(const volatile void *once) {
  return *(const volatile int *)once == 0;
}

void __coyote_once_end(volatile void *once) {
  *(volatile int *)once = 1;
}

int *__coyote_errno(void) {
#undef errno
  extern int errno; /* the libc's */
  return &errno;
}
