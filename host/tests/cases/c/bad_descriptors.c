// A call on a descriptor that is not open fails by itself: no fault is injected there.
// run: -s dfs --faults io=1 -- closed
// exit: 5
// run: -s dfs --faults io=1 -- open
// exit: 2
// line: assertion
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **arguments) {
  int file = 77;
  if (!strcmp(arguments[count - 1], "open")) {
    file = open("/file", O_CREAT | O_RDWR, 0666);
    assert(file < 0 || fsync(file) == 0);
    return 0;
  }
  assert(fsync(file) == -1 && errno == EBADF);
  assert(write(file, "a", 1) == -1 && errno == EBADF);
  char byte;
  assert(read(-1, &byte, 1) == -1 && errno == EBADF);
  assert(ftruncate(-1, 0) == -1 && errno == EBADF);
  assert(close(file) == -1 && errno == EBADF);
}
