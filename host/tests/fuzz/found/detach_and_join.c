/* What is known of a thread decides whether it can be joined.
 * ends: 2
 * open: dpor dfs+hb preemption-bounding+hb delay-bounding+hb */
#include "fuzz.h"

static void *does_nothing(void *unused) {
  return unused;
}

COYOTE_TEST(detach_and_join) {
  pthread_create(&thread[1], NULL, does_nothing, NULL);
  pthread_create(&thread[2], NULL, does_nothing, NULL);
  pthread_detach(thread[2]);
  pointer[1] = malloc(4);
  pthread_join(thread[1], NULL);
  pthread_join(thread[2], NULL);
}
