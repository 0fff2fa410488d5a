/* A step within a section ends the execution: what others would have done is tried where the section begins.
 * ends: 4 */
#include "fuzz.h"

static void *waits_in_a_section(void *unused) {
  __VERIFIER_atomic_begin();
  keep(1, 0, pthread_barrier_wait(&barrier));
  __VERIFIER_atomic_end();
  return NULL;
}

static void *makes_it_anew(void *unused) {
  keep(2, 0, pthread_barrier_init(&barrier, NULL, 2));
  return NULL;
}

COYOTE_TEST(ends_within_a_section) {
  prepare();
  pthread_create(&thread[1], NULL, waits_in_a_section, NULL);
  pthread_create(&thread[2], NULL, makes_it_anew, NULL);
  keep(0, 0, pthread_barrier_destroy(&barrier));
  pthread_join(thread[1], NULL);
  pthread_join(thread[2], NULL);
}
