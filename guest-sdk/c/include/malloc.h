/* The C library's, with what it leaves out. */
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
