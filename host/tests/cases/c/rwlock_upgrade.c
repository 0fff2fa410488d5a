// A thread that reads under a lock and wants to write under it as well waits for itself, as with glibc and musl.
// run: -s dpor
// exit: 2
// line: bug in test main: deadlock
#include <pthread.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int number;

static void *increment(void *nothing) {
  pthread_rwlock_rdlock(&lock);
  int read = number;
  pthread_rwlock_wrlock(&lock);
  number = read + 1;
  pthread_rwlock_unlock(&lock);
  pthread_rwlock_unlock(&lock);
  return nothing;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, increment, 0);
  pthread_join(thread, 0);
  return number - 1;
}
