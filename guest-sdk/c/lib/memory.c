/* Functions for aligned memory that the C library lacks. */
#include "library.h"
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>

/* Memory that the library itself cannot do without: zeroed, and never freed. The instrumenter knows the function by its
 * name; no fault makes this allocation fail. */
void *__coyote_memory(size_t bytes) {
  void *block = calloc(1, bytes);
  if (!block) {
    __coyote_bug("there is no memory for what the C library needs");
  }
  return block;
}

/* The page size that sysconf returns. */
#define PAGE ((size_t)PAGESIZE)

void *__coyote_memalign(size_t alignment, size_t bytes) {
  void *block = NULL;
  /* posix_memalign requires a power of two that is at least the size of a pointer. */
  size_t least = alignment < sizeof(void *) ? sizeof(void *) : alignment;
  int error = posix_memalign(&block, least, bytes);
  if (error) {
    errno = error;
    return NULL;
  }
  return block;
}
PUBLIC(memalign);

void *__coyote_valloc(size_t bytes) {
  return __coyote_memalign(PAGE, bytes);
}
PUBLIC(valloc);

void *__coyote_pvalloc(size_t bytes) {
  size_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
  if (whole < bytes) {
    errno = ENOMEM;
    return NULL;
  }
  return __coyote_memalign(PAGE, whole ? whole : PAGE);
}
PUBLIC(pvalloc);
