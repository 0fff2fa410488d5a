/* What the inlined functions on mutexes, condition variables and the like need besides the tool. */
#include "library.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <wasi/api.h>

#define KIND 3u
/* In a mutex's first word: the tool knows its kind. One without it was made by a static initialiser, whatever
 * there was in this memory before. */
#define TOLD 0x100u
/* Where a condition variable keeps its clock, in words. */
#define CLOCK_WORD 4

uint32_t __coyote_mutex(const volatile void *mutex) {
  volatile unsigned *word = (volatile unsigned *)mutex;
  if (!(*word & TOLD)) {
    *word |= TOLD;
    coyote_raw_mutex_kind(COYOTE_ADDRESS(mutex), *word & KIND);
  }
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
  ((volatile unsigned *)condvar)[CLOCK_WORD] = attributes ? *(const unsigned *)attributes : 0;
  return COYOTE_ADDRESS(condvar);
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
  clockid_t clock = (clockid_t)(size_t)((const unsigned *)condvar)[CLOCK_WORD];
  return __coyote_span(clock ? clock : CLOCK_REALTIME, until);
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
