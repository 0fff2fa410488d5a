/* What POSIX says of pthread functions, among several threads. Each part is small: what it says has to
 * hold in every schedule.
 *
 * flags: -D_GNU_SOURCE
 * Expected: passes. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

static _Thread_local int own = 7;
static _Thread_local int zero;

static void *thread_locals(void *argument) {
  assert(own == 7 && zero == 0);
  own = zero = *(int *)argument;
  sched_yield();
  assert(own == *(int *)argument && zero == own);
  return &own;
}

/* Values of their own, results, identifiers. */
static void threads(void) {
  int numbers[] = {1, 2};
  pthread_t one, two;
  void *first, *second;
  own = 9;
  assert(pthread_create(&one, NULL, thread_locals, &numbers[0]) == 0);
  assert(pthread_create(&two, NULL, thread_locals, &numbers[1]) == 0);
  assert(!pthread_equal(one, two) && !pthread_equal(one, pthread_self()));
  assert(pthread_join(one, &first) == 0 && pthread_join(two, &second) == 0);
  assert(first != &own && second != &own && own == 9);
}

static pthread_key_t key;
static atomic_int destroyed, cleaned;

static void destroy(void *value) {
  destroyed += *(int *)value;
  if (destroyed == 1) {
    pthread_setspecific(key, value); /* the second round takes it */
  }
}

static void clean(void *value) {
  cleaned += *(int *)value;
}

static void nested_exit(void *argument) {
  pthread_cleanup_push(clean, argument);
  pthread_cleanup_push(clean, argument);
  pthread_cleanup_pop(0);
  pthread_exit(argument);
  pthread_cleanup_pop(1);
}

static void *with_key(void *argument) {
  assert(pthread_getspecific(key) == NULL);
  assert(pthread_setspecific(key, argument) == 0);
  nested_exit(argument);
  assert(!"not reached");
}

static void ends(void) {
  static int one = 1;
  pthread_t thread;
  void *result;
  assert(pthread_key_create(&key, destroy) == 0);
  assert(pthread_create(&thread, NULL, with_key, &one) == 0);
  assert(pthread_join(thread, &result) == 0 && result == &one);
  assert(destroyed == 2 && cleaned == 1);
}

/* Declared without an argument, or without a result, as old programs do. */
static atomic_int came;

static void *no_argument() {
  came += 1;
  return &came;
}

static void no_result(void *argument) {
  came += *(int *)argument;
}

static void neither() {
  came += 100;
}

static void wrong_types(void) {
#pragma clang diagnostic ignored "-Wcast-function-type-mismatch"
#pragma clang diagnostic ignored "-Wcast-function-type"
  int ten = 10;
  pthread_t threads[3];
  void *result;
  pthread_create(&threads[0], NULL, (void *(*)(void *))no_argument, NULL);
  pthread_create(&threads[1], NULL, (void *(*)(void *))no_result, &ten);
  pthread_create(&threads[2], NULL, (void *(*)(void *))neither, NULL);
  assert(pthread_join(threads[0], &result) == 0 && result == &came);
  assert(pthread_join(threads[1], NULL) == 0);
  assert(pthread_join(threads[2], &result) == 0 && result == NULL);
  assert(came == 111);
}

static pthread_barrier_t barrier;
static atomic_int arrived, serial;

static void *arrive(void *unused) {
  arrived++;
  int result = pthread_barrier_wait(&barrier);
  assert(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
  assert(arrived == 2);
  serial += result == PTHREAD_BARRIER_SERIAL_THREAD;
  return unused;
}

static void barriers(void) {
  pthread_t one, two;
  assert(pthread_barrier_init(&barrier, NULL, 0) == EINVAL);
  assert(pthread_barrier_init(&barrier, NULL, 2) == 0);
  pthread_create(&one, NULL, arrive, NULL);
  pthread_create(&two, NULL, arrive, NULL);
  pthread_join(one, NULL);
  pthread_join(two, NULL);
  assert(serial == 1 && pthread_barrier_destroy(&barrier) == 0);
}

static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t posted;

static void *others_mutex(void *unused) {
  assert(pthread_mutex_unlock(&checking) == EPERM);
  assert(pthread_mutex_trylock(&checking) == EBUSY);
  assert(pthread_rwlock_tryrdlock(&rwlock) == 0);
  assert(pthread_rwlock_trywrlock(&rwlock) == EBUSY);
  assert(pthread_rwlock_unlock(&rwlock) == 0);
  assert(sem_post(&posted) == 0);
  return unused;
}

static void ownership(void) {
  pthread_t thread;
  assert(sem_init(&posted, 0, 0) == 0);
  assert(pthread_mutex_lock(&checking) == 0 && pthread_rwlock_rdlock(&rwlock) == 0);
  pthread_create(&thread, NULL, others_mutex, NULL);
  assert(sem_wait(&posted) == 0);
  assert(pthread_mutex_unlock(&checking) == 0 && pthread_rwlock_unlock(&rwlock) == 0);
  assert(pthread_join(thread, NULL) == 0);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int state;

static void *change(void *unused) {
  pthread_mutex_lock(&lock);
  state = 1;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  return unused;
}

/* Detached, by its attributes; its stack is the program's. */
static void waiting(void) {
  static char stack[16384];
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstack(&attributes, stack, sizeof stack);
  pthread_mutex_lock(&lock);
  pthread_create(&thread, &attributes, change, NULL);
  while (!state) {
    pthread_cond_wait(&changed, &lock);
  }
  pthread_mutex_unlock(&lock);
}

static once_flag flag = ONCE_FLAG_INIT;
static int initialised;

static void initialise(void) {
  initialised++;
}

static int c11_thread(void *argument) {
  call_once(&flag, initialise);
  assert(initialised == 1);
  return *(int *)argument;
}

static void c11(void) {
  int five = 5, result;
  thrd_t thread;
  assert(thrd_create(&thread, c11_thread, &five) == thrd_success);
  call_once(&flag, initialise);
  assert(thrd_join(thread, &result) == thrd_success && result == 5 && initialised == 1);
}

static void *after_main(void *unused) {
  usleep(10);
  return unused;
}

int main(void) {
  threads();
  ends();
  wrong_types();
  barriers();
  ownership();
  waiting();
  c11();
  pthread_t thread;
  pthread_create(&thread, NULL, after_main, NULL);
  assert(pthread_detach(thread) == 0);
  assert(pthread_join(thread, NULL) == EINVAL);
  pthread_exit(NULL); /* the program ends when that thread does */
}
