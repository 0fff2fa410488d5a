// What should hold sometimes: said where it never does, whatever the verdict, and not where it did once.
// flags: -g -O1
// run: -i 300
// exit: 0
// line: Expected to hold sometimes, and never did: `both are above 2` (
// run: -s dpor
// exit: 0
// line: Expected to hold sometimes, and never did: `both are above 2` (
// run: -i 300 -- once
// exit: 0
// absent: Expected to hold sometimes
#include <coyote.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static atomic_int first, second;

static void *counts(void *argument) {
  first++;
  second++;
  return argument;
}

int main(int count, char **list) {
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], 0, counts, 0);
  coyote_sometimes(first == 1 && second == 0, "one has begun");
  if (count == 1 || strcmp(list[1], "once"))
    coyote_sometimes(first > 2 && second > 2, "both are above 2");
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], 0);
  return 0;
}
