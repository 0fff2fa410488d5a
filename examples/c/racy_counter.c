/* Two workers add 1 to a counter without a lock: both may read 0 before one writes 1.
 *
 * Expected: `racy` fails its assertion. With a lock (`locked`) or an atomic addition (`atomic`) it
 * passes. */
#include <coyote.h>
#include <stdatomic.h>

static int x;
static atomic_int y;
static coyote_mutex lock = COYOTE_MUTEX_INIT;

static void add(void *unused) {
  (void)unused;
  x = x + 1;
}

static void add_locked(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock);
  x = x + 1;
  coyote_mutex_unlock(&lock);
}

static void add_atomically(void *unused) {
  (void)unused;
  atomic_fetch_add(&y, 1);
}

static void run_twice(void (*entry)(void *)) {
  coyote_thread a, b;
  coyote_thread_create(&a, entry, NULL);
  coyote_thread_create(&b, entry, NULL);
  coyote_thread_join(&a);
  coyote_thread_join(&b);
}

COYOTE_TEST(racy) {
  run_twice(add);
  COYOTE_ASSERT(x == 2);
}

COYOTE_TEST(locked) {
  run_twice(add_locked);
  COYOTE_ASSERT(x == 2);
}

COYOTE_TEST(atomic) {
  run_twice(add_atomically);
  COYOTE_ASSERT(y == 2);
}
