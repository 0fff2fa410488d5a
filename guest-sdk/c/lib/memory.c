/* Functions for aligned memory that the C library leaves out. */
#include "library.h"
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>

/* As sysconf says it. */
#define PAGE ((size_t)PAGESIZE)

void *__coyote_memalign(size_t alignment, size_t bytes) {
  void *block = NULL;
  /* At least what posix_memalign asks for: a power of two that is so large. */
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
