// Joins that do not wait for ever, the locks of files, and what a thread and an attribute keep.
// flags: -O1
// run: -i 500 --races bug --leaks --test joins --test errors --test files --test kept
// exit: 0
// line: . No bug found in 4 tests
// run: -s dpor --test joins --test errors --test files --test kept
// exit: 0
// line: . Proved: no bug in 4 tests
// run: -i 500 --timers ordered --faults spurious=2 --test joins --test errors
// exit: 0
// run: -s dpor --test runs --test has_ended --test in_time --test too_late
// exit: 2
// line: bug in test runs: assertion
// line: bug in test has_ended: assertion
// line: bug in test in_time: assertion
// line: bug in test too_late: assertion
// run: -i 500 --test files_order --test foreign
// exit: 2
// line: bug in test files_order: deadlock
// line: waits to lock `stderr`, which worker 0.0 holds
// line: bug in test foreign: misuse: funlockfile: the caller does not hold the file's lock
#define _GNU_SOURCE
#include "coyote.h"
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static void *returns(void *value) { return value; }

static struct timespec in_a_second(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_sec++;
  return time;
}

static int try(void) {
  pthread_t thread;
  void *result = NULL;
  pthread_create(&thread, NULL, returns, (void *)7);
  int error = pthread_tryjoin_np(thread, &result);
  if (error) {
    assert(error == EBUSY && !result);
    pthread_join(thread, &result);
  }
  assert(result == (void *)7);
  return error;
}

static int wait_a_second(void) {
  pthread_t thread;
  void *result = NULL;
  struct timespec until = in_a_second(CLOCK_REALTIME);
  pthread_create(&thread, NULL, returns, (void *)7);
  int error = pthread_timedjoin_np(thread, &result, &until);
  if (error) {
    assert(error == ETIMEDOUT && !result);
    assert(pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, NULL) == 0);
  }
  assert(result == (void *)7);
  return error;
}

COYOTE_TEST(joins) {
  try();
  wait_a_second();
}

// Each of these outcomes is reached.
COYOTE_TEST(runs) { assert(try() != EBUSY); }
COYOTE_TEST(has_ended) { assert(try() != 0); }
COYOTE_TEST(in_time) { assert(wait_a_second() != 0); }
COYOTE_TEST(too_late) { assert(wait_a_second() != ETIMEDOUT); }

static pthread_t waited;
static void *joins(void *unused) {
  struct timespec until = in_a_second(CLOCK_MONOTONIC);
  int error = pthread_clockjoin_np(waited, NULL, CLOCK_MONOTONIC, &until);
  assert(error == 0 || error == ETIMEDOUT);
  return error ? NULL : (void *)1;
}

COYOTE_TEST(errors) {
  struct timespec until = in_a_second(CLOCK_REALTIME), wrong = {0, -1};
  assert(pthread_tryjoin_np(pthread_self(), NULL) == EBUSY);
  assert(pthread_timedjoin_np(pthread_self(), NULL, &until) == EDEADLK);
  pthread_create(&waited, NULL, returns, NULL);
  assert(pthread_timedjoin_np(waited, NULL, &wrong) == EINVAL);
  assert(pthread_clockjoin_np(waited, NULL, (clockid_t)99, &until) == EINVAL);
  // What another thread has not joined in time can be joined.
  pthread_t joiner;
  void *joined;
  pthread_create(&joiner, NULL, joins, NULL);
  pthread_join(joiner, &joined);
  assert(joined || pthread_join(waited, NULL) == 0);
}

static int written;
static void *writes(void *unused) {
  flockfile(stdout);
  flockfile(stdout);
  written++;
  funlockfile(stdout);
  funlockfile(stdout);
  return unused;
}

COYOTE_TEST(files) {
  pthread_t thread;
  pthread_create(&thread, NULL, writes, NULL);
  writes(NULL);
  if (ftrylockfile(stdout) == 0) {
    written++;
    funlockfile(stdout);
  }
  pthread_join(thread, NULL);
  assert(written == 2 || written == 3);
}

static void *locks_both(void *unused) {
  flockfile(stderr);
  flockfile(stdout);
  funlockfile(stdout);
  funlockfile(stderr);
  return unused;
}

COYOTE_TEST(files_order) {
  pthread_t thread;
  pthread_create(&thread, NULL, locks_both, NULL);
  flockfile(stdout);
  flockfile(stderr);
  funlockfile(stderr);
  funlockfile(stdout);
  pthread_join(thread, NULL);
}

COYOTE_TEST(foreign) { funlockfile(stdout); }

static void *has_its_own(void *unused) {
  int old;
  assert(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old) == 0 && old == PTHREAD_CANCEL_ENABLE);
  assert(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL) == 0);
  assert(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old) == 0 && old == PTHREAD_CANCEL_DISABLE);
  assert(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old) == 0 && old == PTHREAD_CANCEL_DEFERRED);
  assert(pthread_setcanceltype(7, &old) == EINVAL);
  assert(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old) == 0 && old == PTHREAD_CANCEL_ASYNCHRONOUS);
  return unused;
}

COYOTE_TEST(kept) {
  pthread_t thread;
  pthread_create(&thread, NULL, has_its_own, NULL);
  has_its_own(NULL);
  pthread_join(thread, NULL);
  pthread_rwlockattr_t attributes;
  int kind;
  pthread_rwlockattr_init(&attributes);
  assert(pthread_rwlockattr_getkind_np(&attributes, &kind) == 0 && kind == PTHREAD_RWLOCK_DEFAULT_NP);
  assert(pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0);
  assert(pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) == 0);
  assert(pthread_rwlockattr_setkind_np(&attributes, 3) == EINVAL);
  assert(pthread_rwlockattr_getkind_np(&attributes, &kind) == 0);
  assert(kind == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  assert(pthread_rwlockattr_getpshared(&attributes, &kind) == 0 && kind == PTHREAD_PROCESS_SHARED);
}
