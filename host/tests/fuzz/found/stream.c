/* The position of a stream.
 * ends: 2 */
#include "fuzz.h"

static void *stream_by(void *number) {
  fputc((int)number == 1 ? 'a' : 'b', file);
  return NULL;
}

COYOTE_TEST(stream) {
  pthread_create(&thread[1], NULL, stream_by, (void *)1);
  pthread_create(&thread[2], NULL, stream_by, (void *)2);
  pthread_join(thread[1], NULL);
  pthread_join(thread[2], NULL);
  rewind(file);
  keep(0, 0, fgetc(file));
}
