// Calls that name a file by its path: other threads can run before each of them, at all levels of points.
// run: -s dpor -- removed
// exit: 2
// line: assertion
// run: -s dfs --points atomic -- removed
// exit: 2
// run: -s stateful --points sync -- removed
// exit: 2
// run: -i 200 -- removed
// exit: 2
// run: -s dpor --points sync -- exclusive
// exit: 2
// run: -s dpor --points atomic -- directory
// exit: 2
// run: -s dpor --points sync -- seen
// exit: 0
// line: Proved
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *mode;

static void *other(void *unused) {
  (void)unused;
  if (!strcmp(mode, "exclusive")) {
    unlink("/lock");
  } else if (!strcmp(mode, "directory")) {
    mkdir("/directory", 0777);
    rmdir("/directory");
  } else {
    rename("/log", "/log.1");
  }
  return 0;
}

int main(int count, char **arguments) {
  mode = arguments[count - 1];
  struct stat found;
  close(open("/log", O_CREAT | O_WRONLY, 0666));
  close(open("/lock", O_CREAT | O_WRONLY, 0666));
  pthread_t thread;
  pthread_create(&thread, 0, other, 0);
  if (!strcmp(mode, "removed")) {
    if (access("/log", F_OK) == 0) {
      assert(open("/log", O_RDONLY) >= 0);
    }
  } else if (!strcmp(mode, "exclusive")) {
    assert(open("/lock", O_CREAT | O_EXCL | O_WRONLY, 0666) < 0);
  } else if (!strcmp(mode, "directory")) {
    assert(stat("/directory", &found) < 0);
  } else {
    /* One of the names is there at any time, and once moved the file stays so. */
    int before = access("/log.1", F_OK);
    int after = access("/log.1", F_OK);
    assert(before != 0 || after == 0);
  }
  pthread_join(thread, 0);
}
