/* Made from coyote_raw.h.in by `cargo xtask codegen`: change that file. */
/* coyote_raw.h: the functions that the tool provides, on which coyote.h, pthread.h and the others are built.
 * Addresses are numbers here. Functions marked "point" are scheduling points. Error numbers are those of WASI
 * and of errno.h.
 *
 * Sync objects are identified by their addresses. Nothing is written there, and memory that was one object may become
 * another: so use of an object that was destroyed or never initialised is that of a new one, and no bug (of a barrier, which
 * has no count then, it is). A worker may be joined by several workers. */
#ifndef COYOTE_RAW_H
#define COYOTE_RAW_H

#ifndef __wasm__
#error "this header is for guests of coyote-wasm: build with coyote-cc, or clang --target=wasm32-wasi"
#endif
#ifndef __wasm_atomics__
#error "build with coyote-cc, or -matomics -mbulk-memory: without it, atomic operations are not atomic"
#endif

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Default size of a worker's stack in bytes. */
#define COYOTE_STACK_BYTES 65536u

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

/* Detaches the worker: no worker will join it. */
COYOTE_IMPORT("detach")
void coyote_raw_detach(uint32_t worker);

/* Returns the calling worker's handle; 0 is the worker that the test started in. */
COYOTE_IMPORT("current")
uint32_t coyote_raw_current(void);

/* Names a worker in reports; the text is UTF-8. */
COYOTE_IMPORT("set_name")
void coyote_raw_set_name(uint32_t worker, uint32_t text, uint32_t length);

/* Tells reports what the calling worker awaits when it blocks in a semaphore_wait on
 * `semaphore`, and that it waits at the place of this call: an object, given by a UTF-8
 * text, the file and the line of its creation, and its address. An empty text means
 * that it is unknown. If `more` is 0, this replaces earlier calls. */
COYOTE_IMPORT("awaits")
void coyote_raw_awaits(uint32_t semaphore, uint32_t what, uint32_t length, uint32_t file, uint32_t file_length, uint32_t line, uint32_t object, uint32_t more);

/* From here on, the calling worker and those that it creates are a node that can crash,
 * with this UTF-8 name. A crash ends them where they are, and posts the semaphore,
 * which stands for the node. With `semaphore` 0, the workers of the calling worker's
 * node belong to none any more. */
COYOTE_IMPORT("node")
void coyote_raw_node(uint32_t semaphore, uint32_t name, uint32_t length);

/* Lets other workers run. (point) */
COYOTE_IMPORT("yield")
void coyote_raw_yield(void);

/* A scheduling point, and nothing else. Unlike yield, it does not ask that another
 * worker runs next. (point) */
COYOTE_IMPORT("interleave")
void coyote_raw_interleave(void);

/* What follows, up to the next scheduling point, reads state outside of memory that has
 * this number. (point) */
COYOTE_IMPORT("read_point")
void coyote_raw_read_point(uint32_t object);

/* What follows, up to the next scheduling point, changes state outside of memory that
 * has this number. (point) */
COYOTE_IMPORT("write_point")
void coyote_raw_write_point(uint32_t object);

/* Begins to evaluate a predicate, as an atomic section that evaluated ends. If the
 * caller's last evaluation was false, first blocks until another worker has changed
 * memory that it accessed, or has executed a write_point of the object of one of its
 * read_points. (point) */
COYOTE_IMPORT("wait_until")
void coyote_raw_wait_until(void);

/* As wait_until, for a worker that does nothing else than to watch an invariant:
 * strategies that draw schedules let it evaluate as soon as it can, it takes part in no
 * data race and no deadlock, and nobody waits for its end. (point) */
COYOTE_IMPORT("watch")
void coyote_raw_watch(void);

/* Ends the evaluation that wait_until began: 0 if the predicate does not hold. The
 * caller must then call wait_until again. */
COYOTE_IMPORT("evaluated")
void coyote_raw_evaluated(uint32_t holds);

/* Blocks for a span of virtual time. (point) */
COYOTE_IMPORT("sleep")
void coyote_raw_sleep(int64_t nanoseconds);

/* Returns the virtual time since the start of the test in nanoseconds. (point) */
COYOTE_IMPORT("now")
int64_t coyote_raw_now(void);

/* Initialises the mutex at this address with a kind: 0 normal, 1 recursive, 2
 * error-checking; any other is EINVAL. A mutex that was never initialised is normal.
 * (point) */
COYOTE_IMPORT("mutex_init")
uint32_t coyote_raw_mutex_init(uint32_t mutex, uint32_t kind);

/* Destroys the mutex; a bug of the guest if a worker holds it or waits for it. (point) */
COYOTE_IMPORT("mutex_destroy")
uint32_t coyote_raw_mutex_destroy(uint32_t mutex);

/* Destroys the mutex, also one that a worker holds (C11); a bug of the guest if a
 * worker waits for it. (point) */
COYOTE_IMPORT("mutex_discard")
uint32_t coyote_raw_mutex_discard(uint32_t mutex);

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

/* Initialises the rwlock at this address as free. One that was never initialised is
 * free. (point) */
