/* Two threads change two values under one lock, one after the other; the order does not matter to the
 * sums. After the correct version of SCTBench's stateful01.
 *
 * flags: -O0
 * Expected: passes; there are 6 orders in which the lock can be taken. */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int data_1 = 10, data_2 = 10;

static void *add(void *unused) {
  pthread_mutex_lock(&lock);
  data_1++;
  pthread_mutex_unlock(&lock);

  pthread_mutex_lock(&lock);
  data_2++;
  pthread_mutex_unlock(&lock);
  return unused;
}

static void *add_and_subtract(void *unused) {
  pthread_mutex_lock(&lock);
  data_1 += 5;
  pthread_mutex_unlock(&lock);

  pthread_mutex_lock(&lock);
  data_2 -= 6;
  pthread_mutex_unlock(&lock);
  return unused;
}

int main(void) {
  pthread_t one, two;
  pthread_create(&one, NULL, add, NULL);
  pthread_create(&two, NULL, add_and_subtract, NULL);
  pthread_join(one, NULL);
  pthread_join(two, NULL);
  assert(data_1 == 16 && data_2 == 5);
  return 0;
}
