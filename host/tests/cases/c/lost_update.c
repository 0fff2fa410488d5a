// Two threads add to a counter without a lock: a search finds the lost update, and a lock repairs it.
// flags: -O0
// run: -s dpor -- plain
// exit: 2
// line: bug in test main: assertion: 
// run: -s dpor -- locked now
// exit: 0
// line: ... All
#include <assert.h>
#include <pthread.h>

static int counter;
static int locked;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *add(void *unused) {
  if (locked) pthread_mutex_lock(&mutex);
  counter++;
  if (locked) pthread_mutex_unlock(&mutex);
  return unused;
}

int main(int count, char **arguments) {
  (void)arguments;
  locked = count == 3;
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, add, 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  assert(counter == 2);
  return 0;
}
