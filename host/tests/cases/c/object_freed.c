// To free a block destroys the sync objects in it: a use that nothing orders with the free is a data race, though the free
// comes last in each schedule. `ordered`: the same, ordered. `counted`, `posted`: the block is freed as early as POSIX
// allows it.
// flags: -g -O1
// run: --races bug -s dpor -- mutex relaxed
// exit: 2
// line: data-race: free of
// line: which nothing orders with the use of the mutex `mutex` by worker 0.0
// line: why: worker 0.0 uses `mutex` in step
// line: worker 0 frees its block (object_freed.c:
// run: --races bug -s dpor -- mutex ordered
// exit: 0
// run: --races bug -s dpor -- condvar relaxed
// exit: 2
// line: which nothing orders with the use of the condvar `condvar`
// run: --races bug -s dpor -- condvar ordered
// exit: 0
// run: --races bug -s dpor -- semaphore relaxed
// exit: 2
// line: which nothing orders with the use of the semaphore `semaphore`
// run: --races bug -s dpor -- semaphore ordered
// exit: 0
// run: --races bug -s dpor -- rwlock relaxed
// exit: 2
// line: which nothing orders with the use of the rwlock `rwlock`
// run: --races bug -s dpor -- rwlock ordered
// exit: 0
// run: --races accesses -s dpor -- mutex relaxed
// exit: 0
// run: --races bug -s dpor -- counted
// exit: 0
// run: --races bug -s dpor -- posted
// exit: 0
// run: --races bug -i 500 -- counted
// exit: 0
// run: --races bug -i 500 -- posted
// exit: 0
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct objects {
  pthread_mutex_t mutex;
  pthread_cond_t condvar;
  pthread_rwlock_t rwlock;
  sem_t semaphore;
  int references;
};

static const char *which;
static memory_order store_order, load_order;
static atomic_int done;

static struct objects *make(void) {
  struct objects *made = malloc(sizeof *made);
  pthread_mutex_init(&made->mutex, NULL);
  pthread_cond_init(&made->condvar, NULL);
  pthread_rwlock_init(&made->rwlock, NULL);
  sem_init(&made->semaphore, 0, 0);
  made->references = 2;
  return made;
}

static void *uses(void *argument) {
  struct objects *objects = argument;
  if (!strcmp(which, "mutex")) {
    pthread_mutex_lock(&objects->mutex);
    pthread_mutex_unlock(&objects->mutex);
  } else if (!strcmp(which, "condvar")) {
    pthread_cond_signal(&objects->condvar);
  } else if (!strcmp(which, "semaphore")) {
    sem_post(&objects->semaphore);
  } else {
    pthread_rwlock_rdlock(&objects->rwlock);
    pthread_rwlock_unlock(&objects->rwlock);
  }
  atomic_store_explicit(&done, 1, store_order);
  return NULL;
}

/* Whoever gives up the last reference frees the mutex that guards their number. */
static void *gives_up(void *argument) {
  struct objects *objects = argument;
  pthread_mutex_lock(&objects->mutex);
  int left = --objects->references;
  pthread_mutex_unlock(&objects->mutex);
  if (left == 0)
    free(objects);
  return NULL;
}

static void *posts(void *argument) {
  atomic_fetch_add(&done, 1);
  sem_post(&((struct objects *)argument)->semaphore);
  return NULL;
}

int main(int argc, char **argv) {
  which = argv[1];
  int ordered = argc > 2 && !strcmp(argv[2], "ordered");
  store_order = ordered ? memory_order_release : memory_order_relaxed;
  load_order = ordered ? memory_order_acquire : memory_order_relaxed;
  struct objects *objects = make();
  pthread_t thread;
  if (!strcmp(which, "counted")) {
    pthread_create(&thread, NULL, gives_up, objects);
    gives_up(objects);
    pthread_join(thread, NULL);
  } else if (!strcmp(which, "posted")) {
    pthread_create(&thread, NULL, posts, objects);
    atomic_fetch_add(&done, 1);
    sem_wait(&objects->semaphore);
    free(objects);
    pthread_join(thread, NULL);
  } else {
    pthread_create(&thread, NULL, uses, objects);
    int is_done = atomic_load_explicit(&done, load_order);
    if (is_done)
      free(objects);
    pthread_join(thread, NULL);
    if (!is_done)
      free(objects);
  }
  return 0;
}