COYOTE_IMPORT("rwlock_init")
uint32_t coyote_raw_rwlock_init(uint32_t rwlock);

/* Destroys the rwlock; a bug of the guest if a worker holds it or waits for it. (point) */
COYOTE_IMPORT("rwlock_destroy")
uint32_t coyote_raw_rwlock_destroy(uint32_t rwlock);

/* Locks the rwlock for reading; a worker may hold several read locks of it. EDEADLK if
 * the caller holds it for writing. (point) */
COYOTE_IMPORT("rwlock_read")
uint32_t coyote_raw_rwlock_read(uint32_t rwlock, int64_t timeout_ns);

/* As rwlock_read if no worker holds it for writing, else EBUSY. (point) */
COYOTE_IMPORT("rwlock_try_read")
uint32_t coyote_raw_rwlock_try_read(uint32_t rwlock);

/* Locks the rwlock for writing; EDEADLK if the caller holds it for writing already. One
 * that holds it for reading waits for itself. (point) */
COYOTE_IMPORT("rwlock_write")
uint32_t coyote_raw_rwlock_write(uint32_t rwlock, int64_t timeout_ns);

/* As rwlock_write if no worker holds it, else EBUSY. (point) */
COYOTE_IMPORT("rwlock_try_write")
uint32_t coyote_raw_rwlock_try_write(uint32_t rwlock);

/* Releases the caller's write lock, or one of its read locks; a bug of the guest if the
 * caller does not hold the rwlock. (point) */
COYOTE_IMPORT("rwlock_unlock")
uint32_t coyote_raw_rwlock_unlock(uint32_t rwlock);

/* Gives the semaphore at this address a value, at most 2^31 - 1, else EINVAL. One that
 * was never initialised has 0. (point) */
COYOTE_IMPORT("semaphore_init")
uint32_t coyote_raw_semaphore_init(uint32_t semaphore, uint32_t value);

/* Destroys the semaphore; a bug of the guest if a worker waits for it. (point) */
COYOTE_IMPORT("semaphore_destroy")
uint32_t coyote_raw_semaphore_destroy(uint32_t semaphore);

/* Blocks while the value is 0, and takes 1 from it. (point) */
COYOTE_IMPORT("semaphore_wait")
uint32_t coyote_raw_semaphore_wait(uint32_t semaphore, int64_t timeout_ns);

/* Takes 1 from the value; EAGAIN if it is 0. (point) */
COYOTE_IMPORT("semaphore_try_wait")
uint32_t coyote_raw_semaphore_try_wait(uint32_t semaphore);

/* Adds 1 to the value; EOVERFLOW if it is 2^31 - 1. (point) */
COYOTE_IMPORT("semaphore_post")
uint32_t coyote_raw_semaphore_post(uint32_t semaphore);

/* Returns the value, not an error number. (point) */
COYOTE_IMPORT("semaphore_value")
uint32_t coyote_raw_semaphore_value(uint32_t semaphore);

/* Initialises the barrier at this address for `count` workers; EINVAL for 0. (point) */
COYOTE_IMPORT("barrier_init")
uint32_t coyote_raw_barrier_init(uint32_t barrier, uint32_t count);

/* Destroys the barrier; a bug of the guest if a worker waits at it. (point) */
COYOTE_IMPORT("barrier_destroy")
uint32_t coyote_raw_barrier_destroy(uint32_t barrier);

/* Blocks until as many workers have arrived as the barrier is for, then wakes them all.
 * Returns -1 to the last one that arrived, else 0; a bug of the guest if the barrier
 * was not initialised. (point) */
COYOTE_IMPORT("barrier_wait")
uint32_t coyote_raw_barrier_wait(uint32_t barrier);

/* Initialises the condvar at this address. One that was never initialised has no
 * waiters. (point) */
COYOTE_IMPORT("condvar_init")
uint32_t coyote_raw_condvar_init(uint32_t condvar);

/* Destroys the condvar; a bug of the guest if a worker waits for it. (point) */
COYOTE_IMPORT("condvar_destroy")
uint32_t coyote_raw_condvar_destroy(uint32_t condvar);

/* Unlocks the mutex, waits for a notification and locks the mutex again, also after a
 * timeout. A mutex that the caller does not hold is treated as by mutex_unlock. (point) */
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

/* Returns 0 or 1, chosen by the tool. (point) */
COYOTE_IMPORT("choose_bool")
uint32_t coyote_raw_choose_bool(void);

/* Returns a value, chosen by the tool, from 0 up to, but not including, the unsigned
 * `bound`. (point) */
COYOTE_IMPORT("choose_int")
uint32_t coyote_raw_choose_int(uint32_t bound);

/* A fault point with this UTF-8 name, zero-terminated if `length` is 2^32 - 1. Returns
 * 0 if no fault happens here, else which one, from 1 to `ways`. Always 0, and no
 * scheduling point, unless the user gave points of this name a budget. (point) */
COYOTE_IMPORT("fault")
uint32_t coyote_raw_fault(uint32_t name, uint32_t length, uint32_t ways);

/* Disables faults of all classes for the rest of this execution. No scheduling point if
 * no class was given a budget. (point) */
