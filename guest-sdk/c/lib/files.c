/* The locks of files, for flockfile: made at the first use, and kept for another file at the same address. */
#include "library.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* A recursive mutex, by its address. */
struct lock {
  const FILE *file;
  struct lock *next;
};

static struct lock *locks;

PRIVATE uint32_t lock_of(const FILE *file) {
  struct lock *lock = locks;
  while (lock && lock->file != file) {
    lock = lock->next;
  }
  if (!lock) {
    lock = __coyote_memory(sizeof *lock);
    lock->file = file;
    lock->next = locks;
    locks = lock;
    coyote_raw_mutex_kind(COYOTE_ADDRESS(lock), PTHREAD_MUTEX_RECURSIVE);
  }
  return COYOTE_ADDRESS(lock);
}

void __coyote_flockfile(FILE *file) {
  coyote_raw_mutex_lock(lock_of(file), COYOTE_NO_TIMEOUT);
}
PUBLIC(flockfile);

int __coyote_ftrylockfile(FILE *file) {
  return coyote_raw_mutex_try_lock(lock_of(file)) ? -1 : 0;
}
PUBLIC(ftrylockfile);

void __coyote_funlockfile(FILE *file) {
  if (coyote_raw_mutex_unlock(lock_of(file))) {
    __coyote_misuse(file, "funlockfile: the caller does not hold the file's lock");
  }
}
PUBLIC(funlockfile);
