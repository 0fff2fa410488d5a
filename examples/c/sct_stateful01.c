/* SCTBench's stateful01 in its correct version: two workers change two values under one lock, one after
 * the other; the order does not matter to the sums.
 *
 * Expected: passes. */
#include <coyote.h>

static coyote_mutex lock = COYOTE_MUTEX_INIT;
static int data_1 = 10, data_2 = 10;

static void add(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock);
  data_1++;
  coyote_mutex_unlock(&lock);

  coyote_mutex_lock(&lock);
  data_2++;
  coyote_mutex_unlock(&lock);
}

static void add_and_subtract(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock);
  data_1 += 5;
  coyote_mutex_unlock(&lock);

  coyote_mutex_lock(&lock);
  data_2 -= 6;
  coyote_mutex_unlock(&lock);
}

COYOTE_TEST(stateful01_correct) {
  coyote_thread a, b;
  coyote_thread_create(&a, add, NULL);
  coyote_thread_create(&b, add_and_subtract, NULL);
  coyote_thread_join(&a);
  coyote_thread_join(&b);
  COYOTE_ASSERT(data_1 == 16 && data_2 == 5);
}
