/* Two threads that work with files of their own; whoever opens one first finds out which directories
 * there are. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <pthread.h>

static void *work(void *argument) {
  const char *name = argument;
  ssize_t length = (ssize_t)strlen(name);
  char text[20] = {0};
  struct stat status;
  int written = open(name, O_RDWR | O_CREAT, 0644);
  if (written < 0 || write(written, name, length) != length || close(written)) {
    abort();
  }
  if (stat(name, &status) || status.st_size != length) {
    abort();
  }
  int read_back = open(name, O_RDONLY);
  if (read(read_back, text, sizeof text - 1) != length || strcmp(text, name) || close(read_back)) {
    abort();
  }
  if (unlink(name) || access(name, F_OK) == 0) {
    abort();
  }
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, work, "one");
  pthread_create(&threads[1], NULL, work, "second");
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  return 0;
}
