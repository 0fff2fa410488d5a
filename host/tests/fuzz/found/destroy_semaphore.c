/* Whether somebody waits for what is destroyed.
 * ends: 2 */
#include "fuzz.h"

static void *waits(void *unused) {
  sem_wait(&sem[0]);
  return unused;
}

COYOTE_TEST(destroy_semaphore) {
  sem_init(&sem[0], 0, 0);
  pthread_create(&thread[1], NULL, waits, NULL);
  sem_destroy(&sem[0]);
  pthread_join(thread[1], NULL);
}
