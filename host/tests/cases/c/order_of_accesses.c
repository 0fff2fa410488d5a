// What orders accesses of plain memory, and what only seems to: each way right, and without one part of it. No assertion could
// notice the difference.
// flags: -g -O1
// run: --races bug --detect lock-order,lassos,starvation -i 30 --test *_right
// exit: 0
// line: No bug found in 14 tests
// run: --races bug -s dpor --timeout 20 --test *_right
// exit: 0
// run: --races bug -s dpor --timeout 20 --no-shrink --test *_wrong
// exit: 2
// line: bug in test fences_wrong: data-race
// line: bug in test sequence_wrong: data-race
// line: bug in test failed_wrong: data-race
// line: bug in test refs_wrong: data-race
// line: bug in test barrier_wrong: data-race
// line: bug in test destructor_wrong: data-race
// line: bug in test once_wrong: data-race
// line: bug in test grandchild_wrong: data-race
// line: bug in test neighbours_wrong: data-race
// line: bug in test predicate_wrong: data-race
// line: bug in test tokens_wrong: data-race
// line: bug in test heap_wrong: data-race
// line: bug in test mixed_wrong: data-race
// line: bug in test try_wrong: data-race
#include <coyote.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int data, more, *kept;
static atomic_int flag, other, refs = 2;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condvar = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_t grandchild;
static const char *how;
static int broken;

static struct {
  unsigned char low, high;
} bytes;
static struct {
  unsigned low : 4, high : 4;
} bits;

static int is(const char *name) { return strcmp(how, name) == 0; }

static void initialise(void) { data = 7; }

static void at_end(void *value) { data = (int)(intptr_t)value; }

static void *writes(void *unused) {
  data = 3;
  return unused;
}

static void *first(void *unused) {
  if (is("fences")) {
    data = 1;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
  } else if (is("sequence")) {
    data = 1;
    atomic_store_explicit(&flag, 1, memory_order_release);
  } else if (is("failed")) {
    data = 1;
    atomic_store_explicit(&flag, 1, memory_order_release);
  } else if (is("refs")) {
    data = 1;
    if (atomic_fetch_sub_explicit(&refs, 1, memory_order_release) == 1) {
      if (!broken) atomic_thread_fence(memory_order_acquire);
      data = more;
    }
  } else if (is("barrier")) {
    data = 1;
    pthread_barrier_wait(&barrier);
    int seen = more;
    if (!broken) pthread_barrier_wait(&barrier);
    data = seen;
  } else if (is("destructor")) {
    pthread_setspecific(key, (void *)5);
  } else if (is("once")) {
    pthread_once(&once, initialise);
    more = data;
  } else if (is("grandchild")) {
    pthread_create(&grandchild, NULL, writes, NULL);
    if (!broken) pthread_join(grandchild, NULL);
  } else if (is("neighbours")) {
    if (broken) bits.low = 1;
    bytes.low = 1;
  } else if (is("predicate")) {
    data = 1;
    if (!broken) pthread_mutex_lock(&mutex);
    more = 1;
    if (!broken) pthread_mutex_unlock(&mutex);
    pthread_cond_signal(&condvar);
  } else if (is("tokens")) {
    data++;
    sem_post(&semaphore);
  } else if (is("heap")) {
    // The next thread may get the same block.
    int *block = malloc(sizeof *block);
    *block = 1;
    kept = block;
    if (!broken) free(block);
  } else if (is("mixed")) {
    atomic_fetch_add_explicit(&flag, 1, memory_order_relaxed);
  } else if (is("try")) {
    if (pthread_mutex_trylock(&mutex) == 0) {
      data++;
      pthread_mutex_unlock(&mutex);
    } else if (broken) {
      data++;
    }
  }
  return unused;
}

static void *second(void *unused) {
  int expected = 5;
  if (is("fences")) {
    if (atomic_load_explicit(&flag, memory_order_relaxed)) {
      // A relaxed store of what was seen passes nothing on.
      if (!broken) atomic_thread_fence(memory_order_acq_rel);
      atomic_store_explicit(&other, 1, memory_order_relaxed);
    }
  } else if (is("sequence")) {
    if (broken) {
      // Ends the sequence that the release store heads.
      if (atomic_load_explicit(&flag, memory_order_relaxed)) atomic_store_explicit(&flag, 2, memory_order_relaxed);
    } else {
      atomic_fetch_add_explicit(&flag, 1, memory_order_relaxed);
    }
  } else if (is("failed")) {
    memory_order fails = broken ? memory_order_relaxed : memory_order_acquire;
    if (!atomic_compare_exchange_strong_explicit(&flag, &expected, 6, memory_order_relaxed, fails) && expected == 1) {
      more = data;
    }
  } else if (is("barrier")) {
    more = 2;
    pthread_barrier_wait(&barrier);
    int seen = data;
    if (!broken) pthread_barrier_wait(&barrier);
    more = seen;
  } else if (is("once")) {
    if (broken) return (void *)(intptr_t)data;
    pthread_once(&once, initialise);
    return (void *)(intptr_t)data;
  } else if (is("refs")) {
    more = 1;
    if (atomic_fetch_sub_explicit(&refs, 1, memory_order_release) == 1) {
      if (!broken) atomic_thread_fence(memory_order_acquire);
      more = data;
    }
  } else if (is("neighbours")) {
    // Bytes are memory locations of their own, bit-fields beside each other are not.
    if (broken) bits.high = 1;
    bytes.high = 1;
  } else if (is("predicate")) {
    pthread_mutex_lock(&mutex);
    while (!more) pthread_cond_wait(&condvar, &mutex);
    pthread_mutex_unlock(&mutex);
    data++;
  } else if (is("heap")) {
    int *block = broken && kept ? kept : malloc(sizeof *block);
    *block = 1;
    free(block);
  } else if (is("tokens")) {
    if (!broken) sem_wait(&semaphore);
    data++;
  } else if (is("mixed")) {
    if (broken) memset((void *)&flag, 0, sizeof flag);
    return NULL;
  } else if (!is("destructor") && !is("grandchild")) {
    return first(unused);
  }
  return unused;
}

static void *third(void *unused) {
  if (is("fences") && atomic_load_explicit(&other, memory_order_relaxed)) {
    atomic_thread_fence(memory_order_acquire);
    more = data;
  }
  if (is("sequence") && atomic_load_explicit(&flag, memory_order_acquire) == 2) {
    more = data;
  }
  return unused;
}

static void explore(const char *name, int without) {
  pthread_t threads[3];
  how = name;
  broken = without;
  pthread_barrier_init(&barrier, NULL, 2);
  sem_init(&semaphore, 0, 0);
  pthread_key_create(&key, at_end);
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  pthread_create(&threads[2], NULL, third, NULL);
  if (is("destructor") && broken) data = 1;
  pthread_join(threads[0], NULL);
  if (is("grandchild") && broken) data = 1;
  pthread_join(threads[1], NULL);
  pthread_join(threads[2], NULL);
  // Each has ended, with its destructors.
  if (is("grandchild") && broken) pthread_join(grandchild, NULL);
  COYOTE_ASSERT(data + more < 99);
}

#define BOTH(name)                                  \
  COYOTE_TEST(name##_right) { explore(#name, 0); }  \
  COYOTE_TEST(name##_wrong) { explore(#name, 1); }

BOTH(fences)
BOTH(sequence)
BOTH(failed)
BOTH(refs)
BOTH(barrier)
BOTH(destructor)
BOTH(once)
BOTH(grandchild)
BOTH(neighbours)
BOTH(predicate)
BOTH(tokens)
BOTH(heap)
BOTH(mixed)
BOTH(try)
