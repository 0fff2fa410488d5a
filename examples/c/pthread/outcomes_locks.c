/* Mutexes, read-write locks and spin locks among threads: every outcome that POSIX allows, and no other.
 *
 * flags: -D_GNU_SOURCE -mexec-model=reactor
 * Expected: what the comments say. */
#include "outcomes.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static int order[2], ordered;
static volatile int x; /* every store of it counts */

static void note(intptr_t id) {
  order[ordered] = (int)id;
  ordered = ordered + 1;
}

static void say_order(void) {
  say_number(order[0]);
  say_number(order[1]);
}

/* ---- Mutexes ---- */

static void *note_locked(void *id) {
  pthread_mutex_lock(&lock);
  note((intptr_t)id);
  pthread_mutex_unlock(&lock);
  return NULL;
}

/* outcomes: 1 2; 2 1 */
COYOTE_TEST(mutex_excludes) {
  pthread_t one = start(note_locked, 1), two = start(note_locked, 2);
  result_of(one);
  result_of(two);
  say_order();
}

/* outcomes: ok; busy */
COYOTE_TEST(mutex_try) {
  pthread_t thread = start(note_locked, 1);
  int error = pthread_mutex_trylock(&lock);
  if (!error) {
    pthread_mutex_unlock(&lock);
  }
  result_of(thread);
  say_error(error);
}

/* outcomes: ok
 * outcomes with --failing-try-locks=1: ok; busy */
COYOTE_TEST(mutex_try_unlocked) {
  pthread_t thread = start(note_locked, 1);
  say_error(pthread_mutex_trylock(&other));
  result_of(thread);
}

/* outcomes: ok; timed-out */
COYOTE_TEST(mutex_timed) {
  pthread_t thread = start(note_locked, 1);
  struct timespec until = soon(CLOCK_REALTIME);
  int error = pthread_mutex_timedlock(&lock, &until);
  if (!error) {
    pthread_mutex_unlock(&lock);
  }
  result_of(thread);
  say_error(error);
  assert(pthread_mutex_trylock(&lock) == 0); /* nobody has it, whoever had to wait */
}

static void *clock_lock(void *unused) {
  struct timespec until = soon(CLOCK_MONOTONIC);
  (void)unused;
  return (void *)(intptr_t)pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &until);
}

/* outcomes: timed-out */
COYOTE_TEST(mutex_held) {
  pthread_mutex_lock(&lock);
  pthread_t thread = start(clock_lock, 0);
  say_error(result_of(thread));
}

/* A thread's end gives nothing back.
 * outcomes: ok; timed-out; deadlock */
COYOTE_TEST(mutex_is_kept_at_an_end) {
  pthread_t thread = start(clock_lock, 0);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  say_error(result_of(thread));
}

static void *lock_opposed(void *unused) {
  pthread_mutex_lock(&other);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  pthread_mutex_unlock(&other);
  return unused;
}

/* outcomes: ok; deadlock */
COYOTE_TEST(mutex_opposed) {
  pthread_t thread = start(lock_opposed, 0);
  pthread_mutex_lock(&lock);
  pthread_mutex_lock(&other);
  pthread_mutex_unlock(&other);
  pthread_mutex_unlock(&lock);
  say_error(result_of(thread));
}

/* outcomes: deadlock */
COYOTE_TEST(mutex_normal_again) {
  pthread_mutex_lock(&lock);
  pthread_mutex_lock(&lock);
}

static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

static void *unlock_others(void *unused) {
  (void)unused;
  assert(pthread_mutex_trylock(&checking) == EBUSY);
  return (void *)(intptr_t)pthread_mutex_unlock(&checking);
}

/* outcomes: deadlock-error not-owner ok */
COYOTE_TEST(mutex_checking) {
  pthread_mutex_lock(&checking);
  pthread_t thread = start(unlock_others, 0);
  say_error(pthread_mutex_lock(&checking));
  say_error(result_of(thread));
  say_error(pthread_mutex_unlock(&checking));
}

static pthread_mutex_t again = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void *lock_again(void *unused) {
  pthread_mutex_lock(&again);
  pthread_mutex_lock(&again);
  x = 1;
  pthread_mutex_unlock(&again);
  x = 2;
  pthread_mutex_unlock(&again);
  return unused;
}

/* Not between the two unlocks.
 * outcomes: busy; ok 0; ok 2 */
