/* Three philosophers, three forks; each needs the fork on either side to eat.
 *
 * Expected: `left_first` deadlocks when all take their left fork before one takes its right one.
 * `ordered`, where each takes the fork with the lower number first, passes. */
#include <coyote.h>

#define PHILOSOPHERS 3

static coyote_mutex forks[PHILOSOPHERS];
/* Written under the locks of both forks beside it. */
static int meals[PHILOSOPHERS];

static void eat(int self, int first, int second) {
  coyote_mutex_lock(&forks[first]);
  coyote_mutex_lock(&forks[second]);
  meals[self]++;
  coyote_mutex_unlock(&forks[second]);
  coyote_mutex_unlock(&forks[first]);
}

static void dine_left_first(void *number) {
  int left = (int)(intptr_t)number;
  eat(left, left, (left + 1) % PHILOSOPHERS);
}

static void dine_ordered(void *number) {
  int left = (int)(intptr_t)number;
  int right = (left + 1) % PHILOSOPHERS;
  eat(left, left < right ? left : right, left < right ? right : left);
}

static void dine(void (*philosopher)(void *)) {
  coyote_thread threads[PHILOSOPHERS];
  for (int i = 0; i < PHILOSOPHERS; i++) {
    coyote_thread_create(&threads[i], philosopher, (void *)(intptr_t)i);
  }
  for (int i = 0; i < PHILOSOPHERS; i++) {
    coyote_thread_join(&threads[i]);
  }
  for (int i = 0; i < PHILOSOPHERS; i++) {
    COYOTE_ASSERT(meals[i] == 1);
  }
}

COYOTE_TEST(left_first) { dine(dine_left_first); }

COYOTE_TEST(ordered) { dine(dine_ordered); }
