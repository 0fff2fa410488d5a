// A bug below thousands of calls: its report takes no more time and memory than the exploration.
// flags: -g -O1
// run: --races bug -i 300 -- 1000
// exit: 2
// line: data-race: write of `found`
// run: --races bug -i 300 -- 50000
// exit: 2
// line: data-race: write of 4 bytes at
#include <pthread.h>
#include <stdlib.h>

static volatile int depth, found;
static void (*volatile next)(void);

static void descends(void) {
  if (--depth)
    next();
  else
    found = 1;
}

static void *thread(void *unused) {
  next();
  return unused;
}

int main(int argc, char **argv) {
  depth = argc > 1 ? atoi(argv[1]) : 1;
  next = descends;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 16 << 20);
  pthread_t deep;
  pthread_create(&deep, &attributes, thread, NULL);
  found = 2;
  pthread_join(deep, NULL);
  return 0;
}
