// Operations on sync objects that nothing orders with the objects' initialisation or destruction are data races, though
// they come in the right order in each schedule. `released`: the same, ordered.
// flags: -g -O1
// run: --races bug -s dpor -- mutex init
// exit: 2
// line: data-race: use of the mutex `
// line: which nothing orders with the initialisation by worker 0
// run: --races bug -s dpor -- mutex init released
// exit: 0
// run: --races bug -s dpor -- mutex destroy
// exit: 2
// line: data-race: destruction of the mutex `
// line: which nothing orders with the use by
// run: --races bug -s dpor -- mutex destroy released
// exit: 0
// run: --races bug -s dpor -- rwlock init
// exit: 2
// line: data-race: use of the rwlock `
// line: which nothing orders with the initialisation by worker 0
// run: --races bug -s dpor -- rwlock init released
// exit: 0
// run: --races bug -s dpor -- rwlock destroy
// exit: 2
// line: data-race: destruction of the rwlock `
// line: which nothing orders with the use by
// run: --races bug -s dpor -- rwlock destroy released
// exit: 0
// run: --races bug -s dpor -- spin init
// exit: 2
// line: data-race: use of the mutex `
// line: which nothing orders with the initialisation by worker 0
// run: --races bug -s dpor -- spin init released
// exit: 0
// run: --races bug -s dpor -- spin destroy
// exit: 2
// line: data-race: destruction of the mutex `
// line: which nothing orders with the use by
// run: --races bug -s dpor -- spin destroy released
// exit: 0
// run: --races bug -s dpor -- condvar init
// exit: 2
// line: data-race: use of the condvar `
// line: which nothing orders with the initialisation by worker 0
// run: --races bug -s dpor -- condvar init released
// exit: 0
// run: --races bug -s dpor -- condvar destroy
// exit: 2
// line: data-race: destruction of the condvar `
// line: which nothing orders with the use by
// run: --races bug -s dpor -- condvar destroy released
// exit: 0
// run: --races bug -s dpor -- barrier init
// exit: 2
// line: data-race: use of the barrier `
// line: which nothing orders with the initialisation by worker 0
// run: --races bug -s dpor -- barrier init released
// exit: 0
// run: --races bug -s dpor -- barrier destroy
// exit: 2
// line: data-race: destruction of the barrier `
// line: which nothing orders with the use by
// run: --races bug -s dpor -- barrier destroy released
// exit: 0
// run: --races bug -s dpor -- semaphore init
// exit: 2
// line: data-race: use of the semaphore `
// line: which nothing orders with the initialisation by worker 0
// run: --races bug -s dpor -- semaphore init released
// exit: 0
// run: --races bug -s dpor -- semaphore destroy
// exit: 2
// line: data-race: destruction of the semaphore `
// line: which nothing orders with the use by
// run: --races bug -s dpor -- semaphore destroy released
// exit: 0
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct object {
  pthread_mutex_t mutex;
  pthread_rwlock_t rwlock;
  pthread_spinlock_t spin;
  pthread_cond_t condvar;
  pthread_barrier_t barrier;
  sem_t semaphore;
};

struct kind {
  const char *name;
  void (*init)(struct object *);
  void (*use)(struct object *);
  void (*destroy)(struct object *);
};

static void mutex_init(struct object *o) { pthread_mutex_init(&o->mutex, NULL); }
static void mutex_destroy(struct object *o) { pthread_mutex_destroy(&o->mutex); }
static void mutex_use(struct object *o) {
  pthread_mutex_lock(&o->mutex);
  pthread_mutex_unlock(&o->mutex);
}

static void rwlock_init(struct object *o) { pthread_rwlock_init(&o->rwlock, NULL); }
static void rwlock_destroy(struct object *o) { pthread_rwlock_destroy(&o->rwlock); }
static void rwlock_use(struct object *o) {
  pthread_rwlock_rdlock(&o->rwlock);
  pthread_rwlock_unlock(&o->rwlock);
}

static void spin_init(struct object *o) { pthread_spin_init(&o->spin, 0); }
static void spin_destroy(struct object *o) { pthread_spin_destroy(&o->spin); }
static void spin_use(struct object *o) {
  if (pthread_spin_trylock(&o->spin) == 0) {
    pthread_spin_unlock(&o->spin);
  }
}

static void condvar_init(struct object *o) { pthread_cond_init(&o->condvar, NULL); }
static void condvar_destroy(struct object *o) { pthread_cond_destroy(&o->condvar); }
static void condvar_use(struct object *o) { pthread_cond_signal(&o->condvar); }

static void barrier_init(struct object *o) { pthread_barrier_init(&o->barrier, NULL, 1); }
static void barrier_destroy(struct object *o) { pthread_barrier_destroy(&o->barrier); }
static void barrier_use(struct object *o) { pthread_barrier_wait(&o->barrier); }

static void semaphore_init(struct object *o) { sem_init(&o->semaphore, 0, 1); }
static void semaphore_destroy(struct object *o) { sem_destroy(&o->semaphore); }
static void semaphore_use(struct object *o) { sem_post(&o->semaphore); }

#define KIND(name) {#name, name##_init, name##_use, name##_destroy}
static const struct kind KINDS[] = {KIND(mutex),   KIND(rwlock),  KIND(spin),
                                    KIND(condvar), KIND(barrier), KIND(semaphore)};

static const struct kind *kind;
static _Bool released;
static struct object destroyed;
static _Atomic(struct object *) published;
static atomic_int used;

/* Accesses whose order decides whether the test is correct. */
static struct object *receive(void) {
  return released ? atomic_load_explicit(&published, memory_order_acquire)
                  : atomic_load_explicit(&published, memory_order_relaxed);
}

static void publish(struct object *o) {
  if (released) {
    atomic_store_explicit(&published, o, memory_order_release);
  } else {
    atomic_store_explicit(&published, o, memory_order_relaxed);
  }
}

static void *consumer(void *unused) {
  struct object *o = receive();
  if (o) {
    kind->use(o);
  }
  return unused;
}

static void *user(void *unused) {
  kind->use(&destroyed);
  if (released) {
    atomic_store_explicit(&used, 1, memory_order_release);
  } else {
    atomic_store_explicit(&used, 1, memory_order_relaxed);
  }
  return unused;
}

static _Bool was_used(void) {
  return released ? atomic_load_explicit(&used, memory_order_acquire)
                  : atomic_load_explicit(&used, memory_order_relaxed);
}

int main(int count, char **arguments) {
  pthread_t thread;
  for (unsigned i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
    if (strcmp(KINDS[i].name, arguments[1]) == 0) {
      kind = &KINDS[i];
    }
  }
  released = count > 3;
  if (strcmp(arguments[2], "init") == 0) {
    struct object *o = calloc(1, sizeof *o);
    pthread_create(&thread, NULL, consumer, NULL);
    kind->init(o);
    publish(o);
    pthread_join(thread, NULL);
    kind->destroy(o);
    free(o);
  } else {
    kind->init(&destroyed);
    pthread_create(&thread, NULL, user, NULL);
    if (was_used()) {
      kind->destroy(&destroyed);
    }
    pthread_join(thread, NULL);
  }
  return 0;
}
