/* Thread-specific values: keys with destructors, and C++'s thread-local objects. */
#include "library.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>

struct key {
  char used;
  void (*destructor)(void *);
  /* Counts how often it was created, so that a thread's old value is not taken for a new key's. */
  unsigned generation;
};

static struct key keys[KEYS];
/* Keys from here on were never created. */
static unsigned keys_end;

int __coyote_pthread_key_create(pthread_key_t *key, void (*destructor)(void *)) {
  for (unsigned i = 0; i < KEYS; i++) {
    if (!keys[i].used) {
      keys[i].used = 1;
      keys[i].destructor = destructor;
      keys[i].generation++;
      keys_end = i < keys_end ? keys_end : i + 1;
      *key = i;
      return 0;
    }
  }
  return EAGAIN;
}
PUBLIC(pthread_key_create);

int __coyote_pthread_key_delete(pthread_key_t key) {
  if (key >= KEYS || !keys[key].used) {
    return EINVAL;
  }
  keys[key].used = 0;
  return 0;
}
PUBLIC(pthread_key_delete);

void *__coyote_pthread_getspecific(pthread_key_t key) {
  if (key >= KEYS || !keys[key].used) {
    return NULL;
  }
  struct value *value = &__coyote_self()->values[key];
  return value->generation == keys[key].generation ? value->pointer : NULL;
}
PUBLIC(pthread_getspecific);

int __coyote_pthread_setspecific(pthread_key_t key, const void *pointer) {
  if (key >= KEYS || !keys[key].used) {
    return EINVAL;
  }
  struct __pthread *self = __coyote_self();
  struct value *value = &self->values[key];
  self->has_values = 1;
  value->pointer = (void *)pointer;
  value->generation = keys[key].generation;
  return 0;
}
PUBLIC(pthread_setspecific);

int __coyote_tss_create(tss_t *key, tss_dtor_t destructor) {
  return pthread_key_create(key, destructor) ? thrd_error : thrd_success;
}
PUBLIC(tss_create);

void __coyote_tss_delete(tss_t key) {
  pthread_key_delete(key);
}
PUBLIC(tss_delete);

void *__coyote_tss_get(tss_t key) {
  return pthread_getspecific(key);
}
PUBLIC(tss_get);

int __coyote_tss_set(tss_t key, void *value) {
  return pthread_setspecific(key, value) ? thrd_error : thrd_success;
}
PUBLIC(tss_set);

/* The destructor to be called with a thread's value of a key, if there is one. A step: the key may be deleted before. */
__attribute__((noinline)) void (*__coyote_due(const struct key *key, const struct value *value))(void *) {
  return key->used && value->generation == key->generation ? key->destructor : NULL;
}

/* Repeats while destructors set new values, a limited number of times. */
void __coyote_destroy_values(struct __pthread *self) {
  for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS; round++) {
    int called = 0;
    for (unsigned i = 0; i < keys_end; i++) {
      struct value *value = &self->values[i];
      void *pointer = value->pointer;
      if (!pointer) {
        continue;
      }
      void (*destructor)(void *) = __coyote_due(&keys[i], value);
      value->pointer = NULL;
      if (destructor) {
        destructor(pointer);
        called = 1;
      }
    }
    if (!called) {
      return;
    }
  }
}

void __coyote_destroy_objects(struct __pthread *self) {
  while (self->destructors) {
    struct destructor *last = self->destructors;
    self->destructors = last->next;
    last->function(last->object);
    free(last);
  }
}

static void at_exit(void) {
  __coyote_destroy_objects(__coyote_self());
}

/* C++ compilers call this function when a thread-local object has been constructed. */
int __coyote___cxa_thread_atexit(void (*function)(void *), void *object, void *library) {
  (void)library;
  static char registered;
  if (!registered) {
    registered = 1;
    atexit(at_exit);
  }
  struct destructor *last = malloc(sizeof *last);
  if (!last) {
    return -1;
  }
  struct __pthread *self = __coyote_self();
  last->function = function;
  last->object = object;
  last->next = self->destructors;
  self->destructors = last;
  return 0;
}
int __cxa_thread_atexit(void (*function)(void *), void *object, void *library);
PUBLIC(__cxa_thread_atexit);
