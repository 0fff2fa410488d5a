/* Whoever finds no file makes one: between the two calls somebody else may. Expected: both do. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int made[2];

static void *claim(void *argument) {
  if (access("claim", F_OK)) {
    open("claim", O_WRONLY | O_CREAT, 0644);
    *(int *)argument = 1;
  }
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, claim, &made[0]);
  pthread_create(&threads[1], NULL, claim, &made[1]);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  if (made[0] + made[1] != 1) {
    abort();
  }
  return 0;
}
