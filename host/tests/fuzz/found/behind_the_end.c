/* What two workers write behind the end of memory, where only scheduling points are refused.
 * points: atomic
 * ends: 3 */
#include "fuzz.h"

static unsigned behind;

static NOINLINE int byte(int value) {
  volatile char *there = (volatile char *)behind;
  return value ? *there = (char)value : *there;
}

static void *writes_behind(void *value) {
  return (void *)byte((int)value);
}

static void *reads_behind_its_end(void *unused) {
  keep(3, 0, byte(0));
  return unused;
}

COYOTE_TEST(behind_the_end) {
  behind = (__builtin_wasm_memory_size(0) + STACK_PAGES) * 65536;
  pthread_create(&thread[1], NULL, writes_behind, (void *)1);
  pthread_create(&thread[2], NULL, writes_behind, (void *)2);
  pthread_create(&thread[3], NULL, reads_behind_its_end, NULL);
}
