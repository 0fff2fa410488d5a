/* Condition variables, barriers and semaphores: every outcome that POSIX allows, and no other.
 *
 * flags: -D_GNU_SOURCE -mexec-model=reactor
 * Expected: what the comments say. */
#include "outcomes.h"
#include <semaphore.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *set_ready(void *unused) {
  pthread_mutex_lock(&lock);
  ready = 1;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  return unused;
}

/* ---- Condition variables ---- */

/* No wakeup is lost: to wait gives the mutex back and waits in one.
 * outcomes: 1
 * outcomes with --spurious-wakeups=1: 1 */
COYOTE_TEST(cond_loop) {
  pthread_t thread = start(set_ready, 0);
  pthread_mutex_lock(&lock);
  while (!ready) {
    pthread_cond_wait(&changed, &lock);
  }
  say_number(ready);
  pthread_mutex_unlock(&lock);
  result_of(thread);
}

/* outcomes: 1
 * outcomes with --spurious-wakeups=1: 0; 1 */
COYOTE_TEST(cond_without_loop) {
  pthread_t thread = start(set_ready, 0);
  pthread_mutex_lock(&lock);
  if (!ready) {
    pthread_cond_wait(&changed, &lock);
  }
  say_number(ready);
  pthread_mutex_unlock(&lock);
  result_of(thread);
}

/* A signal is not kept for who comes later.
 * outcomes: ok; deadlock */
COYOTE_TEST(cond_without_predicate) {
  pthread_t thread = start(set_ready, 0);
  pthread_mutex_lock(&lock);
  int error = pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  result_of(thread);
  say_error(error);
}

/* Until the time is over, or there is news. Time may be over and there be news too, since the mutex is
 * taken again after either. */
static void say_timed(int (*wait)(const struct timespec *until), clockid_t clock) {
  struct timespec until = soon(clock);
  pthread_t thread = start(set_ready, 0);
  int error = 0;
  pthread_mutex_lock(&lock);
  while (!ready && !error) {
    error = wait(&until);
  }
  say_error(error);
  say_number(ready);
  pthread_mutex_unlock(&lock);
  result_of(thread);
}

static int timedwait(const struct timespec *until) {
  return pthread_cond_timedwait(&changed, &lock, until);
}

/* outcomes: ok 1; timed-out 0; timed-out 1 */
COYOTE_TEST(cond_timed) {
  say_timed(timedwait, CLOCK_REALTIME);
}

/* outcomes: ok 1; timed-out 0; timed-out 1 */
COYOTE_TEST(cond_timed_by_attribute) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&changed, &attributes);
  say_timed(timedwait, CLOCK_MONOTONIC);
}

static int clockwait(const struct timespec *until) {
  return pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, until);
}

/* outcomes: ok 1; timed-out 0; timed-out 1 */
COYOTE_TEST(cond_clock) {
  say_timed(clockwait, CLOCK_MONOTONIC);
}

static int waiting, first, woken;
static sem_t all_wait, one_woke;

