// What programs on Linux take for granted.
// run: -i 1 --leaks
// exit: 5
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
int main(void) {
  char *a = memalign(64, 100), *b = valloc(1), *c = pvalloc(1);
  if (!a || !b || !c || (uintptr_t)a % 64 || (uintptr_t)b % 65536 || (uintptr_t)c % 65536) return 1;
  a[99] = b[0] = c[65535] = 1;
  free(a); free(b); free(c);
  return memalign(64, SIZE_MAX) != NULL;
}