COYOTE_IMPORT("fault_stop")
void coyote_raw_fault_stop(void);

/* Sets the monitor with this UTF-8 name, zero-terminated if `length` is 2^32 - 1, and
 * this number: 0 cold, as it is at first; 1 warm; 2 hot, which a monitor must not stay
 * for ever. No scheduling point. */
COYOTE_IMPORT("monitor")
void coyote_raw_monitor(uint32_t name, uint32_t length, uint32_t number, uint32_t heat);

/* Counts an evaluation of the condition with this UTF-8 name, zero-terminated if
 * `length` is 2^32 - 1: whether it held. A report names conditions that never held. No
 * scheduling point. */
COYOTE_IMPORT("sometimes")
void coyote_raw_sometimes(uint32_t name, uint32_t length, uint32_t holds);

/* If the condition is 0, the calling worker is not executed any further, and the
 * execution has no verdict unless another worker has a bug. Otherwise no scheduling
 * point. (point) */
COYOTE_IMPORT("assume")
void coyote_raw_assume(uint32_t condition);

/* Informs a strategy that was written for this program. For strategies that learn, the
 * last hint of each worker is part of the state; others ignore it. */
COYOTE_IMPORT("hint")
void coyote_raw_hint(int64_t value);

/* For detectors of data races: what the calling worker has done so far happens before
 * what follows `happens_after` of the same address. Describes synchronisation that they
 * cannot see. No scheduling point. */
COYOTE_IMPORT("happens_before")
void coyote_raw_happens_before(uint32_t object);

/* What follows happens after all that preceded `happens_before` of the same address. No
 * scheduling point. */
COYOTE_IMPORT("happens_after")
void coyote_raw_happens_after(uint32_t object);

/* Reports a failed assertion with a UTF-8 text. Does not return. */
COYOTE_IMPORT("fail")
void coyote_raw_fail(uint32_t text, uint32_t length);

/* Reports with a UTF-8 text that a sync object or a worker is used against its rules.
 * `object` is the address of the object, or 0 if the text names it. Does not return. */
COYOTE_IMPORT("misuse")
void coyote_raw_misuse(uint32_t object, uint32_t text, uint32_t length);

/* Reports a feature that the tool does not support, by a UTF-8 name such as
 * pthread_cancel. Ends the run without a verdict. Does not return. */
COYOTE_IMPORT("unsupported")
void coyote_raw_unsupported(uint32_t text, uint32_t length);

/* Sets the kind, as in mutex_init, of a mutex that a static initialiser made. An
 * earlier mutex at the same address is forgotten if no worker waits for it. */
COYOTE_IMPORT("mutex_kind")
void coyote_raw_mutex_kind(uint32_t mutex, uint32_t kind);

/* Gives each worker a separate value of the four bytes at this address, 0 at first: for
 * the errno of a C library that was built without threads. Accesses of these bytes are
 * no scheduling points. */
COYOTE_IMPORT("own_word")
void coyote_raw_own_word(uint32_t address);

/* Begins an atomic section: until the matching atomic_end, other workers run only while
 * this one is blocked. No scheduling point: a fence before it is one. */
COYOTE_IMPORT("atomic_begin")
void coyote_raw_atomic_begin(void);

/* Ends an atomic section. */
COYOTE_IMPORT("atomic_end")
void coyote_raw_atomic_end(void);

/* As atomic_begin, for a scope that the program says has no scheduling points: proofs
 * state it as an assumption. */
COYOTE_IMPORT("suppress")
void coyote_raw_suppress(void);

/* Ends the scope of the matching suppress; a bug of the guest without one. */
COYOTE_IMPORT("resume")
void coyote_raw_resume(void);

/* Calls table entry `entry`, a program's main, by its own type, which may lack the last
 * arguments and the result. A missing result is 0. */
COYOTE_IMPORT("call_main")
uint32_t coyote_raw_call_main(uint32_t entry, uint32_t count, uint32_t arguments, uint32_t environment);

/* Calls table entry `entry` by its own type, which may lack the argument and the
 * result. A missing result is 0. */
COYOTE_IMPORT("call_entry")
uint32_t coyote_raw_call_entry(uint32_t entry, uint32_t argument);

/* The memory order of the next atomic operation of the calling function, as in C: 0
 * relaxed, 1 consume, 2 acquire, 3 release, 4 acq_rel, 5 seq_cst; plus 16 times that of
 * a failed compare-exchange, or plus 112 if it follows from this order. The
 * instrumenter removes the call. See coyote_order.h. */
COYOTE_IMPORT("order")
void coyote_raw_order(uint32_t orders);

/* Connects to the listening socket of the option `--listen` with this number, as a
 * simulated peer. Returns the descriptor of a WASI socket, or a negative error number
 * of WASI: ECONNREFUSED after the program closed the listening socket. (point) */
COYOTE_IMPORT("net_connect")
uint32_t coyote_raw_net_connect(uint32_t listener);

/* Writes a UTF-8 line to the log of the iteration. */
COYOTE_IMPORT("log")
void coyote_raw_log(uint32_t text, uint32_t length);

#ifdef __cplusplus
}
#endif

#endif
