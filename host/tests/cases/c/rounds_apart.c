// Loops that wait, retry, poll and give way, none of which can go on for ever in a round of steps that is fair: nothing is said
// of them. The last one is a starvation by its definition: the thread that waits is enabled now and again, and overtaken.
// flags: -g -O1
// run: --detect lassos,starvation,good-samaritan --races bug -i 50 --test *_ends
// exit: 0
// run: -s stateful --detect lassos,starvation,good-samaritan --test *_ends
// exit: 0
// run: -s random -i 50 --detect lassos,starvation,good-samaritan --races bug --test *_in_time
// exit: 0
// run: -s stateful --detect lassos,good-samaritan --test gives_way
// exit: 0
// run: -s stateful --detect starvation --no-shrink --test gives_way
// exit: 2
// line: bug in test gives_way: starvation: worker 0.1 can repeat a round of 4 steps for ever, in which worker 0.0 is enabled now and
#include <coyote.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

static atomic_int flag, turn, count;
static pthread_mutex_t mutex, other;
static pthread_cond_t condvar;
static pthread_rwlock_t rwlock;
static sem_t there, back;
static int data;

typedef void *thread(void *);

static void both(thread *first, thread *second) {
  pthread_t threads[2];
  sem_init(&there, 0, 0);
  sem_init(&back, 0, 0);
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
}

static void *sets(void *unused) {
  atomic_store(&flag, 1);
  return unused;
}

static void *polls(void *unused) {
  while (!atomic_load(&flag)) sched_yield();
  return unused;
}
COYOTE_TEST(poll_ends) { both(sets, polls); }

static void *naps(void *unused) {
  while (!atomic_load(&flag)) usleep(10);
  return unused;
}
COYOTE_TEST(naps_in_time) { both(sets, naps); }

static void *tries(void *unused) {
  while (pthread_mutex_trylock(&mutex)) sched_yield();
  data++;
  pthread_mutex_unlock(&mutex);
  return unused;
}
COYOTE_TEST(try_ends) { both(tries, tries); }

static void *signals(void *unused) {
  pthread_mutex_lock(&mutex);
  data = 1;
  pthread_mutex_unlock(&mutex);
  pthread_cond_signal(&condvar);
  return unused;
}

static void *waits_a_while(void *unused) {
  struct timespec until;
  pthread_mutex_lock(&mutex);
  while (!data) {
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_cond_timedwait(&condvar, &mutex, &until);
  }
  pthread_mutex_unlock(&mutex);
  return unused;
}
COYOTE_TEST(waits_in_time) { both(waits_a_while, signals); }

static void *answers(void *unused) {
  for (int round = 0; round < 2; round++) sem_wait(&there), data++, sem_post(&back);
  return unused;
}

static void *asks(void *unused) {
  for (int round = 0; round < 2; round++) sem_post(&there), sem_wait(&back), data++;
  return unused;
}
COYOTE_TEST(questions_ends) { both(answers, asks); }

static void *draws_a_number(void *unused) {
  int mine = atomic_fetch_add(&turn, 1);
  while (atomic_load(&count) != mine) sched_yield();
  data++;
  atomic_fetch_add(&count, 1);
  return unused;
}
COYOTE_TEST(numbers_ends) { both(draws_a_number, draws_a_number); }

static void *in_order(void *unused) {
  int mine = atomic_fetch_add(&turn, 1);
  pthread_mutex_lock(&mutex);
  while (data != mine) pthread_cond_wait(&condvar, &mutex);
  data++;
  pthread_cond_broadcast(&condvar);
  pthread_mutex_unlock(&mutex);
  return unused;
}
COYOTE_TEST(order_ends) { both(in_order, in_order); }

static void *reads(void *unused) {
  for (int round = 0; round < 2; round++) {
    pthread_rwlock_rdlock(&rwlock);
    COYOTE_ASSERT(data < 2);
    pthread_rwlock_unlock(&rwlock);
  }
  return unused;
}

static void *writes(void *unused) {
  pthread_rwlock_wrlock(&rwlock);
  data++;
  pthread_rwlock_unlock(&rwlock);
  return unused;
}
COYOTE_TEST(readers_ends) { both(reads, writes); }

static void *counts(void *unused) {
  int old = atomic_load(&count);
  while (!atomic_compare_exchange_weak(&count, &old, old + 1)) {}
  return unused;
}
COYOTE_TEST(count_ends) { both(counts, counts); }

static void *takes_both(void *unused) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_lock(&other);
  pthread_mutex_unlock(&other);
  pthread_mutex_unlock(&mutex);
  return unused;
}

static void *gives_back(void *unused) {
  pthread_mutex_lock(&other);
  while (pthread_mutex_trylock(&mutex)) {
    pthread_mutex_unlock(&other);
    sched_yield();
    pthread_mutex_lock(&other);
  }
  pthread_mutex_unlock(&mutex);
  pthread_mutex_unlock(&other);
  return unused;
}
COYOTE_TEST(gives_way) { both(takes_both, gives_back); }
