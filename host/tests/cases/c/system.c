// What POSIX and GNU let a program ask about the system and its threads, and attributes that are kept or refused.
// flags: -O1
// run: -i 100 --races bug --test options --test stacks --test attributes --test processors --test priorities --test numbers
// exit: 0
// line: . No bug found in 6 tests
// run: -s dpor --test numbers --test levels
// exit: 0
// line: . Proved: no bug in 2 tests
// run: -s dpor --test level_is_seen --test yields
// exit: 2
// line: bug in test level_is_seen: assertion
// line: bug in test yields: assertion
// run: -i 1 --test alarms
// exit: 7
// line: alarm: there are no signals
#define _GNU_SOURCE
#include "coyote.h"
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#if !(_POSIX_SEMAPHORES > 0 && _POSIX_THREADS > 0 && _POSIX_BARRIERS > 0 && _POSIX_SPIN_LOCKS > 0)
#error "options of POSIX that are there"
#endif
#if defined _POSIX_REALTIME_SIGNALS || defined _POSIX_MESSAGE_PASSING || defined _POSIX_SHARED_MEMORY_OBJECTS
#error "options of POSIX that are not there"
#endif

COYOTE_TEST(options) {
  assert(sysconf(_SC_THREAD_STACK_MIN) == PTHREAD_STACK_MIN);
  assert(sysconf(_SC_THREAD_KEYS_MAX) == PTHREAD_KEYS_MAX);
  assert(sysconf(_SC_THREAD_DESTRUCTOR_ITERATIONS) == PTHREAD_DESTRUCTOR_ITERATIONS);
  assert(sysconf(_SC_SEM_VALUE_MAX) == SEM_VALUE_MAX);
  assert(sysconf(_SC_SEMAPHORES) == _POSIX_SEMAPHORES && sysconf(_SC_THREADS) == _POSIX_THREADS);
  assert(sysconf(_SC_REALTIME_SIGNALS) == -1 && sysconf(_SC_MESSAGE_PASSING) == -1);
  assert(sysconf(_SC_SHARED_MEMORY_OBJECTS) == -1 && sysconf(_SC_ASYNCHRONOUS_IO) == -1);
  assert(sysconf(_SC_NPROCESSORS_ONLN) == 1);
  assert(sysconf(_SC_PAGESIZE) == getpagesize());
  errno = 0;
  assert(sysconf(-1) == -1 && errno == EINVAL);
  assert(alarm(0) == 0);
}

COYOTE_TEST(alarms) { alarm(1); }

static void *returns(void *value) { return value; }

COYOTE_TEST(stacks) {
  static _Alignas(16) char stack[65536];
  pthread_attr_t attributes;
  pthread_t thread;
  size_t size;
  pthread_attr_init(&attributes);
  assert(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN - 1) == EINVAL);
  assert(pthread_attr_setstacksize(&attributes, 0) == EINVAL);
  assert(pthread_attr_setstacksize(&attributes, SIZE_MAX) == EINVAL);
  assert(pthread_attr_setstacksize(&attributes, SIZE_MAX - 15) == EINVAL);
  assert(pthread_attr_setstacksize(&attributes, SIZE_MAX / 4 + 1) == EINVAL);
  assert(pthread_attr_setstack(&attributes, stack, SIZE_MAX) == EINVAL);
  assert(pthread_attr_setstack(&attributes, stack, PTHREAD_STACK_MIN - 1) == EINVAL);
  // What was refused changes nothing.
  assert(pthread_attr_getstacksize(&attributes, &size) == 0 && size == COYOTE_STACK_BYTES);
  assert(pthread_create(&thread, &attributes, returns, NULL) == 0 && pthread_join(thread, NULL) == 0);
  assert(pthread_attr_setstack(&attributes, stack, sizeof stack) == 0);
  assert(pthread_create(&thread, &attributes, returns, NULL) == 0 && pthread_join(thread, NULL) == 0);
  // More than there is.
  pthread_attr_init(&attributes);
  assert(pthread_attr_setstacksize(&attributes, SIZE_MAX / 4) == 0);
  assert(pthread_create(&thread, &attributes, returns, NULL) == EAGAIN);
}

