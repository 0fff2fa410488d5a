/* Three philosophers, three forks; each needs the forks on both sides to eat, and takes the left one first.
 *
 * Expected: they deadlock when all hold their left fork. */
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

enum { PHILOSOPHERS = 3 };

static pthread_mutex_t forks[PHILOSOPHERS];
static int meals;
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static void *philosopher(void *number) {
  int left = (int)(intptr_t)number;
  int right = (left + 1) % PHILOSOPHERS;
  pthread_mutex_lock(&forks[left]);
  pthread_mutex_lock(&forks[right]);
  pthread_mutex_lock(&counting);
  meals++;
  pthread_mutex_unlock(&counting);
  pthread_mutex_unlock(&forks[right]);
  pthread_mutex_unlock(&forks[left]);
  return NULL;
}

int main(void) {
  pthread_t threads[PHILOSOPHERS];
  for (int i = 0; i < PHILOSOPHERS; i++) {
    pthread_mutex_init(&forks[i], NULL);
  }
  for (int i = 0; i < PHILOSOPHERS; i++) {
    pthread_create(&threads[i], NULL, philosopher, (void *)(intptr_t)i);
  }
  for (int i = 0; i < PHILOSOPHERS; i++) {
    pthread_join(threads[i], NULL);
  }
  assert(meals == PHILOSOPHERS);
  return 0;
}
