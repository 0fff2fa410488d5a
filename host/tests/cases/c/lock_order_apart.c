// Locks that are taken in opposite orders by threads that cannot wait for each other: nothing is said. Where one part of what
// keeps them apart is missing, a deadlock is found.
// flags: -g -O1
// run: --detect lock-order -i 20 --test *_right
// exit: 0
// absent: Potential
// run: -s dpor --test *_right
// exit: 0
// run: --detect lock-order -i 20 --no-shrink --test *_wrong
// exit: 2
// line: bug in test gate_wrong: deadlock
// line: bug in test writer_wrong: deadlock
// line: bug in test try_wrong: deadlock
// line: bug in test readers_wrong: deadlock
// line: bug in test condvar_wrong: deadlock
// line: bug in test join_wrong: deadlock
// line: bug in test three_wrong: deadlock
#include <coyote.h>
#include <pthread.h>

static pthread_mutex_t a, b, gate, nested;
static pthread_rwlock_t left, right;
static pthread_cond_t condvar;
static int ready, broken;

typedef void *thread(void *);

static void a_then_b(void) {
  pthread_mutex_lock(&a);
  pthread_mutex_lock(&b);
  pthread_mutex_unlock(&b);
  pthread_mutex_unlock(&a);
}

static void b_then_a(void) {
  pthread_mutex_lock(&b);
  pthread_mutex_lock(&a);
  pthread_mutex_unlock(&a);
  pthread_mutex_unlock(&b);
}

static void both(thread *first, thread *second) {
  pthread_t threads[2];
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&nested, &attributes);
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
}

#define BOTH(name)                                                            \
  COYOTE_TEST(name##_right) { broken = 0, both(name##_first, name##_second); } \
  COYOTE_TEST(name##_wrong) { broken = 1, both(name##_first, name##_second); }

static void *gate_first(void *unused) {
  pthread_mutex_lock(&gate);
  a_then_b();
  pthread_mutex_unlock(&gate);
  return unused;
}
static void *gate_second(void *unused) {
  if (!broken) pthread_mutex_lock(&gate);
  b_then_a();
  if (!broken) pthread_mutex_unlock(&gate);
  return unused;
}
BOTH(gate)

// A writer and a reader exclude each other, two readers do not.
static void *writer_first(void *unused) {
  broken ? pthread_rwlock_rdlock(&left) : pthread_rwlock_wrlock(&left);
  a_then_b();
  pthread_rwlock_unlock(&left);
  return unused;
}
static void *writer_second(void *unused) {
  pthread_rwlock_rdlock(&left);
  b_then_a();
  pthread_rwlock_unlock(&left);
  return unused;
}
BOTH(writer)

static void *try_first(void *unused) {
  pthread_mutex_lock(&a);
  if ((broken ? pthread_mutex_lock(&b) : pthread_mutex_trylock(&b)) == 0) pthread_mutex_unlock(&b);
  pthread_mutex_unlock(&a);
  return unused;
}
static void *try_second(void *unused) {
  b_then_a();
  return unused;
}
BOTH(try)

static void *readers_first(void *unused) {
  pthread_rwlock_rdlock(&left);
  broken ? pthread_rwlock_wrlock(&right) : pthread_rwlock_rdlock(&right);
  pthread_rwlock_unlock(&right);
  pthread_rwlock_unlock(&left);
  return unused;
}
static void *readers_second(void *unused) {
  pthread_rwlock_rdlock(&right);
  broken ? pthread_rwlock_wrlock(&left) : pthread_rwlock_rdlock(&left);
  pthread_rwlock_unlock(&left);
  pthread_rwlock_unlock(&right);
  return unused;
}
BOTH(readers)

// A wait takes its mutex again, after what is held around it.
static void *condvar_first(void *unused) {
  pthread_mutex_t *outer = broken ? &b : &a, *inner = broken ? &a : &b;
  pthread_mutex_lock(&a);
  pthread_mutex_lock(&b);
  while (!ready) pthread_cond_wait(&condvar, inner);
  pthread_mutex_unlock(inner);
  pthread_mutex_unlock(outer);
  return unused;
}
static void *condvar_second(void *unused) {
  pthread_mutex_t *inner = broken ? &a : &b;
  pthread_mutex_lock(inner);
  ready = 1;
  pthread_cond_signal(&condvar);
  pthread_mutex_unlock(inner);
  if (broken) a_then_b();
  return unused;
}
BOTH(condvar)

// Taken again by the thread that has it, in whatever order.
static void *again(void *unused) {
  pthread_mutex_lock(&nested);
  pthread_mutex_lock(&a);
  pthread_mutex_lock(&nested);
  pthread_mutex_unlock(&nested);
  pthread_mutex_unlock(&a);
  pthread_mutex_unlock(&nested);
  return unused;
}
COYOTE_TEST(again_right) { both(again, again); }

static void *join_last(void *unused) {
  b_then_a();
  return unused;
}
static void *join_first(void *unused) {
  a_then_b();
  return unused;
}
static void *join_middle(void *unused) {
  pthread_t first;
  pthread_create(&first, NULL, join_first, NULL);
  if (!broken) pthread_join(first, NULL);
  pthread_t last;
  pthread_create(&last, NULL, join_last, NULL);
  pthread_join(last, NULL);
  if (broken) pthread_join(first, NULL);
  return unused;
}
static void *nothing(void *unused) { return unused; }
COYOTE_TEST(join_right) { broken = 0, both(join_middle, nothing); }
COYOTE_TEST(join_wrong) { broken = 1, both(join_middle, nothing); }

// A circle of three, of which the third one takes its locks only in the order of all.
static void *three_first(void *unused) {
  pthread_t third;
  pthread_create(&third, NULL, join_first, NULL);
  pthread_mutex_lock(&gate);
  pthread_mutex_lock(&a);
  pthread_mutex_unlock(&a);
  pthread_mutex_unlock(&gate);
  pthread_join(third, NULL);
  return unused;
}
static void *three_second(void *unused) {
  pthread_mutex_lock(broken ? &b : &gate);
  pthread_mutex_lock(broken ? &gate : &b);
  pthread_mutex_unlock(broken ? &gate : &b);
  pthread_mutex_unlock(broken ? &b : &gate);
  return unused;
}
BOTH(three)
