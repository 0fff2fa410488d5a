/* Threads, once, values of their own, and C11's threads.h: every outcome that POSIX and C allow, and no
 * other.
 *
 * flags: -D_GNU_SOURCE -mexec-model=reactor
 * Expected: what the comments say. */
#include "outcomes.h"
#include <semaphore.h>
#include <threads.h>

/* ---- Threads ---- */

static void *by_return(void *argument) {
  return argument;
}

static void *by_exit(void *argument) {
  pthread_exit(argument);
}

/* outcomes: 3 4 */
COYOTE_TEST(join_has_the_result) {
  pthread_t one = start(by_return, 3), two = start(by_exit, 4);
  say_number(result_of(one));
  say_number(result_of(two));
}

static pthread_t created;

static void *is_created(void *unused) {
  (void)unused;
  return (void *)(intptr_t)(pthread_equal(created, pthread_self()) != 0);
}

/* outcomes: 1 */
COYOTE_TEST(create_tells_who_before_it_runs) {
  pthread_create(&created, NULL, is_created, NULL);
  say_number(result_of(created));
}

static sem_t over;

static void *post_over(void *unused) {
  sem_post(&over);
  return unused;
}

/* Before its end and after it.
 * outcomes by dfs: ok */
COYOTE_TEST(detach_at_any_time) {
  sem_init(&over, 0, 0);
  pthread_t thread = start(post_over, 0);
  say_error(pthread_detach(thread));
  sem_wait(&over);
}

static _Thread_local int own = 5;

static void *change_own(void *to) {
  int before = own;
  own = (int)(intptr_t)to;
  sched_yield();
  assert(before == 5);
  return (void *)(intptr_t)own;
}

/* outcomes: 1 2 5 */
COYOTE_TEST(thread_locals_are_apart) {
  pthread_t one = start(change_own, 1), two = start(change_own, 2);
  say_number(result_of(one));
  say_number(result_of(two));
  say_number(own);
}

static int order[3], ordered;

static void note(void *id) {
  order[ordered++] = (int)(intptr_t)id;
}

static pthread_key_t key;

static void *leave(void *unused) {
  pthread_setspecific(key, (void *)3);
  pthread_cleanup_push(note, (void *)1);
  pthread_cleanup_push(note, (void *)2);
  pthread_exit(unused);
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
}

/* The last handler first, then the destructors, and only then is it joined.
 * outcomes: 2 1 3 */
COYOTE_TEST(exit_cleans_up) {
  pthread_key_create(&key, note);
  result_of(start(leave, 0));
  for (int i = 0; i < 3; i++) {
    say_number(order[i]);
  }
}

/* ---- Once ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static once_flag flag = ONCE_FLAG_INIT;
static volatile int done; /* every store of it counts */
static int by;

static void do_once(void) {
  by = own;
  done = done + 1;
  done = done + 1;
}

static void *call_pthread_once(void *id) {
  own = (int)(intptr_t)id;
  pthread_once(&once, do_once);
  return (void *)(intptr_t)done;
}

/* Whoever calls it: all return after it was done.
 * outcomes: 2 2 1; 2 2 2 */
COYOTE_TEST(once_is_once) {
  pthread_t one = start(call_pthread_once, 1), two = start(call_pthread_once, 2);
  say_number(result_of(one));
  say_number(result_of(two));
  say_number(by);
}

/* ---- Values of their own ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int destroyed;

static void destroy(void *value) {
  pthread_mutex_lock(&lock);
  destroyed += (int)(intptr_t)value;
  pthread_mutex_unlock(&lock);
}

static void *set_key(void *value) {
  assert(pthread_getspecific(key) == NULL);
  pthread_setspecific(key, value);
  return pthread_getspecific(key);
}

/* outcomes: 1 2 3 */
COYOTE_TEST(key_values_are_apart) {
  pthread_key_create(&key, destroy);
  pthread_t one = start(set_key, 1), two = start(set_key, 2);
  say_number(result_of(one));
  say_number(result_of(two));
  say_number(destroyed);
  assert(pthread_getspecific(key) == NULL);
}

static void set_again(void *value) {
  destroyed++;
  pthread_setspecific(key, value);
}

/* outcomes: 4 */
COYOTE_TEST(key_destructors_have_rounds) {
  pthread_key_create(&key, set_again);
  result_of(start(set_key, 1));
  assert(PTHREAD_DESTRUCTOR_ITERATIONS == 4);
  say_number(destroyed);
}

static void *set_key_early(void *value) {
  pthread_setspecific(key, value);
  sem_post(&over);
  sched_yield(); /* what a thread does at its end belongs to the step before */
  return NULL;
}

/* A key that is deleted destroys nothing; what it is too late for was destroyed.
 * outcomes by dfs: 0; 1 */
