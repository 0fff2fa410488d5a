/* stdio.h for guests of coyote-wasm: with the locks of files, which wasi-libc declares only with threads. Other functions
 * on a file do not wait for its lock. */
#include_next <stdio.h>

#ifndef COYOTE_STDIO_H
#define COYOTE_STDIO_H

#ifdef __cplusplus
extern "C" {
#endif

void flockfile(FILE *__file);
int ftrylockfile(FILE *__file);
/* A bug if the caller does not hold the lock. */
void funlockfile(FILE *__file);

#ifdef __cplusplus
}
#endif

#endif
