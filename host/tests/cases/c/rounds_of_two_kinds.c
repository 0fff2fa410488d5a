// From where a round begins, taking turns leads to another round than the one that was found: the trace says which one it
// is, and the replay confirms that one.
// flags: -g -O0
// run: -s random -i 256 --explore --points atomic --no-shrink --detect lassos,good-samaritan -j 1
// exit: 2
// line: bug in test one: lasso: worker 0.1 and worker 0.2 can repeat a round of 8 steps for ever
// line: bug in test one: good-samaritan: worker 0.1 can repeat a round of 4 steps for ever
#include <coyote.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int VALUE;
static pthread_mutex_t FIRST = PTHREAD_MUTEX_INITIALIZER, SECOND = PTHREAD_MUTEX_INITIALIZER;

static void *waits(void *unused) {
  pthread_mutex_lock(&FIRST);
  pthread_mutex_lock(&SECOND);
  pthread_mutex_unlock(&SECOND);
  pthread_mutex_unlock(&FIRST);
  return unused;
}

// Holds one mutex, tries the other, and begins again if that is taken.
static void *backs_off(void *unused) {
  atomic_fetch_xor(&VALUE, 1);
  pthread_mutex_lock(&SECOND);
  while (pthread_mutex_trylock(&FIRST)) {
    pthread_mutex_unlock(&SECOND);
    atomic_store(&VALUE, 1);
    pthread_mutex_lock(&SECOND);
  }
  pthread_mutex_unlock(&FIRST);
  pthread_mutex_unlock(&SECOND);
  return unused;
}

// The same in the other order, and gives way.
static void *backs_off_politely(void *unused) {
  pthread_mutex_lock(&FIRST);
  while (pthread_mutex_trylock(&SECOND)) {
    pthread_mutex_unlock(&FIRST);
    sched_yield();
    pthread_mutex_lock(&FIRST);
  }
  sched_yield();
  pthread_mutex_unlock(&SECOND);
  pthread_mutex_unlock(&FIRST);
  return unused;
}

COYOTE_TEST(one) {
  static pthread_t threads[3];
  pthread_create(&threads[0], 0, waits, 0);
  pthread_create(&threads[1], 0, backs_off, 0);
  pthread_create(&threads[2], 0, backs_off_politely, 0);
}
