// C11 only forbids that a thread waits for a mutex that is destroyed, so a mutex that is held can be destroyed; POSIX forbids
// that as well. A wait without the mutex is undefined in C11, and an error for some mutexes of POSIX.
// flags: -g -O1
// run: -i 300 --races bug --test held --test held_by_another --test anew --test signalled --test inverted
// exit: 0
// line: . No bug found in 5 tests
// run: -s dpor --test anew --test signalled --test inverted
// exit: 0
// line: . Proved: no bug in 3 tests
// run: --detect lock-order -i 100 --test inverted
// exit: 0
// absent: Potential deadlock
// run: -i 300 --test awaited --test used --test unlocked --test condvar --test posix --test not_held
// exit: 2
// line: bug in test awaited: misuse: destruction of the mutex `mutex`
// line: bug in test used: misuse: a mutex is used after it was destroyed
// line: bug in test unlocked: misuse: a mutex is used after it was destroyed
// line: bug in test condvar: misuse: destruction of the condvar `condvar`
// line: bug in test posix: misuse: destruction of the mutex
// line: bug in test not_held: misuse: cnd_wait: the caller does not hold the mutex
// run: -s dpor --test awaited --test used
// exit: 2
// line: bug in test awaited: misuse
// line: bug in test used: misuse
#include "coyote.h"
#include <assert.h>
#include <pthread.h>
#include <threads.h>

static mtx_t mutex, other;
static cnd_t condvar;
static int ready;

COYOTE_TEST(held) {
  mtx_init(&mutex, mtx_plain);
  mtx_lock(&mutex);
  mtx_destroy(&mutex);
  mtx_init(&mutex, mtx_recursive);
  mtx_lock(&mutex);
  mtx_lock(&mutex);
  mtx_destroy(&mutex);
}

static _Atomic int arrived;
static int locks(void *unused) {
  (void)unused;
  arrived = 1;
  return mtx_lock(&mutex);
}

COYOTE_TEST(held_by_another) {
  thrd_t thread;
  mtx_init(&mutex, mtx_timed);
  thrd_create(&thread, locks, NULL);
  thrd_join(thread, NULL);
  mtx_destroy(&mutex);
}

// The new mutex is free, and nobody holds the old one.
static int *block;
static int writes(void *unused) {
  (void)unused;
  mtx_lock(&mutex);
  ++*block;
  mtx_unlock(&mutex);
  return 0;
}

COYOTE_TEST(anew) {
  int value = 0;
  block = &value;
  thrd_t thread, second;
  mtx_init(&mutex, mtx_plain);
  mtx_lock(&mutex);
  mtx_destroy(&mutex);
  mtx_init(&mutex, mtx_plain);
  thrd_create(&thread, writes, NULL);
  thrd_create(&second, writes, NULL);
  thrd_join(thread, NULL);
  thrd_join(second, NULL);
  assert(value == 2);
}

// A thread that was woken does not wait for the condition variable any more, only for the mutex.
static int waits(void *unused) {
  (void)unused;
  mtx_lock(&mutex);
  while (!ready) {
    arrived = 1;
    cnd_wait(&condvar, &mutex);
  }
  mtx_unlock(&mutex);
  return 0;
}

COYOTE_TEST(signalled) {
  thrd_t thread;
  ready = 0;
  mtx_init(&mutex, mtx_plain);
  cnd_init(&condvar);
  thrd_create(&thread, waits, NULL);
  mtx_lock(&mutex);
  ready = 1;
  cnd_broadcast(&condvar);
  mtx_unlock(&mutex);
  thrd_join(thread, NULL);
  cnd_destroy(&condvar);
  mtx_destroy(&mutex);
}

// A mutex that was destroyed is not held: there is no order in which the two are taken.
static int other_first(void *unused) {
  (void)unused;
  mtx_lock(&other);
  mtx_lock(&mutex);
  mtx_unlock(&mutex);
  mtx_unlock(&other);
  return 0;
}

COYOTE_TEST(inverted) {
  thrd_t thread;
  mtx_init(&mutex, mtx_plain);
  mtx_init(&other, mtx_plain);
  mtx_lock(&mutex);
  mtx_destroy(&mutex);
  mtx_init(&mutex, mtx_plain);
  thrd_create(&thread, other_first, NULL);
  mtx_lock(&other);
  mtx_unlock(&other);
  thrd_join(thread, NULL);
}

COYOTE_TEST(awaited) {
  thrd_t thread;
  mtx_init(&mutex, mtx_plain);
  mtx_lock(&mutex);
  thrd_create(&thread, locks, NULL);
  coyote_assume(arrived);
  mtx_destroy(&mutex);
}

COYOTE_TEST(used) {
  thrd_t thread;
  mtx_init(&mutex, mtx_plain);
  thrd_create(&thread, locks, NULL);
  mtx_destroy(&mutex);
  thrd_join(thread, NULL);
}

COYOTE_TEST(unlocked) {
  mtx_init(&mutex, mtx_plain);
  mtx_lock(&mutex);
  mtx_destroy(&mutex);
  mtx_unlock(&mutex);
}

COYOTE_TEST(condvar) {
  thrd_t thread;
  ready = 0;
  mtx_init(&mutex, mtx_plain);
  cnd_init(&condvar);
  thrd_create(&thread, waits, NULL);
  coyote_assume(arrived);
  mtx_lock(&mutex);
  mtx_unlock(&mutex);
  cnd_destroy(&condvar);
}

COYOTE_TEST(posix) {
  static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&held);
  pthread_mutex_destroy(&held);
}

COYOTE_TEST(not_held) {
  mtx_init(&mutex, mtx_recursive);
  cnd_init(&condvar);
  cnd_wait(&condvar, &mutex);
}
