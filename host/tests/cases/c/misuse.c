// Sync objects that are used after they were destroyed, or were never initialised, where POSIX and C leave that undefined:
// each with a use that is like it and right, in `misuse_correct.c`.
// flags: -g -O1
// run: -i 100 -- mutex
// exit: 2
// line: bug in test main: misuse: a mutex is used after it was destroyed
// run: -i 100 -- twice
// exit: 2
// line: bug in test main: misuse: a mutex is used after it was destroyed
// run: -i 100 -- garbage
// exit: 2
// line: bug in test main: misuse: a mutex is used that was not initialised
// run: -i 1 -- garbage_rwlock
// exit: 2
// line: bug in test main: misuse: a read-write lock is used that was not initialised
// run: -i 1 -- garbage_spin
// exit: 2
// line: bug in test main: misuse: a spin lock is used that was not initialised
// run: -i 1 -- garbage_condvar
// exit: 2
// line: bug in test main: misuse: a condition variable is used that was not initialised
// run: -i 1 -- other_kind
// exit: 2
// line: bug in test main: misuse: a read-write lock is used that was not initialised
// run: -i 100 -- mtx
// exit: 2
// line: bug in test main: misuse: a mutex is used after it was destroyed
// run: -i 100 -- condvar
// exit: 2
// line: bug in test main: misuse: a condition variable is used after it was destroyed
// run: -i 100 -- rwlock
// exit: 2
// line: bug in test main: misuse: a read-write lock is used after it was destroyed
// run: -i 100 -- spin
// exit: 2
// line: bug in test main: misuse: a spin lock is used after it was destroyed
// run: -i 100 -- semaphore
// exit: 2
// line: bug in test main: misuse: a semaphore is used after it was destroyed
// run: -i 100 -- zero
// exit: 2
// line: bug in test main: misuse: a semaphore is used that was not initialised by sem_init
// run: -i 100 -- barrier
// exit: 2
// line: bug in test main: misuse: wait at the barrier
// run: -i 200 -- late
// exit: 2
// line: bug in test main: misuse: a mutex is used after it was destroyed
// run: -i 100 -- unlock
// exit: 2
// line: bug in test main: misuse: unlock of the mutex
// run: -i 100 -- join
// exit: 2
// line: bug in test main: misuse: pthread_join: there is no such thread; was it joined?
// run: -i 100 -- detach
// exit: 2
// line: bug in test main: misuse: pthread_detach: there is no such thread; was it joined?
// run: -i 100 -- read
// exit: 2
// line: bug in test main: misuse: unlock of the rwlock
// run: -i 200 -- two
// exit: 2
// line: bug in test main: misuse: wait with the mutex
// line: waits for the same condvar with another mutex
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condvar = PTHREAD_COND_INITIALIZER;
static sem_t zero;

static void *locks(void *unused) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  return unused;
}

static void *unlocks(void *unused) {
  pthread_mutex_unlock(&mutex);
  return unused;
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void *unlocks_rwlock(void *unused) {
  pthread_rwlock_unlock(&rwlock);
  return unused;
}

static void *waits(void *with) {
  pthread_mutex_lock(with);
  pthread_cond_wait(&condvar, with);
  pthread_mutex_unlock(with);
  return NULL;
}

int main(int argc, char **argv) {
  (void)argc;
  const char *what = argv[1];
  pthread_t thread, second;
  if (!strcmp(what, "mutex")) {
    pthread_mutex_t *made = malloc(sizeof *made);
    pthread_mutex_init(made, NULL);
    pthread_mutex_destroy(made);
    pthread_mutex_lock(made);
  } else if (!strcmp(what, "twice")) {
    pthread_mutex_destroy(&mutex);
    pthread_mutex_destroy(&mutex);
  } else if (!strcmp(what, "garbage")) {
    pthread_mutex_t *made = malloc(sizeof *made);
    memset(made, 0x5a, sizeof *made);
    pthread_mutex_lock(made);
  } else if (!strcmp(what, "garbage_rwlock")) {
    pthread_rwlock_t made;
    memset(&made, 0x5a, sizeof made);
    pthread_rwlock_wrlock(&made);
  } else if (!strcmp(what, "garbage_spin")) {
    pthread_spinlock_t made = 1;
    pthread_spin_lock(&made);
  } else if (!strcmp(what, "garbage_condvar")) {
    pthread_cond_t made;
    memset(&made, 0x5a, sizeof made);
    pthread_cond_signal(&made);
  } else if (!strcmp(what, "other_kind")) {
    // Memory of a semaphore that was not destroyed.
    void *memory = malloc(64);
    sem_init(memory, 0, 1);
    pthread_rwlock_rdlock(memory);
  } else if (!strcmp(what, "mtx")) {
    mtx_t made;
    mtx_init(&made, mtx_plain);
    mtx_destroy(&made);
    mtx_lock(&made);
  } else if (!strcmp(what, "condvar")) {
    pthread_cond_destroy(&condvar);
    pthread_cond_signal(&condvar);
  } else if (!strcmp(what, "rwlock")) {
    pthread_rwlock_t made;
    pthread_rwlock_init(&made, NULL);
    pthread_rwlock_destroy(&made);
    pthread_rwlock_rdlock(&made);
  } else if (!strcmp(what, "spin")) {
    pthread_spinlock_t made;
    pthread_spin_init(&made, 0);
    pthread_spin_destroy(&made);
    pthread_spin_lock(&made);
  } else if (!strcmp(what, "semaphore")) {
    sem_t made;
    sem_init(&made, 0, 1);
    sem_destroy(&made);
    sem_post(&made);
  } else if (!strcmp(what, "zero")) {
    sem_post(&zero);
  } else if (!strcmp(what, "barrier")) {
    pthread_barrier_t made;
    pthread_barrier_init(&made, NULL, 1);
    pthread_barrier_wait(&made);
    pthread_barrier_destroy(&made);
    pthread_barrier_wait(&made);
  } else if (!strcmp(what, "late")) {
    // Right if the thread comes first.
    pthread_create(&thread, NULL, locks, NULL);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_destroy(&mutex);
    pthread_join(thread, NULL);
  } else if (!strcmp(what, "unlock")) {
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, NULL, unlocks, NULL);
    pthread_join(thread, NULL);
  } else if (!strcmp(what, "join")) {
    pthread_create(&thread, NULL, locks, NULL);
    pthread_join(thread, NULL);
    pthread_join(thread, NULL);
  } else if (!strcmp(what, "detach")) {
    pthread_create(&thread, NULL, locks, NULL);
    pthread_join(thread, NULL);
    pthread_detach(thread);
  } else if (!strcmp(what, "read")) {
    // The thread does not read under it, while another one does.
    pthread_rwlock_rdlock(&rwlock);
    pthread_create(&thread, NULL, unlocks_rwlock, NULL);
    pthread_join(thread, NULL);
  } else {
    pthread_create(&thread, NULL, waits, &mutex);
    pthread_create(&second, NULL, waits, &other);
    pthread_join(thread, NULL);
  }
  return 0;
}
