/* What lies behind the end of memory, until it grows.
 * ends: 2 */
#include "fuzz.h"

static void *grows(void *unused) {
  __builtin_wasm_memory_grow(0, 1);
  return unused;
}

static void *reads_behind(void *old) {
  keep(1, 0, *(volatile char *)((unsigned)old * 65536 + 8));
  return NULL;
}

COYOTE_TEST(growth) {
  void *old = (void *)__builtin_wasm_memory_size(0);
  pthread_create(&thread[1], NULL, grows, NULL);
  pthread_create(&thread[2], NULL, reads_behind, old);
  pthread_join(thread[1], NULL);
  pthread_join(thread[2], NULL);
}
