// A loop that waits for a deadline, and stores what it reads, comes to it before a timeout that is far away fires.
// run: --timers ordered -i 20
// exit: 0
// absent: bug in test
// run: --timers ordered -s dpor -i 20
// exit: 6
// absent: bug in test
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static atomic_int done;
static long seen;

static long milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void *polls(void *argument) {
  long begin = milliseconds();
  do {
    seen = milliseconds();
  } while (seen - begin < 50);
  done = 1;
  return argument;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, polls, 0);
  nanosleep(&(struct timespec){.tv_sec = 10}, 0);
  assert(done);
  pthread_join(thread, 0);
  return 0;
}
