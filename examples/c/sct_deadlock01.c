/* SCTBench's deadlock01: two workers take two locks, in opposite orders.
 *
 * Expected: `deadlock01` deadlocks. `deadlock01_correct`, where the orders are the same, passes. */
#include <coyote.h>

static coyote_mutex a = COYOTE_MUTEX_INIT, b = COYOTE_MUTEX_INIT;
static int counter = 1;

static void a_then_b(void *unused) {
  (void)unused;
  coyote_mutex_lock(&a);
  coyote_mutex_lock(&b);
  counter++;
  coyote_mutex_unlock(&b);
  coyote_mutex_unlock(&a);
}

static void b_then_a(void *unused) {
  (void)unused;
  coyote_mutex_lock(&b);
  coyote_mutex_lock(&a);
  counter--;
  coyote_mutex_unlock(&a);
  coyote_mutex_unlock(&b);
}

static void run(void (*second)(void *)) {
  coyote_thread one, two;
  coyote_thread_create(&one, a_then_b, NULL);
  coyote_thread_create(&two, second, NULL);
  coyote_thread_join(&one);
  coyote_thread_join(&two);
}

COYOTE_TEST(deadlock01) { run(b_then_a); }

COYOTE_TEST(deadlock01_correct) { run(a_then_b); }
