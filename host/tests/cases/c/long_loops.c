// Executions that are longer than the usual bounds end nevertheless; bounds that the user gives are kept, and what never
// ends is not waited for.
// run: -i 60 --test long
// exit: 0
// line: No bug found in 1 test: 60 schedules, 0 unfinished (sequential consistency, virtual time)
// run: -i 60 --test long --max-steps 10000
// exit: 6
// run: -i 60 --test late --points sync
// exit: 2
// line: bug in test late: assertion
// run: -i 5 --test endless
// exit: 6
#include <assert.h>
#include <coyote.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int counter;
static volatile int unguarded;
static int rounds;

static void *count(void *argument) {
  (void)argument;
  for (int i = 0; i < rounds; i++) {
      pthread_mutex_lock(&mutex);
      counter++;
      pthread_mutex_unlock(&mutex);
  }
  return 0;
}

// Some 200,000 steps.
COYOTE_TEST(long) {
  rounds = 10000;
  pthread_t one, other;
  pthread_create(&one, 0, count, 0);
  pthread_create(&other, 0, count, 0);
  pthread_join(one, 0);
  pthread_join(other, 0);
  assert(counter == 20000);
}

static void *flip(void *argument) {
  rounds = 5000;
  count(argument);
  int seen = unguarded;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  unguarded = seen + 1;
  return 0;
}

// A bug at the end of a long execution.
COYOTE_TEST(late) {
  pthread_t one, other;
  pthread_create(&one, 0, flip, 0);
  pthread_create(&other, 0, flip, 0);
  pthread_join(one, 0);
  pthread_join(other, 0);
  assert(unguarded == 2);
}

static void *turn(void *argument) {
  // Its state never repeats.
  for (;;) {
      pthread_mutex_lock(&mutex);
      counter++;
      pthread_mutex_unlock(&mutex);
  }
  return argument;
}

COYOTE_TEST(endless) {
  pthread_t one, other;
  pthread_create(&one, 0, turn, 0);
  pthread_create(&other, 0, turn, 0);
  pthread_join(one, 0);
}
