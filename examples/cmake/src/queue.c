#include "queue.h"

/* Without QUEUE_RECHECK a thread believes what woke it, though another one may have come first. */
#ifdef QUEUE_RECHECK
#define WAIT_WHILE while
#else
#define WAIT_WHILE if
#endif

int queue_init(struct queue *queue) {
  queue->first = queue->count = 0;
  int error = pthread_mutex_init(&queue->lock, NULL);
  if (!error) {
    error = pthread_cond_init(&queue->not_empty, NULL);
  }
  if (!error) {
    error = pthread_cond_init(&queue->not_full, NULL);
  }
  return error;
}

void queue_destroy(struct queue *queue) {
  pthread_cond_destroy(&queue->not_full);
  pthread_cond_destroy(&queue->not_empty);
  pthread_mutex_destroy(&queue->lock);
}

void queue_put(struct queue *queue, int item) {
  pthread_mutex_lock(&queue->lock);
  WAIT_WHILE (queue->count == QUEUE_CAPACITY) {
    pthread_cond_wait(&queue->not_full, &queue->lock);
  }
  queue->items[(queue->first + queue->count) % QUEUE_CAPACITY] = item;
  queue->count++;
  pthread_cond_signal(&queue->not_empty);
  pthread_mutex_unlock(&queue->lock);
}

int queue_take(struct queue *queue) {
  pthread_mutex_lock(&queue->lock);
  WAIT_WHILE (queue->count == 0) {
    pthread_cond_wait(&queue->not_empty, &queue->lock);
  }
  int item = queue->items[queue->first];
  queue->first = (queue->first + 1) % QUEUE_CAPACITY;
  queue->count--;
  pthread_cond_signal(&queue->not_full);
  pthread_mutex_unlock(&queue->lock);
  return item;
}
