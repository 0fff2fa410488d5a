/* SCTBench's stack: one worker pushes, another one pops, each ten times under the lock. The flag says that
 * there was something once, and is never cleared.
 *
 * Expected: `stack` fails its assertion when more is popped than was pushed. `stack_correct`, which looks
 * at the stack instead of the flag, passes. */
#include <coyote.h>

#define SIZE 10
#define OVERFLOW (-1)
#define UNDERFLOW (-2)

static coyote_mutex lock = COYOTE_MUTEX_INIT;
static int elements[SIZE];
static int top;
static int flag;

static int push(int element) {
  if (top == SIZE) {
    return OVERFLOW;
  }
  elements[top] = element;
  top++;
  return 0;
}

static int pop(void) {
  if (top == 0) {
    return UNDERFLOW;
  }
  top--;
  return elements[top];
}

static void push_all(void *unused) {
  (void)unused;
  for (int i = 0; i < SIZE; i++) {
    coyote_mutex_lock(&lock);
    COYOTE_ASSERT(push(i) != OVERFLOW);
    flag = 1;
    coyote_mutex_unlock(&lock);
  }
}

static void pop_all(void *unused) {
  (void)unused;
  for (int i = 0; i < SIZE; i++) {
    coyote_mutex_lock(&lock);
    if (flag) {
      COYOTE_ASSERT(pop() != UNDERFLOW);
    }
    coyote_mutex_unlock(&lock);
  }
}

static void pop_what_is_there(void *unused) {
  (void)unused;
  for (int i = 0; i < SIZE; i++) {
    coyote_mutex_lock(&lock);
    if (top > 0) {
      COYOTE_ASSERT(pop() != UNDERFLOW);
    }
    coyote_mutex_unlock(&lock);
  }
}

static void run(void (*consumer)(void *)) {
  coyote_thread pushing, popping;
  coyote_thread_create(&pushing, push_all, NULL);
  coyote_thread_create(&popping, consumer, NULL);
  coyote_thread_join(&pushing);
  coyote_thread_join(&popping);
}

COYOTE_TEST(stack) { run(pop_all); }

COYOTE_TEST(stack_correct) { run(pop_what_is_there); }
