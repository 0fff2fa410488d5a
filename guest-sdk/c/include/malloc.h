/* The C library's malloc.h, with functions that it lacks. */
#include_next <malloc.h>

#ifndef COYOTE_MALLOC_H
#define COYOTE_MALLOC_H

#ifdef __cplusplus
extern "C" {
#endif
void *memalign(size_t __alignment, size_t __bytes);
void *valloc(size_t __bytes);
void *pvalloc(size_t __bytes);
#ifdef __cplusplus
}
#endif

#endif
