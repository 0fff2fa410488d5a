/* Declarations that the files of the library share. coyote-cc compiles the library and links it like an
 * archive: only what a program needs, and after the program's own definitions.
 *
 * Functions are called `__coyote_*`: the instrumenter knows them by this name and adds no scheduling
 * points to their memory accesses. A public name is an alias. */
#ifndef COYOTE_LIBRARY_H
#define COYOTE_LIBRARY_H

#include <coyote_shim.h>
#include <stddef.h>

/* Defines the public function `name` as an alias of `__coyote_<name>`. */
#define PUBLIC(name) \
  extern __typeof__(name) name __attribute__((alias("__coyote_" #name), weak))

/* A function that is private to a file: inlined, since the instrumenter does not know its name. */
#define PRIVATE static inline __attribute__((always_inline))

#define KEYS 128

/* The bit of a condition variable's attributes that chooses CLOCK_MONOTONIC instead of CLOCK_REALTIME. */
#define COYOTE_MONOTONIC 1u

struct value {
  void *pointer;
  /* Of the key, when this was set: an older one means none. */
  unsigned generation;
};

/* A C++ object of a thread that is to be destroyed with it. */
struct destructor {
  void (*function)(void *);
  void *object;
  struct destructor *next;
};

struct cleanup;

/* A thread. It exists as long as the program runs, so that a second join is always refused. The main
 * thread's is static. Others have a block for their thread-local storage, the values of their keys
 * and, unless the program gave one, their stack. */
struct __pthread {
  /* ALIVE; otherwise the thread was joined, or this is no thread. */
  unsigned magic;
  uint32_t worker;
  uint32_t entry;
  uint32_t argument;
  uint32_t result;
  uint32_t stack_low;
  uint32_t stack_high;
  /* Freed when no thread runs on it any more. */
  char *block;
  /* Its thread-local storage. */
  void *storage;
  struct value *values;
  /* Whether it has nothing left to do but to end: a futex for joins with a timeout. */
  uint32_t finished;
  /* Whether such a join has ever waited. */
  char awaited;
  char detached;
  char joining;
  /* Whether it ever set a value for a key. */
  char has_values;
  /* As pthread_setcancelstate and pthread_setcanceltype left them. */
  char cancel_state;
  char cancel_type;
  char name[16];
  struct __ptcb *cleanup;
  struct destructor *destructors;
  /* In the list of all threads. */
  struct __pthread *older;
  /* In the list of detached threads that have finished. */
  struct __pthread *next;
};

#define ALIVE 0xc0707eu

/* Not strlen: its accesses would be scheduling points. */
PRIVATE uint32_t text_length(const char *text) {
  uint32_t length = 0;
  while (text[length]) {
    length++;
  }
  return length;
}

struct __pthread *__coyote_self(void);
/* Frees the blocks of threads that are detached and have finished. */
void __coyote_bury(void);
void __coyote_retire(struct __pthread *thread);
/* Calls the destructors of thread-local objects and of keys. */
void __coyote_destroy_objects(struct __pthread *self);
void __coyote_destroy_values(struct __pthread *self);

/* Ends the run: the program needs a feature that is not supported. */
_Noreturn void __coyote_unsupported(const char *what);
/* The same with a text in parts, up to NULL. */
_Noreturn void __coyote_unsupported_parts(const char *const *parts);
/* Ends the run: the program has a bug. */
_Noreturn void __coyote_bug(const char *what);
/* The same with a text in parts, up to NULL. */
_Noreturn void __coyote_bug_parts(const char *const *parts);
/* Zeroed memory that the library cannot do without: see memory.c. */
void *__coyote_memory(size_t bytes);
/* Ends the run: the program uses a sync object, or a thread, against its rules. The object is NULL if the text names it. */
_Noreturn void __coyote_misuse(const volatile void *object, const char *what);
/* The same with a text in parts, up to NULL. */
_Noreturn void __coyote_misuse_parts(const volatile void *object, const char *const *parts);

#endif
