/* Functions without an effect here, and functions that are not supported. */
#include "library.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <unistd.h>

/* ---- One processor, no priorities, no children, no cancellation ---- */

static int concurrency;

int __coyote_pthread_getconcurrency(void) {
  return concurrency;
}
PUBLIC(pthread_getconcurrency);

int __coyote_pthread_setconcurrency(int level) {
  if (level < 0) {
    return EINVAL;
  }
  concurrency = level;
  return 0;
}
PUBLIC(pthread_setconcurrency);

int __coyote_pthread_getschedparam(pthread_t thread, int *restrict policy,
                                   struct sched_param *restrict parameters) {
  (void)thread;
  *policy = SCHED_OTHER;
  parameters->sched_priority = 0;
  return 0;
}
PUBLIC(pthread_getschedparam);

int __coyote_pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *parameters) {
  (void)thread, (void)policy, (void)parameters;
  return 0;
}
PUBLIC(pthread_setschedparam);

int __coyote_pthread_setschedprio(pthread_t thread, int priority) {
  (void)thread, (void)priority;
  return 0;
}
PUBLIC(pthread_setschedprio);

/* A bound of the priorities of a policy. */
PRIVATE int bound_of_priority(int policy, int real_time) {
  switch (policy) {
  case SCHED_FIFO:
  case SCHED_RR:
    return real_time;
  case SCHED_OTHER:
  case SCHED_BATCH:
  case SCHED_IDLE:
    return 0;
  default:
    return __coyote_result(EINVAL);
  }
}

int __coyote_sched_get_priority_max(int policy) {
  return bound_of_priority(policy, 99);
}
PUBLIC(sched_get_priority_max);

int __coyote_sched_get_priority_min(int policy) {
  return bound_of_priority(policy, 1);
}
PUBLIC(sched_get_priority_min);

int __coyote_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
  (void)prepare, (void)parent, (void)child;
  return 0; /* there is no fork */
}
PUBLIC(pthread_atfork);

/* Nothing cancels a thread, but a library may set the state and restore what was set before. */
PRIVATE int set_kept(char *kept, int value, int last, int *old) {
  if ((unsigned)value > (unsigned)last) {
    return EINVAL;
  }
  if (old) {
    *old = *kept;
  }
  *kept = (char)value;
  return 0;
}

int __coyote_pthread_setcancelstate(int state, int *old) {
  return set_kept(&__coyote_self()->cancel_state, state, PTHREAD_CANCEL_DISABLE, old);
}
PUBLIC(pthread_setcancelstate);

int __coyote_pthread_setcanceltype(int type, int *old) {
  return set_kept(&__coyote_self()->cancel_type, type, PTHREAD_CANCEL_ASYNCHRONOUS, old);
}
PUBLIC(pthread_setcanceltype);

void __coyote_pthread_testcancel(void) {}
PUBLIC(pthread_testcancel);

int __coyote_pthread_mutex_consistent(pthread_mutex_t *mutex) {
  (void)mutex;
  return EINVAL;
}
PUBLIC(pthread_mutex_consistent);

int __coyote_pthread_mutex_getprioceiling(const pthread_mutex_t *restrict mutex, int *restrict ceiling) {
  (void)mutex, (void)ceiling;
  return EINVAL;
}
PUBLIC(pthread_mutex_getprioceiling);

int __coyote_pthread_mutex_setprioceiling(pthread_mutex_t *restrict mutex, int ceiling,
                                          int *restrict old) {
  (void)mutex, (void)ceiling, (void)old;
  return EINVAL;
}
PUBLIC(pthread_mutex_setprioceiling);

int __coyote_thrd_sleep(const struct timespec *span, struct timespec *rest) {
  (void)rest;
  return nanosleep(span, 0) ? -2 : 0;
}
PUBLIC(thrd_sleep);

/* ---- Not supported ---- */

unsigned __coyote_alarm(unsigned seconds) {
  if (seconds) {
    __coyote_unsupported("alarm: there are no signals");
  }
  return 0;
}
PUBLIC(alarm);

int __coyote_pthread_cancel(pthread_t thread) {
  (void)thread;
  __coyote_unsupported("pthread_cancel: threads cannot be cancelled");
}
PUBLIC(pthread_cancel);

sem_t *__coyote_sem_open(const char *name, int flags, ...) {
  (void)name, (void)flags;
  __coyote_unsupported("sem_open: there are no named semaphores; use sem_init");
}
PUBLIC(sem_open);

int __coyote_sem_close(sem_t *semaphore) {
  (void)semaphore;
  __coyote_unsupported("sem_close: there are no named semaphores; use sem_init");
}
PUBLIC(sem_close);

int __coyote_sem_unlink(const char *name) {
  (void)name;
  __coyote_unsupported("sem_unlink: there are no named semaphores; use sem_init");
}
PUBLIC(sem_unlink);