COYOTE_TEST(mutex_recursive) {
  pthread_t thread = start(lock_again, 0);
  int error = pthread_mutex_trylock(&again);
  say_error(error);
  if (!error) {
    say_number(x);
    pthread_mutex_unlock(&again);
  }
  result_of(thread);
}

/* ---- Read-write locks ---- */

static void *write_twice(void *unused) {
  pthread_rwlock_wrlock(&rwlock);
  x = 1;
  x = 2;
  pthread_rwlock_unlock(&rwlock);
  return unused;
}

static void *only_read(void *unused) {
  pthread_rwlock_rdlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
  return unused;
}

static pthread_barrier_t meeting;

static void *meet_reading(void *unused) {
  pthread_rwlock_rdlock(&rwlock);
  pthread_barrier_wait(&meeting);
  pthread_rwlock_unlock(&rwlock);
  return unused;
}

/* Readers are in it together, or they would wait for each other.
 * outcomes: ok */
COYOTE_TEST(rwlock_readers) {
  pthread_barrier_init(&meeting, NULL, 2);
  pthread_t one = start(meet_reading, 0), two = start(meet_reading, 0);
  result_of(one);
  say_error(result_of(two));
}

/* outcomes: 0; 2 */
COYOTE_TEST(rwlock_writer_excludes) {
  pthread_t thread = start(write_twice, 0);
  pthread_rwlock_rdlock(&rwlock);
  say_number(x);
  pthread_rwlock_unlock(&rwlock);
  result_of(thread);
}

static void *write_note(void *id) {
  pthread_rwlock_wrlock(&rwlock);
  note((intptr_t)id);
  pthread_rwlock_unlock(&rwlock);
  return NULL;
}

/* outcomes: 1 2; 2 1 */
COYOTE_TEST(rwlock_writers_exclude) {
  pthread_t one = start(write_note, 1), two = start(write_note, 2);
  result_of(one);
  result_of(two);
  say_order();
}

/* Says how it went, and ends with the lock free. */
static void say_rwlock(int error, pthread_t thread) {
  if (!error) {
    pthread_rwlock_unlock(&rwlock);
  }
  result_of(thread);
  say_error(error);
}

/* outcomes: ok; busy */
COYOTE_TEST(rwlock_try_write) {
  pthread_t thread = start(only_read, 0);
  say_rwlock(pthread_rwlock_trywrlock(&rwlock), thread);
}

/* outcomes: ok; busy */
COYOTE_TEST(rwlock_try_read) {
  pthread_t thread = start(write_twice, 0);
  say_rwlock(pthread_rwlock_tryrdlock(&rwlock), thread);
}

/* outcomes: ok
 * outcomes with --failing-try-locks=1: ok; busy */
COYOTE_TEST(rwlock_try_read_beside_reader) {
  pthread_t thread = start(only_read, 0);
  say_rwlock(pthread_rwlock_tryrdlock(&rwlock), thread);
}

/* outcomes: ok; timed-out */
COYOTE_TEST(rwlock_timed_write) {
  pthread_t thread = start(only_read, 0);
  struct timespec until = soon(CLOCK_REALTIME);
  say_rwlock(pthread_rwlock_timedwrlock(&rwlock, &until), thread);
}

/* outcomes: ok; timed-out */
COYOTE_TEST(rwlock_timed_read) {
  pthread_t thread = start(write_twice, 0);
  struct timespec until = soon(CLOCK_REALTIME);
  say_rwlock(pthread_rwlock_timedrdlock(&rwlock, &until), thread);
}

/* ---- Spin locks ---- */

static void *note_spinning(void *id) {
  pthread_spin_lock(&spin);
  note((intptr_t)id);
  pthread_spin_unlock(&spin);
  return NULL;
}

/* outcomes: 1 2; 2 1 */
COYOTE_TEST(spin_excludes) {
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  pthread_t one = start(note_spinning, 1), two = start(note_spinning, 2);
  result_of(one);
  result_of(two);
  say_order();
}

/* outcomes: ok; busy */
COYOTE_TEST(spin_try) {
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  pthread_t thread = start(note_spinning, 1);
  int error = pthread_spin_trylock(&spin);
  if (!error) {
    pthread_spin_unlock(&spin);
  }
  result_of(thread);
  say_error(error);
}
