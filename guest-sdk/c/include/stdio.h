/* stdio.h for guests of coyote-wasm: with the locks of files, which wasi-libc declares only with threads. Other functions
 * on a file do not wait for its lock. And with tmpfile, of which wasi-libc's declaration says that it is not defined. */
#ifndef COYOTE_STDIO_H
#define tmpfile __wasi_libc_tmpfile
#endif
#include_next <stdio.h>
#undef tmpfile

#ifndef COYOTE_STDIO_H
#define COYOTE_STDIO_H

#ifdef __cplusplus
extern "C" {
#endif

void flockfile(FILE *__file);
int ftrylockfile(FILE *__file);
/* A bug if the caller does not hold the lock. */
void funlockfile(FILE *__file);
FILE *tmpfile(void);

#ifdef __cplusplus
}
#endif

#endif