COYOTE_TEST(key_deleted) {
  sem_init(&over, 0, 0);
  pthread_key_create(&key, destroy);
  pthread_t thread = start(set_key_early, 1);
  sem_wait(&over);
  pthread_key_delete(key);
  result_of(thread);
  say_number(destroyed);
}

/* ---- threads.h ---- */

static mtx_t mutex;
static cnd_t changed;
static int ready;

static void say_thrd(int result) {
  const char *const names[] = {"success", "busy", "error", "nomem", "timedout"};
  coyote_log(names[result]);
}

static thrd_t start_c11(int (*function)(void *), int argument) {
  thrd_t thread;
  mtx_init(&mutex, mtx_timed);
  cnd_init(&changed);
  assert(thrd_create(&thread, function, (void *)(intptr_t)argument) == thrd_success);
  return thread;
}

static int result_of_c11(thrd_t thread) {
  int result;
  assert(thrd_join(thread, &result) == thrd_success);
  return result;
}

static int set_c11(void *unused) {
  (void)unused;
  mtx_lock(&mutex);
  ready = 1;
  cnd_signal(&changed);
  mtx_unlock(&mutex);
  thrd_exit(7);
}

/* outcomes: success 7; busy 7 */
COYOTE_TEST(c11_mutex_try) {
  thrd_t thread = start_c11(set_c11, 0);
  int result = mtx_trylock(&mutex);
  if (result == thrd_success) {
    mtx_unlock(&mutex);
  }
  say_thrd(result);
  say_number(result_of_c11(thread));
}

static int nothing_c11(void *unused) {
  (void)unused;
  return 0;
}

/* outcomes: success
 * outcomes with --failing-try-locks=1: success; busy */
COYOTE_TEST(c11_mutex_try_unlocked) {
  thrd_t thread = start_c11(nothing_c11, 0);
  say_thrd(mtx_trylock(&mutex));
  result_of_c11(thread);
}

/* outcomes: success; timedout */
COYOTE_TEST(c11_mutex_timed) {
  thrd_t thread = start_c11(set_c11, 0);
  struct timespec until = soon(CLOCK_REALTIME);
  int result = mtx_timedlock(&mutex, &until);
  if (result == thrd_success) {
    mtx_unlock(&mutex);
  }
  result_of_c11(thread);
  say_thrd(result);
}

/* outcomes: 1
 * outcomes with --spurious-wakeups=1: 0; 1 */
COYOTE_TEST(c11_condition_without_loop) {
  thrd_t thread = start_c11(set_c11, 0);
  mtx_lock(&mutex);
  if (!ready) {
    cnd_wait(&changed, &mutex);
  }
  say_number(ready);
  mtx_unlock(&mutex);
  result_of_c11(thread);
}

/* outcomes: success 1; timedout 0; timedout 1 */
COYOTE_TEST(c11_condition_timed) {
  thrd_t thread = start_c11(set_c11, 0);
  struct timespec until = soon(CLOCK_REALTIME);
  int result = thrd_success;
  mtx_lock(&mutex);
  while (!ready && result == thrd_success) {
    result = cnd_timedwait(&changed, &mutex, &until);
  }
  say_thrd(result);
  say_number(ready);
  mtx_unlock(&mutex);
  result_of_c11(thread);
}

static int wait_c11(void *unused) {
  (void)unused;
  mtx_lock(&mutex);
  while (!ready) {
    cnd_wait(&changed, &mutex);
  }
  mtx_unlock(&mutex);
  return ready;
}

/* outcomes: 1 1 */
COYOTE_TEST(c11_broadcast_wakes_all) {
  thrd_t one = start_c11(wait_c11, 0), two;
  assert(thrd_create(&two, wait_c11, NULL) == thrd_success);
  mtx_lock(&mutex);
  ready = 1;
  cnd_broadcast(&changed);
  mtx_unlock(&mutex);
  say_number(result_of_c11(one));
  say_number(result_of_c11(two));
}

static int call_c11_once(void *id) {
  own = (int)(intptr_t)id;
  call_once(&flag, do_once);
  return done;
}

/* outcomes: 2 2 1; 2 2 2 */
COYOTE_TEST(c11_once_is_once) {
  thrd_t one = start_c11(call_c11_once, 1), two;
  assert(thrd_create(&two, call_c11_once, (void *)2) == thrd_success);
  say_number(result_of_c11(one));
  say_number(result_of_c11(two));
  say_number(by);
}

static tss_t slot;

static int set_slot(void *value) {
  assert(tss_get(slot) == NULL && tss_set(slot, value) == thrd_success);
  return (int)(intptr_t)tss_get(slot);
}

/* outcomes: 1 2 3 */
COYOTE_TEST(c11_slots_are_apart) {
  assert(tss_create(&slot, destroy) == thrd_success);
  thrd_t one = start_c11(set_slot, 1), two;
  assert(thrd_create(&two, set_slot, (void *)2) == thrd_success);
  say_number(result_of_c11(one));
  say_number(result_of_c11(two));
  say_number(destroyed);
}
