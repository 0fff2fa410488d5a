/* The work-stealing queue of CHESS and SCTBench, after Cilk's THE protocol: its owner pushes and pops at
 * the tail, mostly without the lock; thieves steal at the head, under the lock. Who may find the queue
 * empty, or full, tries again under the lock.
 *
 * A thief moves the head before it looks whether there is something to steal, so for a moment the queue
 * seems to have one more free place. A push must leave that place free. The bug is that it does not: it
 * overwrites what the thief is about to take, and one item is done twice and another one never.
 *
 * Expected: `wsq` (one thief) and `wsq_2` (two) fail their assertion, `wsq_correct` and `wsq_2_correct`
 * pass. */
#include <coyote.h>
#include <stdatomic.h>

#define SIZE_AT_FIRST 2 /* a power of two */
#define SIZE_MAX_ITEMS (1024 * 1024)
#define ITEMS 4
#define STEALS 2

/* What is done once to each item. */
struct item {
  int times_done;
};

/* Items are at indices `head` to `tail - 1`, modulo the size. */
static struct {
  coyote_mutex lock;
  /* Moved by thieves, and by the owner under the lock. */
  atomic_long head;
  /* Moved by the owner. */
  atomic_long tail;
  /* Size of `items`, less 1. */
  long mask;
  struct item **items;
} queue;

static struct item items[ITEMS];

static void operate(struct item *item) { item->times_done++; }

static struct item *steal(void) {
  struct item *stolen = NULL;
  coyote_mutex_lock(&queue.lock);
  long h = queue.head;
  queue.head = h + 1;
  if (h < queue.tail) {
    stolen = queue.items[h & queue.mask];
  } else {
    queue.head = h;
  }
  coyote_mutex_unlock(&queue.lock);
  return stolen;
}

static struct item *pop_locked(void) {
  struct item *popped = NULL;
  coyote_mutex_lock(&queue.lock);
  long t = queue.tail - 1;
  queue.tail = t;
  if (queue.head <= t) {
    popped = queue.items[t & queue.mask];
  } else {
    queue.tail = t + 1;
  }
  if (queue.head > t) {
    queue.head = 0;
    queue.tail = 0;
    popped = NULL;
  }
  coyote_mutex_unlock(&queue.lock);
  return popped;
}

static struct item *pop(void) {
  long t = queue.tail - 1;
  queue.tail = t;
  if (queue.head <= t) {
    return queue.items[t & queue.mask];
  }
  queue.tail = t + 1;
  return pop_locked();
}

/* Under the lock: no thief. */
static void grow(long head, long count) {
  long size = 2 * (queue.mask + 1);
  COYOTE_ASSERT(size < SIZE_MAX_ITEMS);
  struct item **larger = malloc((size_t)size * sizeof *larger);
  COYOTE_ASSERT(larger != NULL);
  for (long i = 0; i < count; i++) {
    larger[i] = queue.items[(head + i) & queue.mask];
  }
  free(queue.items);
  queue.items = larger;
  queue.mask = size - 1;
  queue.head = 0;
  queue.tail = count;
}

static void push_locked(struct item *item) {
  coyote_mutex_lock(&queue.lock);
  long h = queue.head;
  long count = queue.tail - h;
  h &= queue.mask;
  queue.head = h;
  queue.tail = h + count;
  if (count >= queue.mask) {
    grow(h, count);
  }
  COYOTE_ASSERT(count < queue.mask);
  long t = queue.tail;
  queue.items[t & queue.mask] = item;
  queue.tail = t + 1;
  coyote_mutex_unlock(&queue.lock);
}

/* Leaves so many places free: 1 is correct. */
static void push(struct item *item, long spare) {
  long t = queue.tail;
  if (t < queue.head + queue.mask + 1 - spare && t < SIZE_MAX_ITEMS) {
    queue.items[t & queue.mask] = item;
    queue.tail = t + 1;
  } else {
    push_locked(item);
  }
}

static void steal_and_operate(void *unused) {
  (void)unused;
  for (int i = 0; i < STEALS; i++) {
    struct item *item = steal();
    if (item) {
      operate(item);
    }
  }
}

static void pop_and_operate(void) {
  struct item *item = pop();
  if (item) {
    operate(item);
  }
}

static void run(int thieves, long spare) {
  queue.mask = SIZE_AT_FIRST - 1;
  queue.items = malloc(SIZE_AT_FIRST * sizeof *queue.items);
  coyote_thread thief, another;
  coyote_thread_create(&thief, steal_and_operate, NULL);
  if (thieves > 1) {
    coyote_thread_create(&another, steal_and_operate, NULL);
  }
  for (int i = 0; i < ITEMS / 2; i++) {
    push(&items[2 * i], spare);
    push(&items[2 * i + 1], spare);
    pop_and_operate();
  }
  for (int i = 0; i < ITEMS / 2; i++) {
    pop_and_operate();
  }
  coyote_thread_join(&thief);
  if (thieves > 1) {
    coyote_thread_join(&another);
  }
  for (int i = 0; i < ITEMS; i++) {
    COYOTE_ASSERT_MESSAGE(items[i].times_done == 1, "an item was not done exactly once");
  }
}

COYOTE_TEST(wsq) { run(1, 0); }

COYOTE_TEST(wsq_2) { run(2, 0); }

COYOTE_TEST(wsq_correct) { run(1, 1); }

COYOTE_TEST(wsq_2_correct) { run(2, 1); }
