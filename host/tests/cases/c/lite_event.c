// LiteEvent of PLINQ (CHESS, OSDI 2008, figure 2): made for one waiter. With two, who is done disposes of the kernel event
// between the allocation and the wait of the other. With the one waiter that it was made for, it is correct.
// run: -i 1000 --test two_waiters
// exit: 2
// line: bug in test two_waiters: assertion: the event to wait for is missing
// run: --strategy dpor --test two_waiters
// exit: 2
// line: bug in test two_waiters: 
// run: --strategy dpor --test one_waiter
// exit: 0
// run: -i 1000 --test one_waiter --detect lassos --detect starvation --detect good-samaritan
// exit: 0
#include "coyote.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

/* What the kernel makes for who has to wait. */
struct kevent {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int set;
};

enum { UNSIGNALLED, SIGNALLED };

static atomic_int state;
static struct kevent event = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
static _Atomic(struct kevent *) kevent;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void set(struct kevent *which) {
  pthread_mutex_lock(&which->mutex);
  which->set = 1;
  pthread_cond_broadcast(&which->changed);
  pthread_mutex_unlock(&which->mutex);
}

static void wait_for(struct kevent *which) {
  pthread_mutex_lock(&which->mutex);
  while (!which->set) {
    pthread_cond_wait(&which->changed, &which->mutex);
  }
  pthread_mutex_unlock(&which->mutex);
}

static void event_set(void) {
  atomic_store(&state, SIGNALLED);
  if (atomic_load(&kevent)) {
    pthread_mutex_lock(&lock);
    if (atomic_load(&kevent)) {
      set(atomic_load(&kevent));
    }
    pthread_mutex_unlock(&lock);
  }
}

static void event_wait(void) {
  if (atomic_load(&state) == SIGNALLED) {
    return;
  }
  pthread_mutex_lock(&lock);
  if (!atomic_load(&kevent)) {
    atomic_store(&kevent, &event);
    if (atomic_load(&state) == SIGNALLED) {
      set(&event);
    }
  }
  pthread_mutex_unlock(&lock);
  /* The kernel event can be gone here. */
  struct kevent *which = atomic_load(&kevent);
  if (!which) {
    coyote_fail("the event to wait for is missing");
  }
  wait_for(which);
}

static void event_dispose(void) {
  pthread_mutex_lock(&lock);
  atomic_store(&kevent, NULL);
  pthread_mutex_unlock(&lock);
}

static void *waiter(void *unused) {
  (void)unused;
  event_wait();
  event_dispose();
  return NULL;
}

static void run(int waiters) {
  pthread_t threads[2];
  for (int i = 0; i < waiters; i++) {
    pthread_create(&threads[i], NULL, waiter, NULL);
  }
  event_set();
  for (int i = 0; i < waiters; i++) {
    pthread_join(threads[i], NULL);
  }
}

COYOTE_TEST(one_waiter) { run(1); }
COYOTE_TEST(two_waiters) { run(2); }
