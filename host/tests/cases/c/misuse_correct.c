// What looks like the misuses of `misuse.c` and is right: static initialisers, zeroed static objects, objects that are made
// anew after they were destroyed, memory that is used for another object.
// flags: -g -O1
// run: -i 300
// exit: 0
// line: No bug found
// run: -s dpor
// exit: 0
// line: Proved: no bug
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

static pthread_mutex_t zeroed, initialised = PTHREAD_MUTEX_INITIALIZER,
                               recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                               checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t condvar;
static pthread_rwlock_t rwlock;
static int ready;

static void *signals(void *unused) {
  pthread_mutex_lock(&zeroed);
  ready = 1;
  pthread_cond_signal(&condvar);
  pthread_mutex_unlock(&zeroed);
  return unused;
}

static void use(pthread_mutex_t *mutex) {
  assert(pthread_mutex_lock(mutex) == 0);
  assert(pthread_mutex_unlock(mutex) == 0);
}

// On the stack, where another one was destroyed before.
static void on_the_stack(int by_assignment) {
  pthread_mutex_t local = PTHREAD_MUTEX_INITIALIZER;
  if (by_assignment) {
    local = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  }
  use(&local);
  pthread_mutex_destroy(&local);
}

int main(void) {
  pthread_t thread;
  use(&initialised);
  use(&checked);
  pthread_mutex_lock(&recursive);
  use(&recursive);
  pthread_mutex_unlock(&recursive);
  pthread_create(&thread, NULL, signals, NULL);
  pthread_mutex_lock(&zeroed);
  while (!ready) {
    pthread_cond_wait(&condvar, &zeroed);
  }
  pthread_mutex_unlock(&zeroed);
  pthread_join(thread, NULL);
  pthread_cond_destroy(&condvar);
  pthread_cond_init(&condvar, NULL);
  pthread_cond_broadcast(&condvar);

  on_the_stack(0);
  on_the_stack(1);
  on_the_stack(0);

  pthread_mutex_destroy(&initialised);
  pthread_mutex_init(&initialised, NULL);
  use(&initialised);
  pthread_mutex_destroy(&initialised);
  initialised = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  use(&initialised);

  union {
    pthread_cond_t condvar;
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    sem_t semaphore;
    mtx_t mtx;
  } *any = malloc(sizeof *any);
  pthread_mutex_init(&any->mutex, NULL);
  use(&any->mutex);
  pthread_mutex_destroy(&any->mutex);
  sem_init(&any->semaphore, 0, 1);
  assert(sem_wait(&any->semaphore) == 0);
  sem_destroy(&any->semaphore);
  pthread_rwlock_init(&any->rwlock, NULL);
  pthread_rwlock_wrlock(&any->rwlock);
  pthread_rwlock_unlock(&any->rwlock);
  pthread_rwlock_destroy(&any->rwlock);
  mtx_init(&any->mtx, mtx_recursive);
  mtx_lock(&any->mtx);
  mtx_unlock(&any->mtx);
  mtx_destroy(&any->mtx);
  pthread_cond_init((pthread_cond_t *)any, NULL);
  pthread_cond_signal((pthread_cond_t *)any);
  pthread_cond_destroy((pthread_cond_t *)any);
  pthread_spin_init((pthread_spinlock_t *)any, 0);
  pthread_spin_lock((pthread_spinlock_t *)any);
  pthread_spin_unlock((pthread_spinlock_t *)any);
  pthread_spin_destroy((pthread_spinlock_t *)any);
  free(any);
  any = calloc(1, sizeof *any);
  use(&any->mutex);
  pthread_mutex_destroy(&any->mutex);
  memset(any, 0, sizeof *any);
  use(&any->mutex);
  free(any);

  pthread_rwlock_rdlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
  pthread_rwlock_destroy(&rwlock);
  return 0;
}
