/* One thread pushes, another one pops, each ten times under the lock. The flag says that there was
 * something once, and is never cleared. After SCTBench's stack.
 *
 * Expected: the assertion fails when more is popped than was pushed. */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

enum { SIZE = 10, OVERFLOW = -1, UNDERFLOW = -2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int elements[SIZE];
static int top;
static bool filled;

static int push(int element) {
  if (top == SIZE) {
    return OVERFLOW;
  }
  elements[top++] = element;
  return 0;
}

static int pop(void) {
  return top == 0 ? UNDERFLOW : elements[--top];
}

static void *push_all(void *unused) {
  for (int i = 0; i < SIZE; i++) {
    pthread_mutex_lock(&lock);
    int pushed = push(i);
    assert(pushed != OVERFLOW);
    filled = true;
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

static void *pop_all(void *unused) {
  for (int i = 0; i < SIZE; i++) {
    pthread_mutex_lock(&lock);
    if (filled) {
      int popped = pop();
      assert(popped != UNDERFLOW);
    }
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

int main(void) {
  pthread_t pusher, popper;
  pthread_create(&pusher, NULL, push_all, NULL);
  pthread_create(&popper, NULL, pop_all, NULL);
  pthread_join(pusher, NULL);
  pthread_join(popper, NULL);
}
