/* What POSIX lets two threads do at once, though the C library guards it in a build with threads only. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int handled;

static void first(void) {
  handled++;
}

static void second(void) {
  handled++;
}

/* Registered before the others, so it is called after them. */
static void last(void) {
  if (handled != 2) {
    _Exit(9);
  }
}

static void *work(void *handler) {
  atexit((void (*)(void))handler);
  const char *value = getenv("A");
  struct tm date;
  time_t zero = 0;
  if (!value || strcmp(value, "1") || !localtime_r(&zero, &date) || date.tm_year != 70) {
    abort();
  }
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  atexit(last);
  pthread_create(&threads[0], NULL, work, (void *)first);
  pthread_create(&threads[1], NULL, work, (void *)second);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  return 0;
}
