// The dispatch loop of Singularity (CHESS, OSDI 2008, figure 3): `halt` returns at once if any notification is pending, so a
// loop that waits for another one spins without giving way. Corrected, it waits for its own.
// run: -i 256 --strategy random --test spins --detect good-samaritan
// exit: 2
// line: bug in test spins: good-samaritan: worker 0 can repeat a round of
// run: -i 1000 --test spins
// exit: 0
// run: -i 1000 --test corrected --detect good-samaritan
// exit: 0
#include "coyote.h"
#include <pthread.h>
#include <stdatomic.h>

static atomic_int pending[2];
static atomic_int dispatched[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t notified = PTHREAD_COND_INITIALIZER;

static void notify(int id) {
  pthread_mutex_lock(&mutex);
  atomic_store(&pending[id], 1);
  pthread_cond_broadcast(&notified);
  pthread_mutex_unlock(&mutex);
}

static int any_notification(void) {
  return atomic_load(&pending[0]) || atomic_load(&pending[1]);
}

/* Returns without sleeping if anything is pending. */
static void halt(void) {
  pthread_mutex_lock(&mutex);
  while (!any_notification()) {
    pthread_cond_wait(&notified, &mutex);
  }
  pthread_mutex_unlock(&mutex);
}

static void halt_until(int id) {
  pthread_mutex_lock(&mutex);
  while (!atomic_load(&pending[id])) {
    pthread_cond_wait(&notified, &mutex);
  }
  pthread_mutex_unlock(&mutex);
}

static void dispatch(int id, int corrected) {
  while (1) {
    if (corrected) {
      halt_until(id);
    } else {
      halt();
    }
    /* We wake up on any notification: dispatch only our own. */
    if (atomic_load(&pending[id])) {
      atomic_store(&dispatched[id], 1);
      break;
    }
  }
}

static void *device(void *unused) {
  (void)unused;
  notify(0);
  notify(1);
  return NULL;
}

static void boot(int corrected) {
  pthread_t thread;
  pthread_create(&thread, NULL, device, NULL);
  dispatch(1, corrected);
  pthread_join(thread, NULL);
}

COYOTE_TEST(spins) { boot(0); }
COYOTE_TEST(corrected) { boot(1); }