COYOTE_TEST(attributes) {
  pthread_condattr_t attributes;
  pthread_cond_t condvar;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  clockid_t clock;
  int shared;
  pthread_condattr_init(&attributes);
  assert(pthread_condattr_getpshared(&attributes, &shared) == 0 && shared == PTHREAD_PROCESS_PRIVATE);
  assert(pthread_condattr_getclock(&attributes, &clock) == 0 && clock == CLOCK_REALTIME);
  assert(pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0);
  assert(pthread_condattr_setpshared(&attributes, 2) == EINVAL);
  assert(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
  assert(pthread_condattr_setclock(&attributes, CLOCK_PROCESS_CPUTIME_ID) == EINVAL);
  assert(pthread_condattr_getpshared(&attributes, &shared) == 0 && shared == PTHREAD_PROCESS_SHARED);
  assert(pthread_condattr_getclock(&attributes, &clock) == 0 && clock == CLOCK_MONOTONIC);
  // The condition variable has that clock: the other one is decades ahead.
  struct timespec until, late;
  pthread_cond_init(&condvar, &attributes);
  pthread_mutex_lock(&mutex);
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += 2;
  int error;
  do {
    error = pthread_cond_timedwait(&condvar, &mutex, &until);
  } while (error == 0);
  assert(error == ETIMEDOUT);
  clock_gettime(CLOCK_MONOTONIC, &late);
  assert(late.tv_sec == until.tv_sec);
  pthread_mutex_unlock(&mutex);
  pthread_condattr_setclock(&attributes, CLOCK_REALTIME);
  assert(pthread_condattr_getpshared(&attributes, &shared) == 0 && shared == PTHREAD_PROCESS_SHARED);

  pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
  assert(pthread_rwlock_rdlock(&lock) == 0 && pthread_rwlock_unlock(&lock) == 0);

  assert(pthread_getcpuclockid(pthread_self(), &clock) == 0);
  assert(clock_gettime(clock, &until) == 0 && until.tv_sec == late.tv_sec);
}

COYOTE_TEST(processors) {
  cpu_set_t set, other;
  CPU_ZERO(&set);
  CPU_SET(3, &set);
  CPU_SET(1023, &set);
  CPU_SET(1024, &set); // beyond it: in no word of it
  assert(CPU_COUNT(&set) == 2 && CPU_ISSET(3, &set) && CPU_ISSET(1023, &set) && !CPU_ISSET(1024, &set));
  assert(sched_setaffinity(0, sizeof set, &set) == -1 && errno == EINVAL);
  assert(pthread_setaffinity_np(pthread_self(), sizeof set, &set) == EINVAL);
  assert(sched_getaffinity(0, sizeof other, &other) == 0);
  assert(CPU_COUNT(&other) == 1 && CPU_ISSET(0, &other));
  assert(sched_setaffinity(0, sizeof other, &other) == 0);
  assert(pthread_setaffinity_np(pthread_self(), sizeof other, &other) == 0);
  CPU_OR(&set, &set, &other);
  assert(CPU_COUNT(&set) == 3 && sched_setaffinity(0, sizeof set, &set) == 0);
  CPU_AND(&set, &set, &other);
  assert(CPU_EQUAL(&set, &other));
  CPU_XOR(&set, &set, &other);
  assert(CPU_COUNT(&set) == 0);
  CPU_CLR(0, &other);
  assert(CPU_EQUAL(&set, &other));
  assert(sched_getaffinity(0, 1, &set) == -1 && errno == EINVAL);
  size_t bytes = CPU_ALLOC_SIZE(40);
  cpu_set_t *small = CPU_ALLOC(40);
  CPU_ZERO_S(bytes, small);
  CPU_SET_S(39, bytes, small);
  CPU_SET_S(64, bytes, small);
  assert(bytes == 8 && CPU_COUNT_S(bytes, small) == 1 && CPU_ISSET_S(39, bytes, small));
  CPU_FREE(small);
}

COYOTE_TEST(priorities) {
  assert(sched_get_priority_max(SCHED_FIFO) > sched_get_priority_min(SCHED_FIFO));
  assert(sched_get_priority_max(SCHED_OTHER) == 0 && sched_get_priority_min(SCHED_OTHER) == 0);
  errno = 0;
  assert(sched_get_priority_max(-1) == -1 && errno == EINVAL);
  errno = 0;
  assert(sched_get_priority_min(99) == -1 && errno == EINVAL);
}

static pid_t first_number;
static void *has_a_number(void *unused) {
  pid_t own = gettid();
  assert(own > 0 && own == gettid() && own != first_number);
  return unused ? unused : (void *)(intptr_t)own;
}

COYOTE_TEST(numbers) {
  pthread_t thread, second;
  void *a, *b;
  first_number = gettid();
  assert(first_number == getpid());
  pthread_create(&thread, NULL, has_a_number, NULL);
  pthread_create(&second, NULL, has_a_number, NULL);
  pthread_join(thread, &a);
  pthread_join(second, &b);
  assert(a != b);
}

static void *sets(void *unused) {
  assert(pthread_setconcurrency(-1) == EINVAL);
  pthread_setconcurrency(3);
  pthread_setconcurrency(5);
  return unused;
}

static int level(void) {
  pthread_t thread;
  pthread_setconcurrency(0);
  pthread_create(&thread, NULL, sets, NULL);
  int level = pthread_getconcurrency();
  pthread_join(thread, NULL);
  assert(pthread_getconcurrency() == 5);
  return level;
}

COYOTE_TEST(levels) {
  int seen = level();
  assert(seen == 0 || seen == 3 || seen == 5);
}
COYOTE_TEST(level_is_seen) { assert(level() != 3); }

static int steps;
static void *two_steps(void *unused) {
  steps++;
  pthread_yield();
  steps++;
  return unused;
}

COYOTE_TEST(yields) {
  pthread_t thread;
  pthread_create(&thread, NULL, two_steps, NULL);
  int seen = __atomic_load_n(&steps, __ATOMIC_RELAXED);
  pthread_join(thread, NULL);
  assert(seen != 1);
}
