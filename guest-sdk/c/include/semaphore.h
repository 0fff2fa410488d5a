/* semaphore.h for guests of coyote-wasm: unnamed semaphores. A call of sem_open, sem_close or
 * sem_unlink ends the run, with the name of the function. */
#ifndef COYOTE_SEMAPHORE_H
#define COYOTE_SEMAPHORE_H

#include <coyote_shim.h>
#include <fcntl.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  volatile int __val[4];
} sem_t;

#define SEM_FAILED ((sem_t *)0)
#ifndef SEM_VALUE_MAX
#define SEM_VALUE_MAX 0x7fffffff
#endif

sem_t *sem_open(const char *__name, int __flags, ...);
int sem_close(sem_t *__semaphore);
int sem_unlink(const char *__name);

COYOTE_INLINE int sem_init(sem_t *__semaphore, int __shared, unsigned __value) {
  (void)__shared;
  int __error = (int)coyote_raw_semaphore_init(__coyote_new_object(__semaphore), __value);
  return __coyote_result(__coyote_new_semaphore(__semaphore, __error));
}

COYOTE_INLINE int sem_getvalue(sem_t *__restrict __semaphore, int *__restrict __value) {
  *__value = __coyote_semaphore_used(
      __semaphore, (int)coyote_raw_semaphore_value(__coyote_semaphore(__semaphore)));
  return 0;
}

COYOTE_INLINE int sem_destroy(sem_t *__semaphore) {
  int __error = __coyote_semaphore_used(
      __semaphore, (int)coyote_raw_semaphore_destroy(__coyote_semaphore(__semaphore)));
  return __coyote_result(__coyote_destroyed(__semaphore, __error));
}

COYOTE_INLINE int sem_wait(sem_t *__semaphore) {
  return __coyote_result(__coyote_semaphore_used(
      __semaphore, (int)coyote_raw_semaphore_wait(__coyote_semaphore(__semaphore), COYOTE_NO_TIMEOUT)));
}

COYOTE_INLINE int sem_trywait(sem_t *__semaphore) {
  return __coyote_result(__coyote_semaphore_used(
      __semaphore, (int)coyote_raw_semaphore_try_wait(__coyote_semaphore(__semaphore))));
}

COYOTE_INLINE int sem_clockwait(sem_t *__restrict __semaphore, clockid_t __clock,
                                const struct timespec *__restrict __until) {
  int64_t __span = __coyote_span(__clock, __until);
  int __error;
  if (__span < 0) {
    __error = __coyote_semaphore_used(
        __semaphore, (int)coyote_raw_semaphore_try_wait(__coyote_semaphore(__semaphore)));
    return __coyote_result(__coyote_without_time(__error));
  }
  return __coyote_result(__coyote_semaphore_used(
      __semaphore, (int)coyote_raw_semaphore_wait(__coyote_semaphore(__semaphore), __span)));
}

COYOTE_INLINE int sem_timedwait(sem_t *__restrict __semaphore,
                                const struct timespec *__restrict __until) {
  return sem_clockwait(__semaphore, CLOCK_REALTIME, __until);
}

COYOTE_INLINE int sem_post(sem_t *__semaphore) {
  return __coyote_result(__coyote_semaphore_used(
      __semaphore, (int)coyote_raw_semaphore_post(__coyote_semaphore(__semaphore))));
}

#ifdef __cplusplus
}
#endif

#endif
