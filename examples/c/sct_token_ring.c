/* SCTBench's token_ring: three workers hand a value round, each in one atomic step, in no fixed order. A
 * fourth one expects the ring to be stable when all have had their turn.
 *
 * Expected: `token_ring` fails its assertion. */
#include <coyote.h>

/* Makes a step atomic. */
static coyote_mutex step = COYOTE_MUTEX_INIT;
static int x1 = 1, x2 = 2, x3 = 1;
static int flag1, flag2, flag3;

static void first(void *unused) {
  (void)unused;
  coyote_mutex_lock(&step);
  x1 = (x3 + 1) % 4;
  flag1 = 1;
  coyote_mutex_unlock(&step);
}

static void second(void *unused) {
  (void)unused;
  coyote_mutex_lock(&step);
  x2 = x1;
  flag2 = 1;
  coyote_mutex_unlock(&step);
}

static void third(void *unused) {
  (void)unused;
  coyote_mutex_lock(&step);
  x3 = x2;
  flag3 = 1;
  coyote_mutex_unlock(&step);
}

static void check(void *unused) {
  (void)unused;
  coyote_mutex_lock(&step);
  if (flag1 && flag2 && flag3) {
    COYOTE_ASSERT(x1 == x2 && x2 == x3);
  }
  coyote_mutex_unlock(&step);
}

/* Nobody is joined, as in the original. */
COYOTE_TEST(token_ring) {
  coyote_thread threads[4];
  coyote_thread_create(&threads[0], first, NULL);
  coyote_thread_create(&threads[1], second, NULL);
  coyote_thread_create(&threads[2], third, NULL);
  coyote_thread_create(&threads[3], check, NULL);
}
