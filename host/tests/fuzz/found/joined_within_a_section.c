/* A join within a section waits or not: that decides whether others make steps before the section goes on.
 * ends: 3 */
#include "fuzz.h"

static void *ends_at_once(void *unused) { return NULL; }

static void *joining_section(void *unused) {
  __VERIFIER_atomic_begin();
  o.x = 3;
  pthread_join(thread[1], NULL);
  o.y = o.x;
  __VERIFIER_atomic_end();
  return NULL;
}

COYOTE_TEST(joined_within_a_section) {
  pthread_create(&thread[1], NULL, ends_at_once, NULL);
  pthread_create(&thread[2], NULL, joining_section, NULL);
  o.x = 1;
  pthread_join(thread[2], NULL);
}
