// Misuse of the objects of coyote.h: each with a use that is like it and right, in `misuse_coyote_correct.c`.
// flags: -g -O1
// run: --test stranger
// exit: 2
// line: bug in test stranger: misuse: unlock of the mutex
// run: --test unlocked
// exit: 2
// line: bug in test unlocked: misuse: unlock of the mutex
// run: --test twice
// exit: 2
// line: bug in test twice: misuse: a coyote_thread is joined or detached that was joined or detached already
// run: --test by_two
// exit: 2
// line: bug in test by_two: misuse: a coyote_thread is joined or detached that was joined or detached already
// run: --test detach_after_join
// exit: 2
// line: bug in test detach_after_join: misuse: a coyote_thread is joined or detached
// run: --test join_after_detach
// exit: 2
// line: bug in test join_after_detach: misuse: a coyote_thread is joined or detached
// run: --test detach_twice
// exit: 2
// line: bug in test detach_twice: misuse: a coyote_thread is joined or detached
// run: --test not_created
// exit: 2
// line: bug in test not_created: misuse: a coyote_thread is joined or detached
// run: --test not_locked
// exit: 2
// line: bug in test not_locked: misuse: wait with the mutex
// run: --test two_mutexes
// exit: 2
// line: bug in test two_mutexes: misuse: wait with the mutex
// run: --test freed
// exit: 2
// line: bug in test freed: use-after-free
// run: --test read_end
// exit: 2
// line: bug in test read_end: misuse: the end of a read that no worker has begun
// run: --test write_end
// exit: 2
// line: bug in test write_end: misuse: the end of a write that the worker has not begun
// run: --test write_end_of_reader
// exit: 2
// line: bug in test write_end_of_reader: misuse: the end of a write that the worker has not begun
// run: --test told
// exit: 2
// line: bug in test told: misuse: a queue is closed twice (at 0x
#include <coyote.h>

static coyote_mutex lock = COYOTE_MUTEX_INIT, other = COYOTE_MUTEX_INIT;
static coyote_condvar condvar = COYOTE_CONDVAR_INIT;
static coyote_thread shared;

static void nothing(void *unused) {
  (void)unused;
}

static void unlocks(void *unused) {
  (void)unused;
  coyote_mutex_unlock(&lock);
}

static void joins(void *unused) {
  (void)unused;
  coyote_thread_join(&shared);
}

static void waits(void *with) {
  coyote_mutex_lock(with);
  coyote_condvar_wait(&condvar, with);
  coyote_mutex_unlock(with);
}

COYOTE_TEST(stranger) {
  coyote_thread thread;
  coyote_mutex_lock(&lock);
  coyote_thread_create(&thread, unlocks, NULL);
  coyote_thread_join(&thread);
  coyote_mutex_unlock(&lock);
}

COYOTE_TEST(unlocked) {
  coyote_mutex_lock(&lock);
  coyote_mutex_unlock(&lock);
  coyote_mutex_unlock(&lock);
}

COYOTE_TEST(twice) {
  coyote_thread thread;
  coyote_thread_create(&thread, nothing, NULL);
  coyote_thread_join(&thread);
  coyote_thread_join(&thread);
}

COYOTE_TEST(by_two) {
  coyote_thread thread;
  coyote_thread_create(&shared, nothing, NULL);
  coyote_mutex_lock(&lock);
  coyote_thread_create(&thread, joins, NULL);
  coyote_mutex_unlock(&lock);
  coyote_thread_join(&thread);
  coyote_thread_join(&shared);
}

COYOTE_TEST(detach_after_join) {
  coyote_thread thread;
  coyote_thread_create(&thread, nothing, NULL);
  coyote_thread_join(&thread);
  coyote_thread_detach(&thread);
}

COYOTE_TEST(join_after_detach) {
  coyote_thread thread;
  coyote_thread_create(&thread, nothing, NULL);
  coyote_thread_detach(&thread);
  coyote_thread_join(&thread);
}

COYOTE_TEST(detach_twice) {
  coyote_thread thread;
  coyote_thread_create(&thread, nothing, NULL);
  coyote_thread_detach(&thread);
  coyote_thread_detach(&thread);
}

COYOTE_TEST(not_created) {
  coyote_thread_join(&shared);
}

COYOTE_TEST(not_locked) {
  coyote_condvar_wait(&condvar, &lock);
}

COYOTE_TEST(two_mutexes) {
  coyote_thread a, b;
  coyote_thread_create(&a, waits, &lock);
  coyote_thread_create(&b, waits, &other);
  coyote_thread_join(&a);
  coyote_thread_join(&b);
}

COYOTE_TEST(freed) {
  coyote_mutex *made = malloc(sizeof *made);
  free(made);
  coyote_mutex_lock(made);
}

static coyote_unsafe guard;

COYOTE_TEST(read_end) {
  coyote_read_begin(&guard);
  coyote_read_end(&guard);
  coyote_read_end(&guard);
}

COYOTE_TEST(write_end) {
  coyote_write_begin(&guard);
  coyote_write_end(&guard);
  coyote_write_end(&guard);
}

COYOTE_TEST(write_end_of_reader) {
  coyote_read_begin(&guard);
  coyote_write_end(&guard);
}

// A library's own objects.
COYOTE_TEST(told) {
  coyote_misuse(&shared, "a queue is closed twice");
}
