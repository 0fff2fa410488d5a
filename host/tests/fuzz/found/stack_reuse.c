/* Whether the stack of a detached thread is free when another one is created, and so how large memory is.
 * ends: 2 */
#include "fuzz.h"

static void *nothing(void *unused) {
  return unused;
}

static void *creates(void *old) {
  pthread_create(&thread[3], NULL, nothing, NULL);
  keep(1, 0, __builtin_wasm_memory_grow(0, 32) - (unsigned)old);
  return NULL;
}

static void *leaves(void *unused) {
  pthread_detach(pthread_self());
  return unused;
}

COYOTE_TEST(stack_reuse) {
  void *old = (void *)__builtin_wasm_memory_size(0);
  pthread_create(&thread[1], NULL, creates, old);
  pthread_create(&thread[2], NULL, leaves, NULL);
}
