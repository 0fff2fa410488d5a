/* What POSIX says of pthread functions, in one thread: results, errors, values. The parts that need
 * several threads are in conformance_threads.c.
 *
 * flags: -D_GNU_SOURCE
 * Expected: passes. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* Types are at least as large as those of musl and glibc for 32 bits. */
_Static_assert(sizeof(pthread_mutex_t) >= 24 && sizeof(pthread_cond_t) >= 48, "");
_Static_assert(sizeof(pthread_rwlock_t) >= 32 && sizeof(pthread_barrier_t) >= 20, "");
_Static_assert(sizeof(pthread_attr_t) >= 36 && sizeof(sem_t) >= 16, "");
_Static_assert(sizeof(mtx_t) >= 24 && sizeof(cnd_t) >= 48, "");

static struct timespec in_ns(clockid_t clock, long nanoseconds) {
  struct timespec time;
  assert(clock_gettime(clock, &time) == 0);
  time.tv_nsec += nanoseconds;
  time.tv_sec += time.tv_nsec / 1000000000;
  time.tv_nsec %= 1000000000;
  return time;
}

static const struct timespec past = {.tv_sec = 0, .tv_nsec = 0};
static const struct timespec no_time = {.tv_sec = 1, .tv_nsec = 1000000000};

static void error_checking(pthread_mutex_t *mutex) {
  assert(pthread_mutex_unlock(mutex) == EPERM);
  assert(pthread_mutex_lock(mutex) == 0);
  assert(pthread_mutex_lock(mutex) == EDEADLK);
  assert(pthread_mutex_trylock(mutex) == EBUSY);
  assert(pthread_mutex_unlock(mutex) == 0);
  assert(pthread_mutex_unlock(mutex) == EPERM);
}

static void recursive(pthread_mutex_t *mutex) {
  assert(pthread_mutex_unlock(mutex) == EPERM);
  assert(pthread_mutex_lock(mutex) == 0);
  assert(pthread_mutex_lock(mutex) == 0);
  assert(pthread_mutex_trylock(mutex) == 0);
  assert(pthread_mutex_timedlock(mutex, &past) == 0);
  for (int i = 0; i < 4; i++) {
    assert(pthread_mutex_unlock(mutex) == 0);
  }
  assert(pthread_mutex_unlock(mutex) == EPERM);
}

static void mutexes(void) {
  static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
  static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  static pthread_mutex_t again = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  assert(pthread_mutex_lock(&normal) == 0);
  assert(pthread_mutex_trylock(&normal) == EBUSY);
  assert(pthread_mutex_timedlock(&normal, &past) == ETIMEDOUT);
  struct timespec soon = in_ns(CLOCK_REALTIME, 1000);
  assert(pthread_mutex_timedlock(&normal, &soon) == ETIMEDOUT);
  soon = in_ns(CLOCK_MONOTONIC, 1000);
  assert(pthread_mutex_clocklock(&normal, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
  assert(pthread_mutex_timedlock(&normal, &no_time) == EINVAL);
  assert(pthread_mutex_unlock(&normal) == 0);
  /* A time that is none does not matter where nothing blocks. */
  assert(pthread_mutex_timedlock(&normal, &no_time) == 0);
  assert(pthread_mutex_unlock(&normal) == 0);
  assert(pthread_mutex_destroy(&normal) == 0);
  error_checking(&checking);
  recursive(&again);

  pthread_mutexattr_t attributes;
  pthread_mutex_t made;
  int kind;
  assert(pthread_mutexattr_init(&attributes) == 0);
  assert(pthread_mutexattr_gettype(&attributes, &kind) == 0 && kind == PTHREAD_MUTEX_DEFAULT);
  assert(pthread_mutexattr_settype(&attributes, 7) == EINVAL);
  assert(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK) == 0);
  assert(pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) == 0);
  assert(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0);
  assert(pthread_mutexattr_gettype(&attributes, &kind) == 0 && kind == PTHREAD_MUTEX_ERRORCHECK);
  assert(pthread_mutex_init(&made, &attributes) == 0);
  error_checking(&made);
  assert(pthread_mutex_destroy(&made) == 0);
  assert(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE) == 0);
  assert(pthread_mutex_init(&made, &attributes) == 0);
  assert(pthread_mutexattr_destroy(&attributes) == 0);
  recursive(&made);
  assert(pthread_mutex_destroy(&made) == 0);
}

