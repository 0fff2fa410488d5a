/* The C library's stdlib.h, with files and directories that get a name of their own. */
#include_next <stdlib.h>

#ifndef COYOTE_STDLIB_H
#define COYOTE_STDLIB_H

#if defined(_POSIX_SOURCE) || defined(_POSIX_C_SOURCE) || defined(_XOPEN_SOURCE) || defined(_GNU_SOURCE) || \
    defined(_BSD_SOURCE)

#ifdef __cplusplus
extern "C" {
#endif

int mkstemp(char *__template);
int mkostemp(char *__template, int __flags);
char *mkdtemp(char *__template);

#ifdef __cplusplus
}
#endif

#endif

#endif
