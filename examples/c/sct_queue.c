/* SCTBench's queue: one worker enqueues, another one dequeues and compares with what was enqueued in the
 * round of the same number; they take turns by flags, after a first element. A round in which it is not a
 * worker's turn is lost, so the numbers part.
 *
 * Expected: `queue` fails its assertion. `queue_correct`, where both do all their rounds at once, passes. */
#include <coyote.h>

#define SIZE 20

static coyote_mutex lock = COYOTE_MUTEX_INIT;
static struct {
  int elements[SIZE];
  int head, tail, amount;
} queue;
static int stored[SIZE];
static int enqueue_flag = 1, dequeue_flag;

static void enqueue(int value) {
  queue.elements[queue.tail] = value;
  queue.amount++;
  queue.tail = queue.tail + 1 == SIZE ? 0 : queue.tail + 1;
}

static int dequeue(void) {
  int value = queue.elements[queue.head];
  queue.amount--;
  queue.head = queue.head + 1 == SIZE ? 0 : queue.head + 1;
  return value;
}

static void enqueue_by_turns(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock);
  enqueue(1);
  stored[0] = 1;
  coyote_mutex_unlock(&lock);
  for (int i = 1; i < SIZE; i++) {
    coyote_mutex_lock(&lock);
    if (enqueue_flag) {
      enqueue(i + 1);
      stored[i] = i + 1;
      enqueue_flag = 0;
      dequeue_flag = 1;
    }
    coyote_mutex_unlock(&lock);
  }
}

static void dequeue_by_turns(void *unused) {
  (void)unused;
  for (int i = 0; i < SIZE; i++) {
    coyote_mutex_lock(&lock);
    if (dequeue_flag) {
      COYOTE_ASSERT(dequeue() == stored[i]);
      dequeue_flag = 0;
      enqueue_flag = 1;
    }
    coyote_mutex_unlock(&lock);
  }
}

static void enqueue_at_once(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock);
  for (int i = 0; i < SIZE; i++) {
    enqueue(i + 1);
    stored[i] = i + 1;
  }
  dequeue_flag = 1;
  coyote_mutex_unlock(&lock);
}

static void dequeue_at_once(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock);
  for (int i = 0; dequeue_flag && i < SIZE; i++) {
    COYOTE_ASSERT(dequeue() == stored[i]);
  }
  coyote_mutex_unlock(&lock);
}

static void run(void (*producer)(void *), void (*consumer)(void *)) {
  coyote_thread producing, consuming;
  coyote_thread_create(&producing, producer, NULL);
  coyote_thread_create(&consuming, consumer, NULL);
  coyote_thread_join(&producing);
  coyote_thread_join(&consuming);
}

COYOTE_TEST(queue) { run(enqueue_by_turns, dequeue_by_turns); }

COYOTE_TEST(queue_correct) { run(enqueue_at_once, dequeue_at_once); }
