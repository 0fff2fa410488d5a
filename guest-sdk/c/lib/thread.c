/* Threads: from pthread_create to the end, joined or not. */
#include "library.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>

/* Made by the linker. */
void __wasm_init_tls(void *storage);

static struct value main_values[KEYS];
static struct __pthread main_thread = {.magic = ALIVE, .name = "main", .values = main_values};
static _Thread_local struct __pthread *this_thread;
/* All threads except the main one, including those that have ended. */
static struct __pthread *newest;
/* Detached threads that have finished: the next thread that starts or ends frees their blocks, since no
 * thread can free the stack on which it runs. */
static struct __pthread *finished;
/* The number of threads that run or are about to, without the main one. */
static unsigned running;
/* The number of threads that have ended since the main one left, it included. */
static unsigned left;
/* The libc's errno, if the program contains code that sets it. */
extern int libc_errno __asm__("errno") __attribute__((weak));

struct __pthread *__coyote_self(void) {
  return this_thread ? this_thread : &main_thread;
}

PRIVATE size_t rounded(size_t bytes, size_t alignment) {
  return (bytes + alignment - 1) & ~(alignment - 1);
}

/* The program cannot observe which thread does this: its accesses are not part of footprints. */
__attribute__((noinline)) void __coyote_bury(void) {
  while (finished) {
    free(finished->block);
    finished = finished->next;
  }
}

/* For a thread that is detached or has finished: adds it to `finished` once it is both. */
__attribute__((noinline)) void __coyote_retire(struct __pthread *thread) {
  if (thread->detached && thread->finished && thread != &main_thread) {
    thread->next = finished;
    finished = thread;
  }
}

pthread_t __coyote_prepare(const pthread_attr_t *attributes, uint32_t entry, uint32_t argument) {
  __coyote_bury();
  if (&libc_errno) {
    coyote_raw_own_word(COYOTE_ADDRESS(&libc_errno));
  }
  size_t alignment = __builtin_wasm_tls_align() < 16 ? 16 : __builtin_wasm_tls_align();
  size_t storage_bytes = __builtin_wasm_tls_size() + alignment;
  size_t stack_bytes = COYOTE_STACK_BYTES;
  void *stack = NULL;
  if (attributes) {
    pthread_attr_getstacksize(attributes, &stack_bytes);
    pthread_attr_getstack(attributes, &stack, &stack_bytes);
  }
  size_t head = rounded(KEYS * sizeof(struct value), 16);
  size_t bytes = head + rounded(storage_bytes, 16) + (stack ? 0 : rounded(stack_bytes, 16));
  struct __pthread *thread = malloc(sizeof *thread);
  char *block = malloc(bytes);
  if (!thread || !block) {
    free(thread);
    free(block);
    return NULL;
  }
  __builtin_memset(thread, 0, sizeof *thread);
  __builtin_memset(block, 0, head);
  thread->magic = ALIVE;
  thread->entry = entry;
  thread->argument = argument;
  thread->block = block;
  thread->values = (struct value *)block;
  thread->storage = (void *)rounded((size_t)block + head, alignment);
  thread->older = newest;
  newest = thread;
  char *low = stack ? stack : block + head + rounded(storage_bytes, 16);
  thread->stack_low = (uint32_t)rounded((size_t)low, 16);
  thread->stack_high = ((uint32_t)(size_t)low + stack_bytes) & ~15u;
  int detached = 0;
  if (attributes) {
    pthread_attr_getdetachstate(attributes, &detached);
  }
  thread->detached = (char)detached;
  running++;
  return (pthread_t)thread;
}

uint32_t __coyote_stack_low(pthread_t thread) {
  return ((struct __pthread *)thread)->stack_low;
}

uint32_t __coyote_stack_high(pthread_t thread) {
  return ((struct __pthread *)thread)->stack_high;
}

void __coyote_started(pthread_t thread, uint32_t worker) {
  struct __pthread *started = (struct __pthread *)thread;
  started->worker = worker;
  if (started->detached) {
    coyote_raw_detach(worker);
  }
}

void __coyote_thread(uint32_t argument) {
  struct __pthread *self = (struct __pthread *)(size_t)argument;
  __wasm_init_tls(self->storage);
  this_thread = self;
  __coyote_finish(coyote_raw_call_entry(self->entry, self->argument));
}

/* The thread with this id, which must exist. */
PRIVATE struct __pthread *known(pthread_t thread, const char *function) {
  struct __pthread *known = (struct __pthread *)thread;
  if (!known || known->magic != ALIVE) {
    const char *parts[] = {function, ": there is no such thread; was it joined?", NULL};
    __coyote_misuse_parts(NULL, parts);
  }
  return known;
}

int __coyote_join(pthread_t thread) {
  struct __pthread *joined = known(thread, "pthread_join");
  if (joined == __coyote_self()) {
    return EDEADLK;
  }
  if (joined->worker == 0 && joined != &main_thread) {
    __coyote_misuse(NULL, "pthread_join: the pthread_create of this thread has not returned");
  }
  if (joined->detached || joined->joining) {
    return EINVAL;
  }
  joined->joining = 1;
  return 0;
}

uint32_t __coyote_await_end(pthread_t thread) {
  struct __pthread *joined = (struct __pthread *)thread;
  joined->awaited = 1;
  return COYOTE_ADDRESS(&joined->finished);
}

int __coyote_not_joined(pthread_t thread, int error) {
  ((struct __pthread *)thread)->joining = 0;
  return error;
}

const uint32_t *__coyote_ends(pthread_t thread) {
  return &known(thread, "pthread_tryjoin_np")->finished;
}

