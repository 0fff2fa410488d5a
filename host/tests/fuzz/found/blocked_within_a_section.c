/* A section is blocked in its midst or not: that decides whether others make steps before it goes on.
 * ends: 4 */
#include "fuzz.h"

static void *tries_and_goes_on(void *unused) {
  int busy = pthread_rwlock_trywrlock(&rwlock);
  keep(1, 1, busy);
  if (!busy)
    pthread_rwlock_unlock(&rwlock);
  o.x = 1;
  return NULL;
}

static void *blocked_section(void *unused) {
  __VERIFIER_atomic_begin();
  o.x = 3;
  pthread_rwlock_rdlock(&rwlock);
  o.y = o.x;
  __VERIFIER_atomic_end();
  return NULL;
}

COYOTE_TEST(blocked_within_a_section) {
  pthread_create(&thread[1], NULL, tries_and_goes_on, NULL);
  pthread_create(&thread[2], NULL, blocked_section, NULL);
  pthread_join(thread[1], NULL);
  pthread_join(thread[2], NULL);
}
