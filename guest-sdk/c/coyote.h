/* Made from coyote.h.in by `cargo xtask codegen`: change that file. */
/* coyote.h: C and C++ SDK for guests of coyote-wasm. Header only.
 *
 *     static coyote_mutex lock = COYOTE_MUTEX_INIT;
 *     static int balance;
 *
 *     static void deposit(void *amount) {
 *       coyote_mutex_lock(&lock);
 *       balance += *(int *)amount;
 *       coyote_mutex_unlock(&lock);
 *     }
 *
 *     COYOTE_TEST(two_deposits) {
 *       int one = 1;
 *       coyote_thread a, b;
 *       coyote_thread_create(&a, deposit, &one);
 *       coyote_thread_create(&b, deposit, &one);
 *       coyote_thread_join(&a);
 *       coyote_thread_join(&b);
 *       COYOTE_ASSERT(balance == 2);
 *     }
 *
 * Build:
 *     clang --target=wasm32-wasi -matomics -mbulk-memory -g -O1 -mexec-model=reactor -I guest-sdk/c \
 *         test.c -o test.wasm
 *
 * `-matomics` is not optional: without it an atomic operation compiles to a plain load and a plain
 * store, and the tool would report bugs that are not in your program. `-mexec-model=reactor` is for
 * modules without `main`.
 *
 * A libc is needed for the stacks of workers only, which come from malloc. To do without, define before
 * including this file
 *     #define COYOTE_STACK_ALLOC(bytes) ...   // aligned to 16 bytes, or NULL
 *     #define COYOTE_STACK_FREE(pointer) ...
 * and build with --target=wasm32 -nostdlib -Wl,--no-entry.
 */
#ifndef COYOTE_H
#define COYOTE_H

#ifndef __wasm__
#error "coyote.h is for guests of coyote-wasm: build with clang --target=wasm32-wasi"
#endif
#ifndef __wasm_atomics__
#error "build with -matomics -mbulk-memory: without it, atomic operations are not atomic"
#endif

#include <stddef.h>
#include <stdint.h>

#ifndef COYOTE_STACK_ALLOC
#include <stdlib.h>
/* malloc aligns to 16 bytes on wasm32. */
#define COYOTE_STACK_ALLOC(bytes) malloc(bytes)
#define COYOTE_STACK_FREE(pointer) free(pointer)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Imports: what the tool provides. Use the functions further down. Addresses are numbers here.
 * Those marked "point" are scheduling points. ---- */

#define COYOTE_IMPORT(name) \
  __attribute__((import_module("coyote"), import_name(name)))

/* Starts a worker that calls table entry `entry`, of type (i32) -> (), with `argument`
 * on the stack [stack_low, stack_high). Returns the worker's handle, at least 1.
 * (point) */
COYOTE_IMPORT("spawn")
uint32_t coyote_raw_spawn(uint32_t entry, uint32_t argument, uint32_t stack_low, uint32_t stack_high);

/* Blocks until the worker has ended. (point) */
COYOTE_IMPORT("join")
void coyote_raw_join(uint32_t worker);

/* Ends the calling worker. Does not return. (point) */
COYOTE_IMPORT("exit")
void coyote_raw_exit(void);

/* Declares that nobody will join the worker. */
COYOTE_IMPORT("detach")
void coyote_raw_detach(uint32_t worker);

/* The calling worker's handle; 0 is the worker that the test started in. */
COYOTE_IMPORT("current")
uint32_t coyote_raw_current(void);

/* Names a worker in reports; the text is UTF-8. */
COYOTE_IMPORT("set_name")
void coyote_raw_set_name(uint32_t worker, uint32_t text, uint32_t length);

/* Lets other workers run. (point) */
COYOTE_IMPORT("yield")
void coyote_raw_yield(void);

/* Blocks for a span of virtual time. (point) */
COYOTE_IMPORT("sleep")
void coyote_raw_sleep(int64_t nanoseconds);

/* Virtual time since the start of the test, in nanoseconds. */
COYOTE_IMPORT("now")
int64_t coyote_raw_now(void);

/* Makes the mutex at this address one of a kind: 0 normal, 1 recursive, 2
 * error-checking; any other is EINVAL. One that was never initialised is normal.
 * (point) */
COYOTE_IMPORT("mutex_init")
uint32_t coyote_raw_mutex_init(uint32_t mutex, uint32_t kind);

