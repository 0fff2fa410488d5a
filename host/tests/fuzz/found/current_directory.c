/* The current directory.
 * ends: 2 */
#include "fuzz.h"

static void *current_directory_by(void *number) {
  chdir((int)number == 1 ? "/d" : "/e");
  return NULL;
}

COYOTE_TEST(current_directory) {
  pthread_create(&thread[1], NULL, current_directory_by, (void *)1);
  pthread_create(&thread[2], NULL, current_directory_by, (void *)2);
  pthread_join(thread[1], NULL);
  pthread_join(thread[2], NULL);
  keep(0, 0, here());
}