static void locks(void) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  assert(pthread_rwlock_rdlock(&lock) == 0);
  assert(pthread_rwlock_rdlock(&lock) == 0);
  assert(pthread_rwlock_tryrdlock(&lock) == 0);
  assert(pthread_rwlock_timedrdlock(&lock, &past) == 0);
  assert(pthread_rwlock_trywrlock(&lock) == EBUSY);
  assert(pthread_rwlock_timedwrlock(&lock, &past) == ETIMEDOUT);
  for (int i = 0; i < 4; i++) {
    assert(pthread_rwlock_unlock(&lock) == 0);
  }
  assert(pthread_rwlock_wrlock(&lock) == 0);
  assert(pthread_rwlock_tryrdlock(&lock) == EBUSY);
  assert(pthread_rwlock_trywrlock(&lock) == EBUSY);
  assert(pthread_rwlock_rdlock(&lock) == EDEADLK);
  assert(pthread_rwlock_unlock(&lock) == 0);
  assert(pthread_rwlock_destroy(&lock) == 0);
  assert(pthread_rwlock_init(&lock, NULL) == 0);
  assert(pthread_rwlock_timedwrlock(&lock, &past) == 0);
  assert(pthread_rwlock_unlock(&lock) == 0);

  pthread_spinlock_t spin;
  assert(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0);
  assert(pthread_spin_lock(&spin) == 0);
  assert(pthread_spin_trylock(&spin) == EBUSY);
  assert(pthread_spin_unlock(&spin) == 0);
  assert(pthread_spin_trylock(&spin) == 0);
  assert(pthread_spin_unlock(&spin) == 0);
  assert(pthread_spin_destroy(&spin) == 0);
}

static void semaphores(void) {
  sem_t semaphore;
  int value;
  assert(sem_init(&semaphore, 0, (unsigned)SEM_VALUE_MAX + 1) == -1 && errno == EINVAL);
  assert(sem_init(&semaphore, 0, 1) == 0);
  assert(sem_wait(&semaphore) == 0);
  assert(sem_trywait(&semaphore) == -1 && errno == EAGAIN);
  assert(sem_timedwait(&semaphore, &past) == -1 && errno == ETIMEDOUT);
  assert(sem_timedwait(&semaphore, &no_time) == -1 && errno == EINVAL);
  assert(sem_post(&semaphore) == 0);
  assert(sem_post(&semaphore) == 0);
  assert(sem_getvalue(&semaphore, &value) == 0 && value == 2);
  assert(sem_trywait(&semaphore) == 0);
  assert(sem_destroy(&semaphore) == 0);
  assert(sem_init(&semaphore, 0, SEM_VALUE_MAX) == 0);
  assert(sem_post(&semaphore) == -1 && errno == EOVERFLOW);
}

static void condition_variables(void) {
  pthread_cond_t condvar = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  assert(pthread_cond_signal(&condvar) == 0); /* nobody hears it, and it is not kept */
  assert(pthread_mutex_lock(&mutex) == 0);
  struct timespec soon = in_ns(CLOCK_REALTIME, 1000);
  assert(pthread_cond_timedwait(&condvar, &mutex, &soon) == ETIMEDOUT);
  assert(pthread_mutex_trylock(&mutex) == EBUSY); /* it is held again */
  assert(pthread_cond_timedwait(&condvar, &mutex, &no_time) == EINVAL);
  assert(pthread_cond_broadcast(&condvar) == 0);
  assert(pthread_cond_destroy(&condvar) == 0);
  pthread_condattr_t attributes;
  clockid_t clock;
  assert(pthread_condattr_init(&attributes) == 0);
  assert(pthread_condattr_getclock(&attributes, &clock) == 0 && clock == CLOCK_REALTIME);
  assert(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
  assert(pthread_condattr_getclock(&attributes, &clock) == 0 && clock == CLOCK_MONOTONIC);
  assert(pthread_cond_init(&condvar, &attributes) == 0);
  soon = in_ns(CLOCK_MONOTONIC, 1000);
  assert(pthread_cond_timedwait(&condvar, &mutex, &soon) == ETIMEDOUT);
  assert(clock_gettime(CLOCK_MONOTONIC, &soon) == 0); /* time has passed */
  assert(pthread_mutex_unlock(&mutex) == 0);
  assert(pthread_cond_destroy(&condvar) == 0);
}

static int calls;

static void count(void) {
  calls++;
}

static void once_and_keys(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static once_flag flag = ONCE_FLAG_INIT;
  for (int i = 0; i < 2; i++) {
    assert(pthread_once(&once, count) == 0);
    call_once(&flag, count);
  }
  assert(calls == 2);
  pthread_key_t key, other;
  assert(pthread_key_create(&key, NULL) == 0);
  assert(pthread_getspecific(key) == NULL);
  assert(pthread_setspecific(key, &key) == 0 && pthread_getspecific(key) == &key);
  assert(pthread_key_delete(key) == 0);
  assert(pthread_setspecific(key, &key) == EINVAL);
  assert(pthread_key_delete(key) == EINVAL);
  assert(pthread_key_create(&other, NULL) == 0);
  assert(pthread_getspecific(other) == NULL); /* also where it has the old one's number */
  int made = 1;
  while (pthread_key_create(&key, NULL) == 0) {
    made++;
  }
  assert(made == PTHREAD_KEYS_MAX && pthread_key_create(&key, NULL) == EAGAIN);
}

static void attributes(void) {
  pthread_attr_t attributes;
  int value;
  size_t size;
  void *stack;
  struct sched_param priority = {.sched_priority = 3};
  assert(pthread_attr_init(&attributes) == 0);
  assert(pthread_attr_getdetachstate(&attributes, &value) == 0 && value == PTHREAD_CREATE_JOINABLE);
  assert(pthread_attr_setdetachstate(&attributes, 5) == EINVAL);
  assert(pthread_attr_setstacksize(&attributes, 100) == EINVAL);
  assert(pthread_attr_setstacksize(&attributes, 1 << 16) == 0);
  assert(pthread_attr_getstacksize(&attributes, &size) == 0 && size == 1 << 16);
  assert(pthread_attr_getstack(&attributes, &stack, &size) == 0 && !stack);
  assert(pthread_attr_setscope(&attributes, PTHREAD_SCOPE_SYSTEM) == 0);
  assert(pthread_attr_setguardsize(&attributes, 4096) == 0);
  assert(pthread_attr_getguardsize(&attributes, &size) == 0 && size == 4096);
  assert(pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED) == 0);
  assert(pthread_attr_setschedpolicy(&attributes, SCHED_FIFO) == 0);
  assert(pthread_attr_setschedparam(&attributes, &priority) == 0);
  assert(pthread_attr_getschedparam(&attributes, &priority) == 0 && priority.sched_priority == 3);
  assert(pthread_attr_destroy(&attributes) == 0);
}