/* Forgets the mutex; a bug of the guest if somebody holds it or waits for it. (point) */
COYOTE_IMPORT("mutex_destroy")
uint32_t coyote_raw_mutex_destroy(uint32_t mutex);

/* Locks the mutex. By its holder: EDEADLK if it is error-checking, EAGAIN if a
 * recursive one is locked too often; a normal one blocks. (point) */
COYOTE_IMPORT("mutex_lock")
uint32_t coyote_raw_mutex_lock(uint32_t mutex, int64_t timeout_ns);

/* Locks the mutex if it is free, else EBUSY. (point) */
COYOTE_IMPORT("mutex_try_lock")
uint32_t coyote_raw_mutex_try_lock(uint32_t mutex);

/* Unlocks the mutex. One that the caller does not hold: EPERM if it is recursive or
 * error-checking, else a bug of the guest. (point) */
COYOTE_IMPORT("mutex_unlock")
uint32_t coyote_raw_mutex_unlock(uint32_t mutex);

/* Makes the rwlock at this address a free one, as one is that was never initialised.
 * (point) */
COYOTE_IMPORT("rwlock_init")
uint32_t coyote_raw_rwlock_init(uint32_t rwlock);

/* Forgets the rwlock; a bug of the guest if somebody holds it or waits for it. (point) */
COYOTE_IMPORT("rwlock_destroy")
uint32_t coyote_raw_rwlock_destroy(uint32_t rwlock);

/* Locks the rwlock together with other readers, several times if need be; EDEADLK if
 * the caller has it for writing. (point) */
COYOTE_IMPORT("rwlock_read")
uint32_t coyote_raw_rwlock_read(uint32_t rwlock, int64_t timeout_ns);

/* As rwlock_read if nobody has it for writing, else EBUSY. (point) */
COYOTE_IMPORT("rwlock_try_read")
uint32_t coyote_raw_rwlock_try_read(uint32_t rwlock);

/* Locks the rwlock for the caller alone; EDEADLK if the caller has it already, also for
 * reading. (point) */
COYOTE_IMPORT("rwlock_write")
uint32_t coyote_raw_rwlock_write(uint32_t rwlock, int64_t timeout_ns);

/* As rwlock_write if nobody has it, else EBUSY. (point) */
COYOTE_IMPORT("rwlock_try_write")
uint32_t coyote_raw_rwlock_try_write(uint32_t rwlock);

/* Gives back what the caller has of the rwlock, one read lock at a time; a bug of the
 * guest if that is nothing. (point) */
COYOTE_IMPORT("rwlock_unlock")
uint32_t coyote_raw_rwlock_unlock(uint32_t rwlock);

/* Gives the semaphore at this address a value, at most 2^31 - 1, else EINVAL. One that
 * was never initialised has 0. (point) */
COYOTE_IMPORT("semaphore_init")
uint32_t coyote_raw_semaphore_init(uint32_t semaphore, uint32_t value);

/* Forgets the semaphore; a bug of the guest if somebody waits for it. (point) */
COYOTE_IMPORT("semaphore_destroy")
uint32_t coyote_raw_semaphore_destroy(uint32_t semaphore);

/* Blocks while the value is 0, and takes 1 from it. (point) */
COYOTE_IMPORT("semaphore_wait")
uint32_t coyote_raw_semaphore_wait(uint32_t semaphore, int64_t timeout_ns);

/* Takes 1 from the value, EAGAIN if it is 0. (point) */
COYOTE_IMPORT("semaphore_try_wait")
uint32_t coyote_raw_semaphore_try_wait(uint32_t semaphore);

/* Adds 1 to the value, EOVERFLOW if it is 2^31 - 1. (point) */
COYOTE_IMPORT("semaphore_post")
uint32_t coyote_raw_semaphore_post(uint32_t semaphore);

/* The value, which is no error number. (point) */
COYOTE_IMPORT("semaphore_value")
uint32_t coyote_raw_semaphore_value(uint32_t semaphore);

/* Makes the barrier at this address one for so many workers; EINVAL for 0. (point) */
COYOTE_IMPORT("barrier_init")
uint32_t coyote_raw_barrier_init(uint32_t barrier, uint32_t count);

/* Forgets the barrier; a bug of the guest if somebody waits at it. (point) */
COYOTE_IMPORT("barrier_destroy")
uint32_t coyote_raw_barrier_destroy(uint32_t barrier);

