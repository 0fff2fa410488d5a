// An object that is not thread-safe: calls that overlap, with a writer among them, are a bug; those under a lock and those
// that only read are none. The guard orders nothing: it hides no data race.
// run: -i 1000 --test unlocked
// exit: 2
// line: bug in test unlocked: assertion: an object that is not thread-safe is written
// run: --strategy dpor --test unlocked
// exit: 2
// line: bug in test unlocked: assertion: an object that is not thread-safe is written
// run: --strategy dpor --test reader_and_writer
// exit: 2
// line: bug in test reader_and_writer: assertion: an object that is not thread-safe is
// run: --strategy dpor --test readers
// exit: 0
// run: --strategy dpor --test locked
// exit: 0
// run: -i 1000 --test locked --detect races
// exit: 0
// run: -i 1000 --test one_after_the_other --detect races
// exit: 2
// line: bug in test one_after_the_other: data-race:
#include "coyote.h"
#include <pthread.h>
#include <stdatomic.h>

static coyote_unsafe guard;
static int stored;
static atomic_int done;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int size(void) {
  coyote_read_begin(&guard);
  int result = stored;
  coyote_read_end(&guard);
  return result;
}

/* A call that makes calls of the same object. */
static void add(void) {
  coyote_write_begin(&guard);
  stored = size() + 1;
  coyote_write_end(&guard);
}

static void *adds(void *unused) {
  add();
  return unused;
}
static void *reads(void *unused) {
  size();
  return unused;
}
static void *adds_locked(void *unused) {
  pthread_mutex_lock(&mutex);
  add();
  pthread_mutex_unlock(&mutex);
  return unused;
}

static void two(void *(*first)(void *), void *(*second)(void *)) {
  pthread_t a, b;
  pthread_create(&a, NULL, first, NULL);
  pthread_create(&b, NULL, second, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
}

COYOTE_TEST(unlocked) { two(adds, adds); }
COYOTE_TEST(reader_and_writer) { two(adds, reads); }
COYOTE_TEST(readers) { two(reads, reads); }
COYOTE_TEST(locked) { two(adds_locked, adds_locked); }

/* Calls that do not overlap, by a flag that orders nothing. */
static void *adds_first(void *unused) {
  add();
  atomic_store_explicit(&done, 1, memory_order_relaxed);
  return unused;
}
static void *adds_second(void *unused) {
  if (atomic_load_explicit(&done, memory_order_relaxed)) {
    add();
  }
  return unused;
}
COYOTE_TEST(one_after_the_other) { two(adds_first, adds_second); }
