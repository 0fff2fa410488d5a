/* A queue of so many numbers between threads. */
#ifndef QUEUE_H
#define QUEUE_H

#include "config.h"
#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

struct queue {
  pthread_mutex_t lock;
  pthread_cond_t not_empty, not_full;
  int items[QUEUE_CAPACITY];
  int first, count;
};

int queue_init(struct queue *queue);
void queue_destroy(struct queue *queue);
/* Both wait until they can. */
void queue_put(struct queue *queue, int item);
int queue_take(struct queue *queue);

#ifdef __cplusplus
}
#endif

#endif
