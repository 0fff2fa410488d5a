/* Two threads take two locks, in opposite orders. After SCTBench's deadlock01.
 *
 * Expected: they deadlock. */
#include <pthread.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int counter = 1;

static void *up(void *unused) {
  pthread_mutex_lock(&a);
  pthread_mutex_lock(&b);
  counter++;
  pthread_mutex_unlock(&b);
  pthread_mutex_unlock(&a);
  return unused;
}

static void *down(void *unused) {
  pthread_mutex_lock(&b);
  pthread_mutex_lock(&a);
  counter--;
  pthread_mutex_unlock(&a);
  pthread_mutex_unlock(&b);
  return unused;
}

int main(void) {
  pthread_t one, two;
  pthread_create(&one, NULL, up, NULL);
  pthread_create(&two, NULL, down, NULL);
  pthread_join(one, NULL);
  pthread_join(two, NULL);
  return 0;
}
