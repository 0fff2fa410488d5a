// What a passing program prints in its first iteration, on request.
// run: -i 20
// exit: 0
// absent: hello
// run: -i 20 --nocapture
// exit: 0
// line: ... Output of the first iteration:
// line: hello 
// run: -s dpor --show-output
// exit: 0
// line: hello 
#include <pthread.h>
#include <stdio.h>

static void *greet(void *who) {
  printf("hello %s\n", (char *)who);
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, greet, "thread");
  greet("main");
  pthread_join(thread, NULL);
  return 0;
}
