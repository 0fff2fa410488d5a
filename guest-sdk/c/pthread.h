/* pthread.h over coyote.h, for a libc that was built without threads: enough to create, join and
 * detach threads and to use mutexes and condition variables. What is not declared here is not
 * supported: a program that needs it does not compile. Attributes must be NULL.
 *
 * The stack of a detached thread is not freed. A thread's own return value ends it; there is no
 * pthread_exit and no cancellation. */
#ifndef COYOTE_PTHREAD_H
#define COYOTE_PTHREAD_H

#include <coyote.h>
#include <errno.h>

#ifdef __cplusplus
extern "C" {
#endif

struct coyote_pthread {
  coyote_thread thread;
  void *(*entry)(void *);
  void *argument;
  void *result;
};

typedef struct coyote_pthread *pthread_t;
typedef coyote_mutex pthread_mutex_t;
typedef coyote_condvar pthread_cond_t;

/* Declared so that NULL can be passed for them; there are none. */
typedef const struct coyote_no_attributes pthread_attr_t, pthread_mutexattr_t, pthread_condattr_t;

#define PTHREAD_MUTEX_INITIALIZER COYOTE_MUTEX_INIT
#define PTHREAD_COND_INITIALIZER COYOTE_CONDVAR_INIT

/* What a worker runs: its entry returns nothing, a thread's function does. */
static inline void coyote_pthread_main(void *argument) {
  struct coyote_pthread *self = (struct coyote_pthread *)argument;
  self->result = self->entry(self->argument);
}

static inline int pthread_create(pthread_t *thread, pthread_attr_t *attributes,
                                 void *(*entry)(void *), void *argument) {
  if (attributes) {
    return ENOTSUP;
  }
  struct coyote_pthread *created = (struct coyote_pthread *)malloc(sizeof(*created));
  if (!created) {
    return EAGAIN;
  }
  created->entry = entry;
  created->argument = argument;
  created->result = NULL;
  /* Before the thread runs: it may read its own identifier. */
  *thread = created;
  if (coyote_thread_create(&created->thread, coyote_pthread_main, created)) {
    free(created);
    return EAGAIN;
  }
  return 0;
}

static inline int pthread_join(pthread_t thread, void **result) {
  coyote_thread_join(&thread->thread);
  if (result) {
    *result = thread->result;
  }
  free(thread);
  return 0;
}

static inline int pthread_detach(pthread_t thread) {
  coyote_thread_detach(&thread->thread);
  return 0;
}

static inline int pthread_mutex_init(pthread_mutex_t *mutex, pthread_mutexattr_t *attributes) {
  (void)mutex;
  return attributes ? ENOTSUP : 0;
}

static inline int pthread_mutex_destroy(pthread_mutex_t *mutex) {
  (void)mutex;
  return 0;
}

static inline int pthread_mutex_lock(pthread_mutex_t *mutex) {
  coyote_mutex_lock(mutex);
  return 0;
}

static inline int pthread_mutex_trylock(pthread_mutex_t *mutex) {
  return coyote_mutex_try_lock(mutex) ? 0 : EBUSY;
}

static inline int pthread_mutex_unlock(pthread_mutex_t *mutex) {
  coyote_mutex_unlock(mutex);
  return 0;
}

static inline int pthread_cond_init(pthread_cond_t *condvar, pthread_condattr_t *attributes) {
  (void)condvar;
  return attributes ? ENOTSUP : 0;
}

static inline int pthread_cond_destroy(pthread_cond_t *condvar) {
  (void)condvar;
  return 0;
}

static inline int pthread_cond_wait(pthread_cond_t *condvar, pthread_mutex_t *mutex) {
  coyote_condvar_wait(condvar, mutex);
  return 0;
}

static inline int pthread_cond_signal(pthread_cond_t *condvar) {
  coyote_condvar_signal(condvar);
  return 0;
}

static inline int pthread_cond_broadcast(pthread_cond_t *condvar) {
  coyote_condvar_broadcast(condvar);
  return 0;
}

#ifdef __cplusplus
}
#endif

#endif