static void *wait_once(void *id) {
  pthread_mutex_lock(&lock);
  waiting = waiting + 1;
  if (waiting == 1) {
    first = (int)(intptr_t)id;
  } else {
    sem_post(&all_wait);
  }
  pthread_cond_wait(&changed, &lock);
  if (!woken) {
    woken = (int)(intptr_t)id;
    sem_post(&one_woke);
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

/* Who waited first, and who is woken: any.
 * outcomes: 1 1; 1 2; 2 1; 2 2 */
COYOTE_TEST(cond_signal_wakes_any) {
  sem_init(&all_wait, 0, 0);
  sem_init(&one_woke, 0, 0);
  pthread_t one = start(wait_once, 1), two = start(wait_once, 2);
  sem_wait(&all_wait);
  pthread_mutex_lock(&lock);
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  sem_wait(&one_woke);
  say_number(first);
  say_number(woken);
  pthread_cond_broadcast(&changed);
  result_of(one);
  result_of(two);
}

/* Who waited first, and who has the mutex first: any.
 * outcomes: 1 1; 1 2; 2 1; 2 2 */
COYOTE_TEST(cond_broadcast_wakes_all) {
  sem_init(&all_wait, 0, 0);
  sem_init(&one_woke, 0, 0);
  pthread_t one = start(wait_once, 1), two = start(wait_once, 2);
  sem_wait(&all_wait);
  pthread_mutex_lock(&lock);
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  result_of(one);
  result_of(two);
  say_number(first);
  say_number(woken);
}

static void *wait_timed(void *unused) {
  struct timespec until = soon(CLOCK_REALTIME);
  (void)unused;
  pthread_mutex_lock(&lock);
  int error = pthread_cond_timedwait(&changed, &lock, &until);
  pthread_mutex_unlock(&lock);
  return (void *)(intptr_t)error;
}

static void *wait_untimed(void *unused) {
  pthread_mutex_lock(&lock);
  sem_post(&all_wait);
  pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  return unused;
}

/* Whose time is over takes no signal from another: nobody is left waiting.
 * outcomes: ok; timed-out */
COYOTE_TEST(cond_timeout_takes_no_signal) {
  sem_init(&all_wait, 0, 0);
  pthread_t timed = start(wait_timed, 0), untimed = start(wait_untimed, 0);
  sem_wait(&all_wait);
  pthread_mutex_lock(&lock);
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  int error = result_of(timed);
  if (!error) {
    pthread_cond_signal(&changed);
  }
  result_of(untimed);
  say_error(error);
}

/* ---- Barriers ---- */

static pthread_barrier_t barrier;
static atomic_int arrived;

static void *arrive(void *unused) {
  (void)unused;
  arrived++;
  int result = pthread_barrier_wait(&barrier);
  assert(arrived == 3);
  assert(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
  return (void *)(intptr_t)(result == PTHREAD_BARRIER_SERIAL_THREAD);
}

/* One of them is told that it is the serial one: any.
 * outcomes: 0 0 1; 0 1 0; 1 0 0 */
COYOTE_TEST(barrier_has_one_serial_thread) {
  pthread_barrier_init(&barrier, NULL, 3);
  pthread_t one = start(arrive, 0), two = start(arrive, 0);
  int own = (int)(intptr_t)arrive(NULL);
  say_number(result_of(one));
  say_number(result_of(two));
  say_number(own);
}

static volatile int given;
static int taken;

static void *take_between(void *unused) {
  pthread_barrier_wait(&barrier);
  taken = given;
  pthread_barrier_wait(&barrier);
  return unused;
}

/* Twice the same barrier: what was written before it is seen after it.
 * outcomes: 1 */
COYOTE_TEST(barrier_again) {
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_t thread = start(take_between, 0);
  given = 1;
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  say_number(taken);
  given = 2;
  result_of(thread);
}

/* ---- Semaphores ---- */

static sem_t semaphore;

static void *post(void *unused) {
  sem_post(&semaphore);
  return unused;
}

/* outcomes: ok; again */
COYOTE_TEST(semaphore_try) {
  sem_init(&semaphore, 0, 0);
  pthread_t thread = start(post, 0);
  say_error(sem_trywait(&semaphore) ? errno : 0);
  result_of(thread);
}

/* outcomes: ok; timed-out */
COYOTE_TEST(semaphore_timed) {
  sem_init(&semaphore, 0, 0);
  struct timespec until = soon(CLOCK_REALTIME);
  pthread_t thread = start(post, 0);
  say_error(sem_timedwait(&semaphore, &until) ? errno : 0);
  result_of(thread);
}

/* outcomes: 0; 1 */
COYOTE_TEST(semaphore_value) {
  int value;
  sem_init(&semaphore, 0, 0);
  pthread_t thread = start(post, 0);
  sem_getvalue(&semaphore, &value);
  say_number(value);
  result_of(thread);
}

static void *wait_and_note(void *id) {
  sem_wait(&semaphore);
  pthread_mutex_lock(&lock);
  if (!woken) {
    woken = (int)(intptr_t)id;
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

/* outcomes: 1; 2 */
COYOTE_TEST(semaphore_wakes_any) {
  sem_init(&semaphore, 0, 0);
  pthread_t one = start(wait_and_note, 1), two = start(wait_and_note, 2);
  sem_post(&semaphore);
  sem_post(&semaphore);
  result_of(one);
  result_of(two);
  say_number(woken);
}

static void *meet_inside(void *unused) {
  sem_wait(&semaphore);
  pthread_barrier_wait(&barrier);
  sem_post(&semaphore);
  return unused;
}

/* As many as there are units are inside together, and no more.
 * outcomes: ok; again */
COYOTE_TEST(semaphore_units) {
  sem_init(&semaphore, 0, 2);
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_t one = start(meet_inside, 0), two = start(meet_inside, 0);
  int failed = sem_trywait(&semaphore);
  say_error(failed ? errno : 0);
  if (!failed) {
    sem_post(&semaphore);
  }
  result_of(one);
  result_of(two);
}
