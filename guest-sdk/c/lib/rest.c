/* Functions without an effect here, and functions that are not supported. */
#include "library.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

/* ---- One processor, no priorities, no children, no cancellation ---- */

int __coyote_pthread_getconcurrency(void) {
  return 0;
}
PUBLIC(pthread_getconcurrency);

int __coyote_pthread_setconcurrency(int level) {
  return level < 0 ? EINVAL : 0;
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

int __coyote_sched_get_priority_max(int policy) {
  return policy == SCHED_FIFO || policy == SCHED_RR ? 99 : 0;
}
PUBLIC(sched_get_priority_max);

int __coyote_sched_get_priority_min(int policy) {
  return policy == SCHED_FIFO || policy == SCHED_RR ? 1 : 0;
}
PUBLIC(sched_get_priority_min);

int __coyote_sched_getcpu(void) {
  return 0;
}
PUBLIC(sched_getcpu);

int __coyote_cpu_count(const cpu_set_t *set) {
  int count = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    count += CPU_ISSET(cpu, set);
  }
  return count;
}

int __coyote_pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set) {
  (void)thread;
  if (size < sizeof(unsigned long)) {
    return EINVAL;
  }
  __builtin_memset(set, 0, size);
  set->__bits[0] = 1;
  return 0;
}
PUBLIC(pthread_getaffinity_np);

int __coyote_pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set) {
  (void)thread, (void)size, (void)set;
  return 0;
}
PUBLIC(pthread_setaffinity_np);

int __coyote_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
  (void)prepare, (void)parent, (void)child;
  return 0; /* there is no fork */
}
PUBLIC(pthread_atfork);

int __coyote_pthread_getcpuclockid(pthread_t thread, clockid_t *clock) {
  (void)thread, (void)clock;
  return ENOENT;
}
PUBLIC(pthread_getcpuclockid);

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
