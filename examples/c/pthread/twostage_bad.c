/* Two values with a lock each. A writer changes the first and then, in a second stage, the other one from
 * it. A reader reads both, also in two stages. After SCTBench's twostage.
 *
 * Expected: the assertion fails when the reader falls between the writer's stages. */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t first_lock, second_lock;
static int first, second;

static void *writer(void *unused) {
  pthread_mutex_lock(&first_lock);
  first = 1;
  pthread_mutex_unlock(&first_lock);

  pthread_mutex_lock(&second_lock);
  second = first + 1;
  pthread_mutex_unlock(&second_lock);
  return unused;
}

static void *reader(void *unused) {
  pthread_mutex_lock(&first_lock);
  int seen = first;
  pthread_mutex_unlock(&first_lock);
  if (seen == 0) {
    return unused;
  }

  pthread_mutex_lock(&second_lock);
  int then = second;
  pthread_mutex_unlock(&second_lock);
  assert(then == seen + 1);
  return unused;
}

int main(void) {
  pthread_t threads[2];
  pthread_mutex_init(&first_lock, NULL);
  pthread_mutex_init(&second_lock, NULL);
  pthread_create(&threads[0], NULL, writer, NULL);
  pthread_create(&threads[1], NULL, reader, NULL);
  for (int i = 0; i < 2; i++) {
    pthread_join(threads[i], NULL);
  }
  pthread_mutex_destroy(&first_lock);
  pthread_mutex_destroy(&second_lock);
  return 0;
}
