/* A race with a step in the midst of an atomic section is reversed where the section begins.
 * ends: 2 */
#include "fuzz.h"

static void *in_a_section(void *unused) {
  __VERIFIER_atomic_begin();
  keep(1, 0, sem_init(&sem[0], 0, 0));
  o.y = 2;
  __VERIFIER_atomic_end();
  return unused;
}

static void *looks_in(void *unused) {
  keep(2, 0, o.y);
  return unused;
}

COYOTE_TEST(within_a_section) {
  pthread_create(&thread[1], NULL, in_a_section, NULL);
  pthread_create(&thread[2], NULL, looks_in, NULL);
  pthread_join(thread[1], NULL);
  pthread_join(thread[2], NULL);
}
