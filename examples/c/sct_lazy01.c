/* SCTBench's lazy01: two workers add 1 and 2 under the lock, and a third one, started first, does not
 * expect to come last.
 *
 * Expected: `lazy01` fails its assertion. `lazy01_correct`, which allows for both additions, passes. */
#include <coyote.h>

static coyote_mutex lock = COYOTE_MUTEX_INIT;
static int data;

static void add_1(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock);
  data++;
  coyote_mutex_unlock(&lock);
}

static void add_2(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock);
  data += 2;
  coyote_mutex_unlock(&lock);
}

static void check(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock);
  COYOTE_ASSERT(data < 3);
  coyote_mutex_unlock(&lock);
}

static void check_correctly(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock);
  COYOTE_ASSERT(data <= 3);
  coyote_mutex_unlock(&lock);
}

static void run(void (*checker)(void *)) {
  coyote_thread adding_1, adding_2, checking;
  coyote_thread_create(&checking, checker, NULL);
  coyote_thread_create(&adding_2, add_2, NULL);
  coyote_thread_create(&adding_1, add_1, NULL);
  coyote_thread_join(&adding_1);
  coyote_thread_join(&adding_2);
  coyote_thread_join(&checking);
}

COYOTE_TEST(lazy01) { run(check); }

COYOTE_TEST(lazy01_correct) { run(check_correctly); }
