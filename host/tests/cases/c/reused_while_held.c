// A lock in a block that is freed, or on the stack of a thread that has ended, is gone, also if it was held: what is in that
// memory later is another lock.
// run: -s dpor --test mutex --test rwlock --test on_a_stack
// exit: 0
// line: No bug found in 3 tests, 1 of them proved
// run: -s dpor --test awaited
// exit: 2
// line: bug in test awaited:
#include <assert.h>
#include <coyote.h>
#include <pthread.h>
#include <stdlib.h>

COYOTE_TEST(mutex) {
  for (int i = 0; i < 2; i++) {
    pthread_mutex_t *lock = malloc(sizeof *lock);
    pthread_mutex_init(lock, 0);
    assert(pthread_mutex_trylock(lock) == 0);
    free(lock);
  }
}

COYOTE_TEST(rwlock) {
  pthread_rwlock_t *lock = calloc(1, sizeof *lock);
  pthread_rwlock_rdlock(lock);
  free(lock);
  lock = calloc(1, sizeof *lock);
  assert(pthread_rwlock_trywrlock(lock) == 0);
  pthread_rwlock_unlock(lock);
  free(lock);
}

static void *locks(void *argument) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_rwlock_wrlock(&lock);
  return argument;
}

COYOTE_TEST(on_a_stack) {
  for (int i = 0; i < 2; i++) {
    pthread_t thread;
    pthread_create(&thread, 0, locks, 0);
    pthread_join(thread, 0);
  }
}

static void *takes(void *lock) {
  return (void *)(long)pthread_mutex_lock(lock);
}

// Somebody waits for it: it is not given to the waiter because its memory is freed.
COYOTE_TEST(awaited) {
  pthread_mutex_t *lock = malloc(sizeof *lock);
  pthread_mutex_init(lock, 0);
  pthread_mutex_lock(lock);
  pthread_t thread;
  pthread_create(&thread, 0, takes, lock);
  free(lock);
  pthread_join(thread, 0);
}
