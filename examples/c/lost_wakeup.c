/* A consumer waits for a flag. The producer signals without holding the lock, so its signal can fall
 * between the consumer's look at the flag and its wait, where nobody hears it.
 *
 * Expected: `lost` deadlocks: main waits for the consumer, and the consumer for ever. `heard`, where the
 * flag is set and signalled under the lock, passes. */
#include <coyote.h>
#include <stdatomic.h>

static atomic_int ready;
static coyote_mutex lock = COYOTE_MUTEX_INIT;
static coyote_condvar changed = COYOTE_CONDVAR_INIT;

static void consume(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock);
  while (!ready) {
    coyote_condvar_wait(&changed, &lock);
  }
  coyote_mutex_unlock(&lock);
}

COYOTE_TEST(lost) {
  coyote_thread consumer;
  coyote_thread_create(&consumer, consume, NULL);
  ready = 1;
  coyote_condvar_signal(&changed);
  coyote_thread_join(&consumer);
}

COYOTE_TEST(heard) {
  coyote_thread consumer;
  coyote_thread_create(&consumer, consume, NULL);
  coyote_mutex_lock(&lock);
  ready = 1;
  coyote_condvar_signal(&changed);
  coyote_mutex_unlock(&lock);
  coyote_thread_join(&consumer);
}
