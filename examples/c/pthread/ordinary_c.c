/* An ordinary C program: pthreads, malloc, printf and an exit code, nothing of coyote's.
 *
 * Two threads push to a stack. Each links its node to the top, and then takes the lock to make it the
 * new top; the top that it read may be old by then, and a push is lost.
 *
 * Expected: the program returns 1, which is a bug of kind exit-code. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
  int value;
  struct node *next;
};

static struct node *top;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *push(void *argument) {
  struct node *node = malloc(sizeof *node);
  if (!node) {
    return NULL;
  }
  node->value = *(int *)argument;
  node->next = top; /* the bug: outside of the lock */
  pthread_mutex_lock(&lock);
  top = node;
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  int values[] = {40, 2};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) {
    if (pthread_create(&threads[i], NULL, push, &values[i])) {
      perror("pthread_create");
      return 2;
    }
  }
  for (int i = 0; i < 2; i++) {
    pthread_join(threads[i], NULL);
  }
  int sum = 0;
  while (top) {
    struct node *node = top;
    top = node->next;
    sum += node->value;
    free(node);
  }
  printf("the sum is %d\n", sum);
  return sum == 42 ? EXIT_SUCCESS : EXIT_FAILURE;
}
