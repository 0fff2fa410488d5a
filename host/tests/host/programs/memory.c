/* Blocks that an atomic function of the C library allocates are known, and what lies where a thread had its
 * stack can hold pointers. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct holder {
  char *held;
  char room[60000];
} *kept;

static void *nothing(void *argument) {
  return argument;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, nothing, NULL);
  pthread_join(thread, NULL);
  kept = calloc(1, sizeof *kept);
  kept->held = malloc(32);
  strcpy(kept->held, "held");
  FILE *file = fopen("file", "w+");
  char *line = NULL;
  size_t size = 0;
  fputs("hello\n", file);
  rewind(file);
  if (getline(&line, &size, file) != 6 || strcmp(line, "hello\n")) {
    abort();
  }
  free(line);
  fclose(file);
  return strcmp(kept->held, "held");
}
