/* Two producers, two consumers: nothing is lost, and nothing comes twice. */
#include "queue.h"
#include <stdio.h>
#include <stdlib.h>

static struct queue queue;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void *produce(void *item) {
  queue_put(&queue, *(int *)item);
  return NULL;
}

static void *consume(void *unused) {
  int item = queue_take(&queue);
  pthread_mutex_lock(&lock);
  sum += item;
  pthread_mutex_unlock(&lock);
  return unused;
}

int main(void) {
  int items[] = {1, 2};
  pthread_t threads[4];
  if (queue_init(&queue)) {
    return EXIT_FAILURE;
  }
  for (int i = 0; i < 2; i++) {
    pthread_create(&threads[i], NULL, consume, NULL);
    pthread_create(&threads[2 + i], NULL, produce, &items[i]);
  }
  for (int i = 0; i < 4; i++) {
    pthread_join(threads[i], NULL);
  }
  queue_destroy(&queue);
  if (sum != 3) {
    printf("relay %s: the sum is %d, not 3\n", QUEUE_VERSION, sum);
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