/* Blocks until as many workers have arrived as the barrier is for, then lets them all
 * go. Returns -1 to the last that arrived, else 0; a bug of the guest if the barrier
 * was not initialised. (point) */
COYOTE_IMPORT("barrier_wait")
uint32_t coyote_raw_barrier_wait(uint32_t barrier);

/* Makes the condvar at this address one without waiters, as one is that was never
 * initialised. (point) */
COYOTE_IMPORT("condvar_init")
uint32_t coyote_raw_condvar_init(uint32_t condvar);

/* Forgets the condvar; a bug of the guest if somebody waits for it. (point) */
COYOTE_IMPORT("condvar_destroy")
uint32_t coyote_raw_condvar_destroy(uint32_t condvar);

/* Unlocks the mutex, waits for a notification and locks the mutex again, also if the
 * time is up. One that the caller does not hold is treated as by mutex_unlock. (point) */
COYOTE_IMPORT("condvar_wait")
uint32_t coyote_raw_condvar_wait(uint32_t condvar, uint32_t mutex, int64_t timeout_ns);

/* Wakes one waiter, if any; which one is a choice. (point) */
COYOTE_IMPORT("condvar_signal")
void coyote_raw_condvar_signal(uint32_t condvar);

/* Wakes all waiters. (point) */
COYOTE_IMPORT("condvar_broadcast")
void coyote_raw_condvar_broadcast(uint32_t condvar);

/* memory.atomic.wait32 on any memory: returns 0 when woken, 1 if the value differed, 2
 * on timeout. (point) */
COYOTE_IMPORT("futex_wait")
uint32_t coyote_raw_futex_wait(uint32_t address, uint32_t expected, int64_t timeout_ns);

/* memory.atomic.wait64: as futex_wait on eight bytes. (point) */
COYOTE_IMPORT("futex_wait64")
uint32_t coyote_raw_futex_wait64(uint32_t address, int64_t expected, int64_t timeout_ns);

/* memory.atomic.notify: wakes at most `count` waiters and returns how many. (point) */
COYOTE_IMPORT("futex_notify")
uint32_t coyote_raw_futex_notify(uint32_t address, uint32_t count);

/* A value, 0 or 1, that the tool chooses. (point) */
COYOTE_IMPORT("choose_bool")
uint32_t coyote_raw_choose_bool(void);

/* A value from 0 up to, but not including, the unsigned `bound`, that the tool chooses.
 * (point) */
COYOTE_IMPORT("choose_int")
uint32_t coyote_raw_choose_int(uint32_t bound);

/* If the condition is 0, the calling worker goes no further, and an execution in which
 * that happens has no verdict unless it has a bug elsewhere. Else it is no scheduling
 * point. (point) */
COYOTE_IMPORT("assume")
void coyote_raw_assume(uint32_t condition);

/* Tells an explorer that knows this program what it cannot see; others ignore it. */
COYOTE_IMPORT("hint")
void coyote_raw_hint(int64_t value);

/* Reports a failed assertion with a UTF-8 text. Does not return. */
COYOTE_IMPORT("fail")
void coyote_raw_fail(uint32_t text, uint32_t length);

/* Says that the program needs what the tool cannot do, by a UTF-8 name such as
 * pthread_cancel. Ends the run without a verdict. Does not return. */
COYOTE_IMPORT("unsupported")
void coyote_raw_unsupported(uint32_t text, uint32_t length);

/* Calls table entry `entry` by its own type, which may leave out the argument and the
 * result. A result that is missing is 0. */
COYOTE_IMPORT("call_entry")
uint32_t coyote_raw_call_entry(uint32_t entry, uint32_t argument);

/* Writes a UTF-8 line to the log of the iteration. */
COYOTE_IMPORT("log")
void coyote_raw_log(uint32_t text, uint32_t length);

/* ---- Tests ---- */

/* Defines a test, exported as `coyote.test.<name>`:  COYOTE_TEST(two_deposits) { ... }
 * Each iteration starts from the same memory, so statics need no reset. */