static void self(void) {
  char name[16];
  assert(pthread_equal(pthread_self(), pthread_self()));
  assert(thrd_equal(thrd_current(), pthread_self()));
  assert(pthread_join(pthread_self(), NULL) == EDEADLK);
  assert(pthread_setname_np(pthread_self(), "sixteen bytes...") == ERANGE);
  assert(pthread_setname_np(pthread_self(), "first") == 0);
  assert(pthread_getname_np(pthread_self(), name, 3) == ERANGE);
  assert(pthread_getname_np(pthread_self(), name, sizeof name) == 0 && !strcmp(name, "first"));
  assert(pthread_kill(pthread_self(), 0) == 0);
  int state;
  assert(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state) == 0);
  assert(pthread_setcancelstate(9, NULL) == EINVAL);
  pthread_testcancel();
  assert(pthread_setconcurrency(2) == 0 && sched_yield() == 0);
  cpu_set_t set;
  CPU_ZERO(&set);
  assert(pthread_getaffinity_np(pthread_self(), sizeof set, &set) == 0 && CPU_COUNT(&set) == 1);
  /* Functions that headers inline have addresses too. */
  int (*volatile lock)(pthread_mutex_t *) = pthread_mutex_lock;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  assert(lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
}

static void c11(void) {
  mtx_t mutex;
  cnd_t condvar;
  tss_t key;
  assert(mtx_init(&mutex, mtx_recursive | mtx_timed) == thrd_success);
  assert(mtx_lock(&mutex) == thrd_success && mtx_trylock(&mutex) == thrd_success);
  assert(mtx_unlock(&mutex) == thrd_success && mtx_unlock(&mutex) == thrd_success);
  mtx_destroy(&mutex);
  assert(mtx_init(&mutex, mtx_timed) == thrd_success);
  assert(mtx_lock(&mutex) == thrd_success && mtx_trylock(&mutex) == thrd_busy);
  assert(mtx_timedlock(&mutex, &past) == thrd_timedout);
  assert(cnd_init(&condvar) == thrd_success);
  assert(cnd_timedwait(&condvar, &mutex, &past) == thrd_timedout);
  assert(cnd_signal(&condvar) == thrd_success && cnd_broadcast(&condvar) == thrd_success);
  cnd_destroy(&condvar);
  assert(mtx_unlock(&mutex) == thrd_success);
  mtx_destroy(&mutex);
  /* All keys are taken by now. */
  assert(tss_create(&key, NULL) == thrd_error);
  struct timespec span = {.tv_sec = 0, .tv_nsec = 1000};
  assert(thrd_sleep(&span, NULL) == 0);
}

static void sleeping(void) {
  struct timespec before, after, span = {.tv_sec = 1, .tv_nsec = 0};
  assert(clock_gettime(CLOCK_MONOTONIC, &before) == 0);
  assert(nanosleep(&span, NULL) == 0 && usleep(1) == 0 && sleep(1) == 0);
  assert(clock_gettime(CLOCK_MONOTONIC, &after) == 0);
  assert(after.tv_sec >= before.tv_sec + 2);
}

int main(void) {
  mutexes();
  locks();
  semaphores();
  condition_variables();
  once_and_keys();
  attributes();
  self();
  c11();
  sleeping();
  return 0;
}
