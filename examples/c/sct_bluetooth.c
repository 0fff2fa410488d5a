/* SCTBench's bluetooth, after a Windows driver: a request looks whether the driver stops and then counts
 * itself in. In between the driver may stop, and the request uses what was released.
 *
 * Expected: `bluetooth` fails its assertion. `bluetooth_correct`, where a request counts itself in first,
 * passes. */
#include <coyote.h>
#include <stdatomic.h>

/* Requests in progress, and one for the driver itself. */
static atomic_int pending = 1;
/* volatile: each access stays where it is written. */
static volatile int stopping, nobody_left, stopped;

static void count_out(void) {
  if (atomic_fetch_sub(&pending, 1) == 1) {
    nobody_left = 1;
  }
}

static int count_in(void) {
  if (stopping) {
    return 0;
  }
  atomic_fetch_add(&pending, 1);
  return 1;
}

static int count_in_first(void) {
  atomic_fetch_add(&pending, 1);
  return !stopping;
}

static void stop(void *unused) {
  (void)unused;
  stopping = 1;
  count_out();
  if (nobody_left) {
    stopped = 1;
  }
}

static void request(int (*enter)(void)) {
  if (enter()) {
    COYOTE_ASSERT_MESSAGE(!stopped, "a request uses a driver that has stopped");
  }
  count_out();
}

static void run(int (*enter)(void)) {
  coyote_thread stopping_it;
  coyote_thread_create(&stopping_it, stop, NULL);
  request(enter);
  coyote_thread_join(&stopping_it);
}

COYOTE_TEST(bluetooth) { run(count_in); }

COYOTE_TEST(bluetooth_correct) { run(count_in_first); }
