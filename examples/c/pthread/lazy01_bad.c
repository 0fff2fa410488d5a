/* Two threads add 1 and 2 under the lock, and a third one, started first, does not expect to come last. After
 * SCTBench's lazy01.
 *
 * flags: -O0
 * Expected: the assertion fails. */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int data;

static void *add_1(void *unused) {
  pthread_mutex_lock(&lock);
  data++;
  pthread_mutex_unlock(&lock);
  return unused;
}

static void *add_2(void *unused) {
  pthread_mutex_lock(&lock);
  data += 2;
  pthread_mutex_unlock(&lock);
  return unused;
}

static void *check(void *unused) {
  pthread_mutex_lock(&lock);
  assert(data < 3);
  pthread_mutex_unlock(&lock);
  return unused;
}

int main(void) {
  pthread_t checker, adder_2, adder_1;
  pthread_create(&checker, NULL, check, NULL);
  pthread_create(&adder_2, NULL, add_2, NULL);
  pthread_create(&adder_1, NULL, add_1, NULL);
  pthread_join(adder_1, NULL);
  pthread_join(adder_2, NULL);
  pthread_join(checker, NULL);
  return 0;
}
