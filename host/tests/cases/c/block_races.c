// An allocation counts as a write of the block, and so does `free`: nothing orders them with another worker's access if
// the pointer is passed on by relaxed atomics, or if nothing tells the worker that frees of the last access.
// flags: -g -O1
// run: --races bug -s dpor -- allocation relaxed
// exit: 2
// line: data-race: write of 4 bytes at
// line: which nothing orders with the allocation by worker 0.0
// line: would: tried, no race then
// run: --races bug -s dpor -- allocation ordered
// exit: 0
// run: --races bug -s dpor -- free relaxed
// exit: 2
// line: data-race: free of 4 bytes at
// line: which nothing orders with the read by worker 0.0
// line: would: tried, no race then
// run: --races bug -s dpor -- free ordered
// exit: 0
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static memory_order store_order, load_order;
static _Atomic(int *) published;
static atomic_int done;

static void *allocates(void *unused) {
  (void)unused;
  atomic_store_explicit(&published, malloc(sizeof(int)), store_order);
  return NULL;
}

static void allocation(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, allocates, NULL);
  int *block = atomic_load_explicit(&published, load_order);
  if (block)
    *block = 1;
  pthread_join(thread, NULL);
  free(atomic_load(&published));
}

static void *reads(void *block) {
  volatile int value = *(int *)block;
  (void)value;
  atomic_store_explicit(&done, 1, store_order);
  return NULL;
}

static void frees(void) {
  int *block = malloc(sizeof(int));
  *block = 1;
  pthread_t thread;
  pthread_create(&thread, NULL, reads, block);
  if (atomic_load_explicit(&done, load_order)) {
    free(block);
    block = NULL;
  }
  pthread_join(thread, NULL);
  free(block);
}

int main(int argc, char **argv) {
  (void)argc;
  int ordered = strcmp(argv[2], "ordered") == 0;
  store_order = ordered ? memory_order_release : memory_order_relaxed;
  load_order = ordered ? memory_order_acquire : memory_order_relaxed;
  if (strcmp(argv[1], "allocation") == 0)
    allocation();
  else
    frees();
  return 0;
}
