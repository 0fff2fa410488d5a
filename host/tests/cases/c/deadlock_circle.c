// Threads that wait for each other in a circle are found while others run on for ever, however the test is explored.
// What somebody else could end is no circle.
// flags: -g -O1
// run: -i 100 --no-shrink --max-steps 1000 -- mutexes
// exit: 2
// line: bug in test main: deadlock: 2 workers wait for each other and can never go on, while others could
// run: -s stateful --no-shrink --max-steps 300 -- mutexes
// exit: 2
// line: bug in test main: deadlock: 2 workers wait for each other and can never go on, while others could
// run: -i 100 --no-shrink --max-steps 1000 -- itself
// exit: 2
// line: bug in test main: deadlock: 1 worker waits for itself and can never go on, while others could
// run: -i 100 --no-shrink --max-steps 1000 -- join
// exit: 2
// line: bug in test main: deadlock: 2 workers wait for each other and can never go on, while others could
// run: -i 100 --no-shrink --max-steps 1000 -- rwlocks
// exit: 2
// line: bug in test main: deadlock: 2 workers wait for each other and can never go on, while others could
// run: -i 100 --no-shrink --max-steps 1000 -- notified
// exit: 2
// line: bug in test main: deadlock: 2 workers wait for each other and can never go on, while others could
// run: -i 100 --no-shrink -- exits
// exit: 2
// line: bug in test main: deadlock: 2 workers wait for each other and can never go on, while others could
// run: -s dpor --no-shrink -- exits
// exit: 2
// line: bug in test main: deadlock: 2 workers wait for each other and can never go on, while others could
// run: -s dpor --no-shrink -- spins
// exit: 2
// line: bug in test main: deadlock: 2 workers wait for each other and can never go on, while others could
// run: -s stateful --no-shrink -- spins
// exit: 2
// line: bug in test main: deadlock: 2 workers wait for each other and can never go on, while others could
// run: -i 100 --no-shrink -- spins
// exit: 2
// line: bug in test main: deadlock: 2 workers wait for each other and can never go on, while others could
// run: -s dpor -- semaphores
// exit: 0
// line: ... All
// run: -s dpor -- timed
// exit: 0
// line: ... All
// run: -s dpor --allow-foreign-unlocks -- strangers
// exit: 0
// line: ... All
// run: -i 500 --allow-foreign-unlocks -- strangers
// exit: 0
// run: -s dpor -- kinds
// exit: 0
// line: ... All
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t r = PTHREAD_RWLOCK_INITIALIZER, s = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static sem_t first, second;
static atomic_int served, done, waiting;
static pthread_t threads[2];
static const char *how;

static int is(const char *name) { return strcmp(how, name) == 0; }

// Strangers unlock only once both threads have a mutex.
static void meet(void) {
  if (!is("strangers")) return;
  atomic_fetch_add(&waiting, 1);
  while (atomic_load(&waiting) < 2) sched_yield();
}

static void *one(void *unused) {
  if (is("rwlocks")) {
    pthread_rwlock_rdlock(&r);
    pthread_rwlock_wrlock(&s);
    pthread_rwlock_unlock(&s);
    pthread_rwlock_unlock(&r);
  } else if (is("semaphores")) {
    sem_wait(&first);
    sem_wait(&second);
  } else if (is("itself")) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&a);
  } else if (is("join")) {
    pthread_mutex_lock(&a);
    pthread_join(threads[1], NULL);
    pthread_mutex_unlock(&a);
  } else if (is("notified")) {
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    atomic_store(&waiting, 1);
    pthread_cond_wait(&ready, &a);
  } else if (is("timed")) {
    struct timespec soon = {1, 0};
    pthread_mutex_lock(&a);
    if (pthread_mutex_timedlock(&b, &soon) == 0) pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
  } else if (is("kinds")) {
    pthread_mutex_t mutex;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&mutex, &attributes);
    assert(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_lock(&mutex) == 0);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_destroy(&mutex);
    pthread_mutex_init(&mutex, &attributes);
    assert(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_lock(&mutex) == EDEADLK);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_destroy(&mutex);
  } else {
    pthread_mutex_lock(&a);
    meet();
    pthread_mutex_lock(&b);
    if (!is("strangers")) pthread_mutex_unlock(&b), pthread_mutex_unlock(&a);
  }
  atomic_fetch_add(&done, 1);
  return unused;
}

static void *other(void *unused) {
  if (is("rwlocks")) {
    pthread_rwlock_wrlock(&s);
    pthread_rwlock_wrlock(&r);
    pthread_rwlock_unlock(&r);
    pthread_rwlock_unlock(&s);
  } else if (is("semaphores")) {
    sem_wait(&second);
    sem_wait(&first);
  } else if (is("notified")) {
    while (!atomic_load(&waiting)) sched_yield();
    pthread_mutex_lock(&a);
    atomic_store(&waiting, 2);
    pthread_mutex_lock(&b);
  } else if (is("join")) {
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
  } else if (!is("itself") && !is("kinds")) {
    pthread_mutex_lock(&b);
    meet();
    pthread_mutex_lock(&a);
    if (!is("strangers")) pthread_mutex_unlock(&a), pthread_mutex_unlock(&b);
  }
  atomic_fetch_add(&done, 1);
  return unused;
}

int main(int argc, char **argv) {
  how = argc > 1 ? argv[1] : "";
  sem_init(&first, 0, 0);
  sem_init(&second, 0, 1);
  pthread_create(&threads[1], NULL, other, NULL);
  pthread_create(&threads[0], NULL, one, NULL);
  if (is("exits")) exit(0);
  if (is("spins")) {
    while (atomic_load(&done) < 2) sched_yield();
    return 0;
  }
  if (is("mutexes") || is("itself") || is("join") || is("rwlocks")) {
    for (;;) atomic_fetch_add(&served, 1);
  }
  if (is("notified")) {
    while (atomic_load(&waiting) < 2) sched_yield();
    pthread_cond_signal(&ready);
    for (;;) atomic_fetch_add(&served, 1);
  }
  if (is("semaphores")) {
    // In any order: there are enough.
    for (int n = 0; n < 2; n++) sem_post(&first), sem_post(&second);
  }
  if (is("strangers")) {
    // If they meet.
    while (atomic_load(&waiting) < 2) sched_yield();
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
  }
  for (int n = 0; n < 2; n++) pthread_join(threads[n], NULL);
  return 0;
}
