// What looks like the misuses of `misuse_coyote.c` and is right: objects that are used for other workers, memory that becomes
// another object, threads that hand a worker on.
// flags: -g -O1
// run: -i 300 --races bug
// exit: 0
// line: . No bug found
// run: -s dpor --races bug
// exit: 0
#include <coyote.h>

static coyote_mutex lock = COYOTE_MUTEX_INIT, other = COYOTE_MUTEX_INIT;
static coyote_condvar condvar = COYOTE_CONDVAR_INIT;
static coyote_thread shared;
static int ready;

static void locks(void *with) {
  coyote_mutex_lock(with);
  coyote_mutex_unlock(with);
}

// The object is used for one worker after another, and for one that is detached.
COYOTE_TEST(again) {
  coyote_thread thread;
  for (int i = 0; i < 2; i++) {
    coyote_thread_create(&thread, locks, &lock);
    coyote_thread_join(&thread);
  }
  coyote_thread_create(&thread, locks, &lock);
  coyote_thread_detach(&thread);
  coyote_thread_set_name(&thread, "detached");
  coyote_thread_create(&thread, locks, &lock);
  coyote_thread_join(&thread);
}

static void joins(void *unused) {
  (void)unused;
  coyote_thread_join(&shared);
}

// A worker is joined by another one than that which created it; then the object is used again.
COYOTE_TEST(handed_on) {
  coyote_thread thread;
  coyote_thread_create(&shared, locks, &lock);
  coyote_thread_create(&thread, joins, NULL);
  coyote_thread_join(&thread);
  coyote_thread_create(&shared, locks, &lock);
  coyote_thread_join(&shared);
}

static void waits(void *with) {
  coyote_mutex_lock(with);
  while (!ready) {
    coyote_condvar_wait(&condvar, with);
  }
  coyote_mutex_unlock(with);
}

static void wakes(void *with) {
  coyote_mutex_lock(with);
  ready = 1;
  coyote_condvar_broadcast(&condvar);
  coyote_mutex_unlock(with);
}

// A condvar with one mutex, and with another one when no worker waits any more.
COYOTE_TEST(by_turns) {
  coyote_mutex *mutexes[] = {&lock, &other};
  for (int i = 0; i < 2; i++) {
    coyote_thread a, b;
    ready = 0;
    coyote_thread_create(&a, waits, mutexes[i]);
    coyote_thread_create(&b, wakes, mutexes[i]);
    coyote_thread_join(&a);
    coyote_thread_join(&b);
  }
}

static void on_the_stack(void) {
  coyote_mutex local = COYOTE_MUTEX_INIT;
  coyote_thread thread;
  coyote_thread_create(&thread, locks, &local);
  locks(&local);
  coyote_thread_join(&thread);
}

// Memory that was another object: freed and allocated again, on the stack, and without an initialiser.
COYOTE_TEST(reused) {
  for (int i = 0; i < 2; i++) {
    union {
      coyote_mutex mutex;
      coyote_condvar condvar;
    } *made = malloc(sizeof *made);
    locks(&made->mutex);
    coyote_condvar_signal(&made->condvar);
    free(made);
    on_the_stack();
  }
}