uint32_t __coyote_worker(pthread_t thread) {
  return ((struct __pthread *)thread)->worker;
}

uint32_t __coyote_joined(pthread_t thread) {
  struct __pthread *joined = (struct __pthread *)thread;
  uint32_t result = joined->result;
  __coyote_bury();
  joined->magic = 0;
  free(joined->block);
  return result;
}

int __coyote_pthread_detach(pthread_t thread) {
  struct __pthread *detached = known(thread, "pthread_detach");
  if (detached->detached || detached->joining) {
    return EINVAL;
  }
  detached->detached = 1;
  coyote_raw_detach(detached->worker);
  __coyote_retire(detached);
  return 0;
}
PUBLIC(pthread_detach);

int __coyote_thrd_detach(thrd_t thread) {
  return __coyote_pthread_detach(thread) ? thrd_error : thrd_success;
}
PUBLIC(thrd_detach);

/* The program can observe when this happens, by joins that do not wait: a part of the footprint. */
__attribute__((noinline)) void __coyote_end(struct __pthread *self) {
  self->finished = 1;
}

/* The number of threads that are left when this one leaves. Its accesses are not part of footprints: see __coyote_leave. */
__attribute__((noinline)) unsigned __coyote_others(struct __pthread *self) {
  return self == &main_thread ? running : --running;
}

/* Whether this thread is the last one. The last thread ends the process, and what runs then may observe which one it is:
 * from when the main thread leaves, the ends of threads are a part of the footprint. */
__attribute__((noinline)) int __coyote_leave(struct __pthread *self) {
  unsigned others = __coyote_others(self);
  if (self != &main_thread && left == 0) {
    return 0;
  }
  left++;
  return others == 0;
}

void __coyote_finish(uint32_t result) {
  struct __pthread *self = __coyote_self();
  while (self->cleanup) {
    struct __ptcb *handler = self->cleanup;
    self->cleanup = handler->__next;
    handler->__f(handler->__x);
  }
  __coyote_destroy_objects(self);
  if (self->has_values) {
    __coyote_destroy_values(self);
  }
  self->result = result;
  if (self == &main_thread) {
    coyote_raw_interleave(); /* the threads that it has started may end before it */
  }
  if (__coyote_leave(self)) {
    exit(0);
  }
  __coyote_end(self);
  __coyote_retire(self);
  if (self->awaited) {
    coyote_raw_futex_notify(COYOTE_ADDRESS(&self->finished), UINT32_MAX);
  }
}

pthread_t __coyote_pthread_self(void) {
  return (pthread_t)__coyote_self();
}
PUBLIC(pthread_self);

thrd_t __coyote_thrd_current(void) {
  return (thrd_t)__coyote_self();
}
PUBLIC(thrd_current);

int __coyote_pthread_equal(pthread_t a, pthread_t b) {
  return a == b;
}
PUBLIC(pthread_equal);

#undef thrd_equal
int __coyote_thrd_equal(thrd_t a, thrd_t b) {
  return a == b;
}
PUBLIC(thrd_equal);

int __coyote_pthread_setname_np(pthread_t thread, const char *name) {
  struct __pthread *named = known(thread, "pthread_setname_np");
  uint32_t length = text_length(name);
  if (length >= sizeof named->name) {
    return ERANGE;
  }
  __builtin_memcpy(named->name, name, length + 1);
  coyote_raw_set_name(named->worker, COYOTE_ADDRESS(named->name), length);
  return 0;
}
PUBLIC(pthread_setname_np);

int __coyote_pthread_getname_np(pthread_t thread, char *name, size_t size) {
  struct __pthread *named = known(thread, "pthread_getname_np");
  uint32_t length = text_length(named->name);
  if (length >= size) {
    return ERANGE;
  }
  __builtin_memcpy(name, named->name, length + 1);
  return 0;
}
PUBLIC(pthread_getname_np);

int __coyote_pthread_kill(pthread_t thread, int signal) {
  known(thread, "pthread_kill");
  if (signal != 0) {
    __coyote_unsupported("pthread_kill: there are no signals");
  }
  return 0;
}
PUBLIC(pthread_kill);

int __coyote_pthread_getcpuclockid(pthread_t thread, clockid_t *clock) {
  known(thread, "pthread_getcpuclockid");
#ifdef CLOCK_THREAD_CPUTIME_ID
  *clock = CLOCK_THREAD_CPUTIME_ID;
  return 0;
#else
  (void)clock;
  return ENOENT;
#endif
}
PUBLIC(pthread_getcpuclockid);

void __coyote__pthread_cleanup_push(struct __ptcb *handler, void (*function)(void *), void *argument) {
  struct __pthread *self = __coyote_self();
  handler->__f = function;
  handler->__x = argument;
  handler->__next = self->cleanup;
  self->cleanup = handler;
}
PUBLIC(_pthread_cleanup_push);

void __coyote__pthread_cleanup_pop(struct __ptcb *handler, int run) {
  __coyote_self()->cleanup = handler->__next;
  if (run) {
    handler->__f(handler->__x);
  }
}
PUBLIC(_pthread_cleanup_pop);

int __coyote_pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes) {
  struct __pthread *asked = known(thread, "pthread_getattr_np");
  pthread_attr_init(attributes);
  pthread_attr_setdetachstate(attributes, asked->detached);
  if (asked != &main_thread) {
    pthread_attr_setstack(attributes, (void *)(size_t)asked->stack_low,
                          asked->stack_high - asked->stack_low);
  }
  return 0;
}
PUBLIC(pthread_getattr_np);
