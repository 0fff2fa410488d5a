// Freeing a block happens before the allocation that hands out its memory again (C11, 7.22.3), for those who can tell.
// flags: -g -O1
// run: --races bug -s dpor -- order
// exit: 0
// run: --races bug -i 500 -- order
// exit: 0
// run: --races bug -s dpor -- moved
// exit: 0
// run: --races bug -s dpor -- other
// exit: 2
// line: data-race: read of `x`
// run: --memory weak -i 3000 -- owner
// exit: 0
// run: --memory weak -s dfs --points atomic -- owner
// exit: 0
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static int x;
static _Atomic(void *) shared;
static int moves;
static int other;

// Writes, and frees the block, or lets realloc move it.
static void *gives_back(void *unused) {
  (void)unused;
  char *block = malloc(24);
  x = 1;
  atomic_store_explicit(&shared, block, memory_order_relaxed);
  if (moves) {
    void *behind = malloc(24);
    block = realloc(block, 4000);
    free(behind);
  }
  free(block);
  return NULL;
}

// Reads what was written before the memory of its own block was freed, or, wrongly, of another one.
static void *takes(void *unused) {
  (void)unused;
  char *block = malloc(24);
  char *freed = atomic_load_explicit(&shared, memory_order_relaxed);
  if (freed && (other ? freed != block : freed == block))
    assert(x == 1);
  free(block);
  return NULL;
}

static void both(void *(*first)(void *), void *(*second)(void *)) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
}

// The lock of parking_lot's ReentrantMutex in small: the address of its own block is a thread's name.
static void *owns(void *unused) {
  (void)unused;
  void *name = malloc(24);
  assert(atomic_load_explicit(&shared, memory_order_relaxed) != name);
  atomic_store_explicit(&shared, name, memory_order_relaxed);
  atomic_store_explicit(&shared, NULL, memory_order_relaxed);
  free(name);
  return NULL;
}

int main(int argc, char **argv) {
  (void)argc;
  moves = strcmp(argv[1], "moved") == 0;
  other = strcmp(argv[1], "other") == 0;
  if (strcmp(argv[1], "owner") == 0)
    both(owns, owns);
  else
    both(gives_back, takes);
  return 0;
}
