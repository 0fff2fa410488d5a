/* What the outcome tests share. Each is so small that a search visits all of its executions. The comment
 * before a test lists its outcomes, separated by semicolons: what it says, joined by spaces, or the kind
 * of a bug. Each of them has to be reached, and no other. Further lines are for runs with an option. */
#include <assert.h>
#include <coyote.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

static inline void say_number(int number) {
  char digit[] = {(char)('0' + number), 0};
  assert(0 <= number && number <= 9);
  coyote_log(digit);
}

static inline void say_error(int error) {
  switch (error) {
  case 0:
    return coyote_log("ok");
  case EAGAIN:
    return coyote_log("again");
  case EBUSY:
    return coyote_log("busy");
  case EDEADLK:
    return coyote_log("deadlock-error");
  case EPERM:
    return coyote_log("not-owner");
  case ETIMEDOUT:
    return coyote_log("timed-out");
  default:
    coyote_fail("another error");
  }
}

/* A thread with a small number as its argument. */
static inline pthread_t start(void *(*function)(void *), int argument) {
  pthread_t thread;
  assert(pthread_create(&thread, NULL, function, (void *)(intptr_t)argument) == 0);
  return thread;
}

/* The small number that it returns. */
static inline int result_of(pthread_t thread) {
  void *result;
  assert(pthread_join(thread, &result) == 0);
  return (int)(intptr_t)result;
}

/* A microsecond from now. */
static inline struct timespec soon(clockid_t clock) {
  struct timespec time;
  assert(clock_gettime(clock, &time) == 0);
  time.tv_nsec += 1000;
  time.tv_sec += time.tv_nsec / 1000000000;
  time.tv_nsec %= 1000000000;
  return time;
}
