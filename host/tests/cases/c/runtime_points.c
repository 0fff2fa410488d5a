// State that is not in memory, a file here: read points of one object commute, and a write point wakes the workers whose
// predicate read it. Without the write point, the predicate is not evaluated again.
// flags: -g -O1
// run: -s dpor -- readers
// exit: 0
// line: All 1 execution explored
// run: -s dpor -- writer
// exit: 0
// line: All 2 executions explored
// run: -s dpor -- others
// exit: 0
// line: All 1 execution explored
// run: -s dpor
// exit: 0
// line: . Proved: no bug
// run: -s stateful
// exit: 0
// run: -i 300
// exit: 0
// run: -s dpor -- silent
// exit: 2
// line: bug in test main: deadlock
// line: waits until its predicate holds
// run: -i 300 -- silent
// exit: 2
// line: bug in test main: deadlock
#include <coyote.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_OBJECT = 7 };
static int silent;

static int is_written(void *unused) {
  struct stat status;
  coyote_point_read(FILE_OBJECT);
  return !stat("/file", &status) && status.st_size > 0;
}

static void *waits(void *argument) {
  coyote_wait_until(is_written, 0);
  return argument;
}

static void *reads(void *argument) {
  coyote_point_read(FILE_OBJECT);
  return argument;
}

int main(int count, char **list) {
  const char *how = count > 1 ? list[1] : "";
  silent = !strcmp(how, "silent");
  pthread_t thread;
  if (!strcmp(how, "readers") || !strcmp(how, "writer") || !strcmp(how, "others")) {
    pthread_create(&thread, 0, reads, 0);
    if (!strcmp(how, "readers"))
      coyote_point_read(FILE_OBJECT);
    else
      coyote_point_write(FILE_OBJECT + !strcmp(how, "others"));
    pthread_join(thread, 0);
    return 0;
  }
  pthread_create(&thread, 0, waits, 0);
  if (!silent)
    coyote_point_write(FILE_OBJECT);
  int file = open("/file", O_RDWR | O_CREAT, 0666);
  write(file, "x", 1);
  close(file);
  if (!silent)
    coyote_point_write(FILE_OBJECT);
  pthread_join(thread, 0);
}
