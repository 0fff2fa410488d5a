// What the C library allocates for itself: the program cannot be told that there is no memory for it.
// run: --faults alloc=1 --strategy dfs
// exit: 5
// line: no choice
#include <stdio.h>

int main(int count, char **list) {
  flockfile(stdout);
  funlockfile(stdout);
  return count < 1 || !list[0];
}
