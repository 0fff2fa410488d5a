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
 *     clang --target=wasm32-wasi -matomics -mbulk-memory -g -O1 -mexec-model=reactor -I guest-sdk/c/include \
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

#include <coyote_raw.h>
#include <stddef.h>

#ifndef COYOTE_STACK_ALLOC
#include <stdlib.h>
/* malloc aligns to 16 bytes on wasm32. */
#define COYOTE_STACK_ALLOC(bytes) malloc(bytes)
#define COYOTE_STACK_FREE(pointer) free(pointer)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Tests ---- */

/* Defines a test, exported as `coyote.test.<name>`:  COYOTE_TEST(two_deposits) { ... }
 * Each iteration starts from the same memory, so statics need no reset. */
#define COYOTE_TEST(name)                                                              \
  COYOTE_EXPORT("coyote.test." #name) void coyote_test_##name(void);                  \
  void coyote_test_##name(void)

/* Defines the setup, which runs once before the start snapshot of all iterations:  COYOTE_SETUP { ... } */
#define COYOTE_SETUP                                                                   \
  COYOTE_EXPORT("coyote.setup") void coyote_setup(void);                                    \
  void coyote_setup(void)

/* Defines the recovery, which runs after a crash (--faults crash) instead of the test, on the files that survived:
 * COYOTE_RECOVER { ... } Without one, a program with main is started again: docs/crashes.md. */
#define COYOTE_RECOVER                                                                 \
  COYOTE_EXPORT("coyote.recover") void coyote_recover(void);                                \
  void coyote_recover(void)

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

/* Reports a failed assertion, with a text of `length` bytes, and ends the iteration. */
__attribute__((noreturn)) static inline void coyote_fail_sized(const char *text, uint32_t length) {
  coyote_raw_fail(coyote_address(text), length);
  __builtin_unreachable();
}

/* Reports that the program uses a worker, or the object at an address, against its rules, and ends the iteration. */
__attribute__((noreturn)) static inline void coyote_misuse(const volatile void *object, const char *text) {
  coyote_raw_misuse(coyote_address(object), coyote_address(text), coyote_text_length(text));
  __builtin_unreachable();
}

/* Reports a failed assertion and ends the iteration. */
__attribute__((noreturn)) static inline void coyote_fail(const char *text) {
  coyote_fail_sized(text, coyote_text_length(text));
}

/* Discards executions in which `condition` is false: the calling worker is not executed any further, and
 * the iteration has no verdict unless another worker has a bug. */
static inline void coyote_assume(int condition) {
  coyote_raw_assume(condition != 0);
}

/* Says something of the program's state to strategies: q-learning and greedy tell states apart by the last hint of
 * each worker, so a hash of what matters, given whenever it changes, leads them to what was seldom seen. A strategy
 * that was written for this program can give hints any other meaning; all others ignore them. */
static inline void coyote_hint(int64_t value) {
  coyote_raw_hint(value);
}

/* Tells detectors of data races that what the calling worker has done so far happens before what follows a
 * coyote_happens_after of the same address: for synchronisation that they cannot see. The schedule does not
 * depend on it, and it is no scheduling point. */
static inline void coyote_happens_before(const volatile void *object) {
  coyote_raw_happens_before((uint32_t)(uintptr_t)object);
}

/* Tells them that what follows happens after all that came before coyote_happens_before of the same address. */
static inline void coyote_happens_after(const volatile void *object) {
  coyote_raw_happens_after((uint32_t)(uintptr_t)object);
}

#define COYOTE_STRING_(token) #token
#define COYOTE_STRING(token) COYOTE_STRING_(token)

/* Fails with a string literal, whose length is known without memory accesses. */
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

/* A value from `low` to `high`, both included. The range of all values of int32_t is not supported. */
static inline int32_t coyote_choose_between(int32_t low, int32_t high) {
  if (low > high || (low == INT32_MIN && high == INT32_MAX)) {
    coyote_fail("coyote_choose_between: the range is empty or has 2^32 values");
  }
  return (int32_t)((uint32_t)low + coyote_raw_choose_int((uint32_t)high - (uint32_t)low + 1));
}

/* ---- Fault points: places where the tool can inject a fault that is rare in practice. docs/faults.md ---- */

/* Chooses which of `ways` faults happens here, from 1 to `ways`; 0 if none does. Always 0 unless the user gives
 * fault points of this name a budget (--faults point=1, --faults point.disk=2). */
static inline uint32_t coyote_fault_choose(const char *name, uint32_t ways) {
  return coyote_raw_fault((uint32_t)(uintptr_t)name, UINT32_MAX, ways);
}

/* Whether a fault happens here. */
static inline int coyote_fault_point(const char *name) {
  return coyote_fault_choose(name, 1) != 0;
}

/* The same under names that say what the fault is: an operation fails, a message is lost or arrives twice, an
 * operation takes longer than its caller waits. */
static inline int coyote_fault_fail(const char *name) {
  return coyote_fault_point(name);
}
static inline int coyote_fault_drop(const char *name) {
  return coyote_fault_point(name);
}
static inline int coyote_fault_duplicate(const char *name) {
  return coyote_fault_point(name);
}
static inline int coyote_fault_timeout(const char *name) {
  return coyote_fault_point(name);
}

/* A value below `bound`: 0 unless a fault happens here, and 0 if `bound` is 0. */
static inline uint32_t coyote_fault_value(const char *name, uint32_t bound) {
  return bound > 1 ? coyote_fault_choose(name, bound - 1) : 0;
}

/* The index of the next of `count` waiting items: 0 unless a fault happens here. */
static inline uint32_t coyote_fault_reorder(const char *name, uint32_t count) {
  return coyote_fault_value(name, count);
}

/* Sleeps for a span of virtual time if a fault happens here. Returns whether it did. */
static inline int coyote_fault_delay(const char *name, int64_t nanoseconds) {
  int late = coyote_fault_point(name);
  if (late) {
    coyote_raw_sleep(nanoseconds);
  }
  return late;
}

/* Flips one bit if a fault happens here. Returns whether it did. */
static inline int coyote_fault_corrupt(const char *name, void *bytes, uint32_t length) {
  uint32_t bit = length < 0x10000000u ? coyote_fault_choose(name, length * 8) : 0;
  if (bit == 0) {
    return 0;
  }
  ((unsigned char *)bytes)[(bit - 1) / 8] ^= (unsigned char)(1u << ((bit - 1) % 8));
  return 1;
}

/* Disables faults of all classes for the rest of this execution: for the time in which a program is to
 * recover. */
static inline void coyote_fault_stop(void) {
  coyote_raw_fault_stop();
}

/* ---- Objects that several workers must not use at once, as most containers. docs/liveness.md ----
 * Initialise with zeros. If the uses (from begin to end) of two workers overlap and one of them writes, an assertion
 * fails. Uses of the worker that writes may nest. It is no lock: no worker waits for it, and it does not order accesses.
 * The end of a use that was not begun is a bug (`misuse`). */

typedef struct coyote_unsafe {
  int32_t users; /* the number of readers, or -1 - the handle of the worker that writes */
  uint32_t depth; /* nested uses of the worker that writes */
} coyote_unsafe;

static inline int32_t coyote_unsafe_writer(void) {
  return -1 - (int32_t)coyote_raw_current();
}

static inline void coyote_read_begin(coyote_unsafe *object) {
  int32_t users = __atomic_load_n(&object->users, __ATOMIC_RELAXED);
  if (users == coyote_unsafe_writer()) {
    object->depth++;
    return;
  }
  do {
    if (users < 0) {
      coyote_fail("an object that is not thread-safe is read while another worker writes it");
    }
  } while (!__atomic_compare_exchange_n(&object->users, &users, users + 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

static inline void coyote_write_begin(coyote_unsafe *object) {
  int32_t users = 0;
  int32_t own = coyote_unsafe_writer();
  if (__atomic_compare_exchange_n(&object->users, &users, own, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    return;
  }
  if (users == own) {
    object->depth++;
    return;
  }
  coyote_fail(users < 0 ? "an object that is not thread-safe is written by two workers at once"
                        : "an object that is not thread-safe is written while it is read");
}

static inline void coyote_write_end(coyote_unsafe *object) {
  if (object->depth) {
    object->depth--;
    return;
  }
  if (__atomic_exchange_n(&object->users, 0, __ATOMIC_RELAXED) != coyote_unsafe_writer()) {
    coyote_misuse(object, "the end of a write that the worker has not begun");
  }
}

static inline void coyote_read_end(coyote_unsafe *object) {
  int32_t users = __atomic_load_n(&object->users, __ATOMIC_RELAXED);
  if (users < 0) {
    coyote_write_end(object);
  } else if (users == 0) {
    coyote_misuse(object, "the end of a read that no worker has begun");
  } else {
    __atomic_fetch_sub(&object->users, 1, __ATOMIC_RELAXED);
  }
}

/* ---- Monitors: what must eventually happen. docs/liveness.md ----
 * It is a bug if a monitor is hot when the test ends, or for too many steps of a fair execution in which no fault can
 * happen any more. Cold at first; monitors with the same name and number are the same one. */

static inline void coyote_monitor_set(const char *name, uint32_t number, uint32_t heat) {
  coyote_raw_monitor(coyote_address(name), UINT32_MAX, number, heat);
}

/* Makes the monitor hot: it waits for something that must eventually happen. */
static inline void coyote_monitor_hot(const char *name) {
  coyote_monitor_set(name, 0, 2);
}
/* Makes the monitor warm, between hot and cold: its temperature (the steps that it was hot) does not change. */
static inline void coyote_monitor_warm(const char *name) {
  coyote_monitor_set(name, 0, 1);
}
/* Makes the monitor cold: what it waited for has happened. */
static inline void coyote_monitor_cold(const char *name) {
  coyote_monitor_set(name, 0, 0);
}

/* Makes a monitor with this text as its name hot, until coyote_happened with the same text. */
static inline void coyote_eventually(const char *what) {
  coyote_monitor_hot(what);
}
static inline void coyote_happened(const char *what) {
  coyote_monitor_cold(what);
}

/* ---- Workers ---- */

typedef struct {
  uint32_t worker; /* the tool's handle */
  void *stack;     /* freed by coyote_thread_join */
  int joinable;    /* whether it can be joined or detached */
} coyote_thread;

/* Starts a worker with a stack of `stack_bytes` bytes. Returns 0, or -1 if there is no memory for it. */
static inline int coyote_thread_create_sized(coyote_thread *thread, void (*entry)(void *),
                                             void *argument, uint32_t stack_bytes) {
  stack_bytes = (stack_bytes + 15u) & ~15u;
  thread->worker = 0;
  thread->stack = COYOTE_STACK_ALLOC(stack_bytes);
  thread->joinable = thread->stack != NULL;
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

/* A join or detach is a bug (`misuse`) after another one, and if the worker was not created. The report does not need the
 * object's address: it would keep the object in memory, and its uses would be scheduling points. */
static inline void coyote_thread_leave(coyote_thread *thread) {
  if (!thread->joinable) {
    coyote_misuse(NULL, "a coyote_thread is joined or detached that was joined or detached already, or not created");
  }
  thread->joinable = 0;
}

/* Blocks until the worker has ended, and frees its stack. */
static inline void coyote_thread_join(coyote_thread *thread) {
  coyote_thread_leave(thread);
  coyote_raw_join(thread->worker);
  COYOTE_STACK_FREE(thread->stack);
  thread->stack = NULL;
}

/* Detaches the worker: no worker will join it. Its stack is leaked, since a worker cannot free its own stack. */
static inline void coyote_thread_detach(coyote_thread *thread) {
  coyote_thread_leave(thread);
  coyote_raw_detach(thread->worker);
}

/* Sets the worker's name in reports. */
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

/* ---- Hand-made runtimes: docs/runtimes.md ---- */

/* A scheduling point, and nothing else. coyote_yield also asks that another worker runs, for loops that wait. */
static inline void coyote_interleave(void) {
  coyote_raw_interleave();
}

/* Scheduling points before state that is not in memory is read or changed: state with this number, which the program
 * chooses. Searches take them as accesses of it. */
static inline void coyote_point_read(uint32_t object) {
  coyote_raw_read_point(object);
}

static inline void coyote_point_write(uint32_t object) {
  coyote_raw_write_point(object);
}

/* Connects to the listening socket that the option --listen made at this descriptor, as a simulated peer. Returns the
 * descriptor of the connection, for read, write, send, recv, poll, shutdown and close; or a negative error number:
 * -ECONNREFUSED if the program has closed the listening socket. docs/wasi.md */
static inline int coyote_net_connect(int listener) {
  return (int)coyote_raw_net_connect((uint32_t)listener);
}

/* Blocks until `predicate(argument)` is not 0. An evaluation is one step. After one that was 0, the worker is blocked
 * until another worker has changed memory that the evaluation accessed, or has called coyote_point_write for an object
 * for which the evaluation called coyote_point_read. Where the predicate holds it may also change memory; else it must
 * leave everything as it was. */
static inline void coyote_wait_until(int (*predicate)(void *argument), void *argument) {
  int holds;
  do {
    coyote_raw_wait_until();
    holds = predicate(argument) != 0;
    coyote_raw_evaluated(holds);
  } while (!holds);
}

/* Begins a scope without scheduling points, which the matching coyote_resume ends. It begins with a scheduling point;
 * then other workers run only while this one is blocked or calls coyote_yield. Proofs state this as an assumption. */
static inline void coyote_suppress(void) {
  coyote_raw_interleave();
  coyote_raw_suppress();
}

static inline void coyote_resume(void) {
  coyote_raw_resume();
}

/* ---- Properties: what must always hold, and sometimes. docs/properties.md ---- */

/* Says that the condition should hold in at least one of the evaluations of all iterations. Where it never does, the
 * report says so. Equal names are the same condition. */
static inline void coyote_sometimes(int condition, const char *name) {
  coyote_raw_sometimes(coyote_address(name), UINT32_MAX, condition != 0);
}

/* An invariant that is watched from coyote_invariant_begin to coyote_invariant_end, or to the end of the test: until then
 * it and its argument must live. */
typedef struct {
  const char *name;
  int (*holds)(void *argument);
  void *argument;
  coyote_thread thread;
  char begun; /* a semaphore */
  int over;
} coyote_invariant;

__attribute__((noreturn)) static inline void coyote_invariant_fail(const char *name) {
  const char *texts[] = {"the invariant `", name, "` does not hold"};
  char text[256];
  uint32_t length = 0;
  for (int i = 0; i < 3; i++) {
    for (const char *c = texts[i]; *c && length < sizeof(text); c++) {
      text[length++] = *c;
    }
  }
  coyote_fail_sized(text, length);
}

static inline void coyote_invariant_watch(void *watched) {
  coyote_invariant *invariant = (coyote_invariant *)watched;
  int over, begun = 0;
  do {
    coyote_raw_watch();
    /* Up to the end of the evaluation, no other worker runs. */
    over = invariant->over;
    if (!over && !invariant->holds(invariant->argument)) {
      coyote_invariant_fail(invariant->name);
    }
    coyote_raw_evaluated(over);
    if (!begun) {
      begun = 1;
      coyote_raw_semaphore_post(coyote_address(&invariant->begun));
    }
  } while (!over);
}

/* Watches a condition: `holds(argument)` must not be 0 now, and after each step of each worker. It is evaluated by a worker
 * of its own while all others are suspended, after each step that changed memory which the last evaluation read. It must
 * only read memory. It needs no lock, and what it reads takes part in no data race; if it takes a lock, it is evaluated
 * as soon as the lock is free, and must not be begun or ended by the lock's holder. Returns 0, or -1 if there is no memory
 * for the worker. */
static inline int coyote_invariant_begin(coyote_invariant *invariant, const char *name,
                                         int (*holds)(void *argument), void *argument) {
  invariant->name = name;
  invariant->holds = holds;
  invariant->argument = argument;
  invariant->over = 0;
  if (coyote_thread_create(&invariant->thread, coyote_invariant_watch, invariant) != 0) {
    return -1;
  }
  coyote_thread_set_name(&invariant->thread, name);
  coyote_raw_semaphore_wait(coyote_address(&invariant->begun), -1);
  return 0;
}

/* No longer watches the condition. */
static inline void coyote_invariant_end(coyote_invariant *invariant) {
  invariant->over = 1;
  coyote_thread_join(&invariant->thread);
}

/* Blocks for a span of virtual time. */
static inline void coyote_sleep_ns(uint64_t nanoseconds) {
  coyote_raw_sleep(nanoseconds > INT64_MAX ? INT64_MAX : (int64_t)nanoseconds);
}

/* Virtual time since the start of the test, in nanoseconds. */
static inline uint64_t coyote_now_ns(void) {
  return (uint64_t)coyote_raw_now();
}

/* ---- Locks. The tool identifies an object by its address: do not copy it, and do not move or free it while
 * a worker holds it or waits for it. No state is stored in it: any memory is an object that is free, without an
 * initialiser, and nothing destroys it. A use of memory that was freed is an error of memory. ---- */

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

/* Releases the lock. Releasing what the caller does not hold is a bug (`misuse`). */
static inline void coyote_mutex_unlock(coyote_mutex *mutex) {
  coyote_raw_mutex_unlock(coyote_address(mutex));
}

/* Releases the lock, waits for a notification and takes the lock again: wait in a loop. It is a bug (`misuse`) if the
 * caller does not hold the lock, or if another worker waits for the condvar with another mutex. */
static inline void coyote_condvar_wait(coyote_condvar *condvar, coyote_mutex *mutex) {
  coyote_raw_condvar_wait(coyote_address(condvar), coyote_address(mutex), -1);
}

/* The same for a span of virtual time at most. Returns 1 after a timeout, else 0. */
static inline int coyote_condvar_wait_timeout(coyote_condvar *condvar, coyote_mutex *mutex,
                                              uint64_t nanoseconds) {
  return coyote_raw_condvar_wait(coyote_address(condvar), coyote_address(mutex),
                                 nanoseconds > INT64_MAX ? INT64_MAX : (int64_t)nanoseconds) != 0;
}

/* Wakes one waiter, if any. Which one is a choice of the tool. */
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
