/* The order of handlers of exit.
 * ends: 2 */
#include "fuzz.h"

static void *exit_handlers_by(void *number) {
  atexit((int)number == 1 ? left_1 : left_2);
  return NULL;
}

COYOTE_TEST(exit_handlers) {
  pthread_create(&thread[1], NULL, exit_handlers_by, (void *)1);
  pthread_create(&thread[2], NULL, exit_handlers_by, (void *)2);
  pthread_join(thread[1], NULL);
  pthread_join(thread[2], NULL);
  exit(0);
}
