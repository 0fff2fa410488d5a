// What is read only under a condition is not read without it, however the compiler optimises: a thread that never reads
// a variable is in no race with its writer.
// flags: -g -O2
// run: --races bug -s dpor -- never
// exit: 0
// run: --races bug -s dpor -- reads
// exit: 2
// line: data-race: 
#include <pthread.h>
#include <string.h>

static int shared;

__attribute__((noinline)) static int peek(int really) {
  if (really)
    return shared;
  return 0;
}

__attribute__((noinline)) static int rounds(int count) {
  int sum = 0;
  for (int i = 0; i < count; i++)
    sum += shared;
  return sum;
}

static void *reads(void *really) {
  int value = really != NULL;
  return (void *)(long)(peek(value) + rounds(value));
}

int main(int argc, char **argv) {
  int really = argc > 1 && strcmp(argv[1], "reads") == 0;
  pthread_t reader;
  pthread_create(&reader, NULL, reads, really ? &shared : NULL);
  shared = 1;
  pthread_join(reader, NULL);
  return 0;
}
