/* The main thread's stack is a little too small for this: below it lies the program's data. */
#include <pthread.h>

static int deeper(int depth) {
  volatile char room[1008];
  room[depth] = (char)depth;
  return depth ? deeper(depth - 1) + room[(depth * 7) % 1008] : 0;
}

static void *nothing(void *argument) {
  return argument;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, nothing, 0);
  pthread_join(thread, 0);
  return deeper(262) == 12345;
}
