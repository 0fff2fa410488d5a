/* SCTBench's wronglock: one worker changes a value under its lock, others change it under another lock.
 *
 * Expected: `wronglock_3` (three others) fails its assertion. `wronglock_3_correct`, with one lock for all,
 * passes. */
#include <coyote.h>

static coyote_mutex data_lock = COYOTE_MUTEX_INIT, another_lock = COYOTE_MUTEX_INIT;
/* volatile: it is read again after it was written. */
static volatile int data;

static void change_and_check(void *unused) {
  (void)unused;
  coyote_mutex_lock(&data_lock);
  int before = data;
  data++;
  COYOTE_ASSERT(data == before + 1);
  coyote_mutex_unlock(&data_lock);
}

static void change_wrongly(void *unused) {
  (void)unused;
  coyote_mutex_lock(&another_lock);
  data++;
  coyote_mutex_unlock(&another_lock);
}

static void change(void *unused) {
  (void)unused;
  coyote_mutex_lock(&data_lock);
  data++;
  coyote_mutex_unlock(&data_lock);
}

static void run(void (*other)(void *)) {
  coyote_thread one, a, b, c;
  coyote_thread_create(&one, change_and_check, NULL);
  coyote_thread_create(&a, other, NULL);
  coyote_thread_create(&b, other, NULL);
  coyote_thread_create(&c, other, NULL);
  coyote_thread_join(&one);
  coyote_thread_join(&a);
  coyote_thread_join(&b);
  coyote_thread_join(&c);
}

COYOTE_TEST(wronglock_3) { run(change_wrongly); }

COYOTE_TEST(wronglock_3_correct) { run(change); }