#define COYOTE_TEST(name)                                                              \
  COYOTE_EXPORT("coyote.test." #name) void coyote_test_##name(void);                  \
  void coyote_test_##name(void)

/* Defines what runs once before the snapshot that all iterations start from:  COYOTE_SETUP { ... } */
#define COYOTE_SETUP                                                                   \
  COYOTE_EXPORT("coyote.setup") void coyote_setup(void);                                    \
  void coyote_setup(void)

#define COYOTE_EXPORT(name) __attribute__((export_name(name), used))

/* ---- Texts: zero-terminated, UTF-8 ---- */

/* Not strlen: there may be no libc. */
static inline uint32_t coyote_text_length(const char *text) {
  uint32_t length = 0;
  while (text[length]) {
    length++;
  }
  return length;
}

static inline uint32_t coyote_address(const volatile void *object) {
  return (uint32_t)(uintptr_t)object;
}

/* Writes a line to the log of the iteration. */
static inline void coyote_log(const char *text) {
  coyote_raw_log(coyote_address(text), coyote_text_length(text));
}

/* Reports a failed assertion, with a text of so many bytes, and ends the iteration. */
__attribute__((noreturn)) static inline void coyote_fail_sized(const char *text, uint32_t length) {
  coyote_raw_fail(coyote_address(text), length);
  __builtin_unreachable();
}

/* Reports a failed assertion and ends the iteration. */
__attribute__((noreturn)) static inline void coyote_fail(const char *text) {
  coyote_fail_sized(text, coyote_text_length(text));
}

/* The calling worker goes no further if `condition` is false, and the iteration has no verdict unless
 * another worker has a bug. */
static inline void coyote_assume(int condition) {
  coyote_raw_assume(condition != 0);
}

/* Tells an explorer that was written for this program what it cannot see, such as that the start-up is
 * over. What a value means is between the two; other strategies ignore it. */
static inline void coyote_hint(int64_t value) {
  coyote_raw_hint(value);
}

#define COYOTE_STRING_(token) #token
#define COYOTE_STRING(token) COYOTE_STRING_(token)

/* Fails with a string literal, whose length needs no look at memory. */
#define COYOTE_FAIL_LITERAL(text) coyote_fail_sized(text, sizeof(text) - 1)

/* Fails unless the condition holds, naming file and line. */
#define COYOTE_ASSERT(condition)                                                       \
  ((condition) ? (void)0                                                               \
               : COYOTE_FAIL_LITERAL(__FILE_NAME__ ":" COYOTE_STRING(__LINE__)         \
                                     ": assertion failed: " #condition))

/* The same with a message, a string literal. */
#define COYOTE_ASSERT_MESSAGE(condition, message)                                      \
  ((condition) ? (void)0                                                               \
               : COYOTE_FAIL_LITERAL(__FILE_NAME__ ":" COYOTE_STRING(__LINE__) ": "    \
                                     message " (assertion failed: " #condition ")"))

/* ---- Values that the tool chooses; stored in the trace, explored like schedules ---- */

/* 0 or 1. */
static inline int coyote_choose_bool(void) {
  return (int)coyote_raw_choose_bool();
}

/* A value from 0 up to, but not including, `bound`. */
static inline uint32_t coyote_choose_int(uint32_t bound) {
  return coyote_raw_choose_int(bound);
}

/* A value from `low` to `high`, both included. All of int32_t at once is one value too many. */
static inline int32_t coyote_choose_between(int32_t low, int32_t high) {
  if (low > high || (low == INT32_MIN && high == INT32_MAX)) {
    coyote_fail("coyote_choose_between: the range is empty or has 2^32 values");
  }
  return (int32_t)((uint32_t)low + coyote_raw_choose_int((uint32_t)high - (uint32_t)low + 1));
}

/* ---- Workers ---- */

/* Size of a worker's stack in bytes. */
#define COYOTE_STACK_BYTES 65536u

typedef struct {
  uint32_t worker; /* the tool's handle */
  void *stack;     /* freed by coyote_thread_join */
} coyote_thread;

/* Starts a worker with a stack of so many bytes. Returns 0, or -1 if there is no memory for it. */
static inline int coyote_thread_create_sized(coyote_thread *thread, void (*entry)(void *),
                                             void *argument, uint32_t stack_bytes) {
  stack_bytes = (stack_bytes + 15u) & ~15u;
  thread->worker = 0; /* joining after a failure is a deadlock, not undefined */
  thread->stack = COYOTE_STACK_ALLOC(stack_bytes);
  if (!thread->stack) {
    return -1;
  }
  uint32_t low = coyote_address(thread->stack);
  /* A function's address is its index in the table. */
  thread->worker =
      coyote_raw_spawn((uint32_t)(uintptr_t)entry, coyote_address(argument), low, low + stack_bytes);
  return 0;
}

/* Starts a worker. Returns 0, or -1 if there is no memory for its stack. */
static inline int coyote_thread_create(coyote_thread *thread, void (*entry)(void *),
                                       void *argument) {
  return coyote_thread_create_sized(thread, entry, argument, COYOTE_STACK_BYTES);
}

/* Blocks until the worker has ended, and frees its stack. */
static inline void coyote_thread_join(coyote_thread *thread) {
  coyote_raw_join(thread->worker);
  COYOTE_STACK_FREE(thread->stack);
  thread->stack = NULL;
}

/* Declares that nobody will join the worker. Its stack is leaked: it cannot free what it runs on. */
static inline void coyote_thread_detach(coyote_thread *thread) {
  coyote_raw_detach(thread->worker);
}

/* The worker's name in reports. */
static inline void coyote_thread_set_name(coyote_thread *thread, const char *name) {
  coyote_raw_set_name(thread->worker, coyote_address(name), coyote_text_length(name));
}

/* The calling worker's handle; 0 is the worker that the test started in. */
static inline uint32_t coyote_thread_current(void) {
  return coyote_raw_current();
}

/* Ends the calling worker. */
__attribute__((noreturn)) static inline void coyote_thread_exit(void) {
  coyote_raw_exit();
  __builtin_unreachable();
}

/* Lets other workers run. */
static inline void coyote_yield(void) {
  coyote_raw_yield();
}

/* Blocks for a span of virtual time. */
static inline void coyote_sleep_ns(uint64_t nanoseconds) {
  coyote_raw_sleep(nanoseconds > INT64_MAX ? INT64_MAX : (int64_t)nanoseconds);
}

/* Virtual time since the start of the test, in nanoseconds. */
static inline uint64_t coyote_now_ns(void) {
  return (uint64_t)coyote_raw_now();
}

/* ---- Locks. The tool knows an object by its address: do not copy one, nor move or free it while
 * somebody holds it or waits for it. Nothing is stored in it, and there is nothing to destroy. ---- */

typedef struct {
  char place;
} coyote_mutex;

typedef struct {
  char place;
} coyote_condvar;

#define COYOTE_MUTEX_INIT {0}
#define COYOTE_CONDVAR_INIT {0}

/* Blocks until the lock is free and takes it. Locking it twice is a deadlock. */
static inline void coyote_mutex_lock(coyote_mutex *mutex) {
  coyote_raw_mutex_lock(coyote_address(mutex), -1);
}

/* Takes the lock if it is free. Returns 1 if it did. */
static inline int coyote_mutex_try_lock(coyote_mutex *mutex) {
  return coyote_raw_mutex_try_lock(coyote_address(mutex)) == 0;
}

/* Releases the lock. Releasing what the caller does not hold is reported as a bug. */
static inline void coyote_mutex_unlock(coyote_mutex *mutex) {
  coyote_raw_mutex_unlock(coyote_address(mutex));
}

/* Releases the lock, waits for a notification and takes the lock again: wait in a loop. */
static inline void coyote_condvar_wait(coyote_condvar *condvar, coyote_mutex *mutex) {
  coyote_raw_condvar_wait(coyote_address(condvar), coyote_address(mutex), -1);
}

/* The same for a span of virtual time at most. Returns 1 if the time was up first. */
static inline int coyote_condvar_wait_timeout(coyote_condvar *condvar, coyote_mutex *mutex,
                                              uint64_t nanoseconds) {
  return coyote_raw_condvar_wait(coyote_address(condvar), coyote_address(mutex),
                                 nanoseconds > INT64_MAX ? INT64_MAX : (int64_t)nanoseconds) != 0;
}

/* Wakes one waiter, if any. Which one is a choice of the tool's. */
static inline void coyote_condvar_signal(coyote_condvar *condvar) {
  coyote_raw_condvar_signal(coyote_address(condvar));
}

/* Wakes all waiters. */
static inline void coyote_condvar_broadcast(coyote_condvar *condvar) {
  coyote_raw_condvar_broadcast(coyote_address(condvar));
}

#ifdef __cplusplus
}
#endif

#endif
