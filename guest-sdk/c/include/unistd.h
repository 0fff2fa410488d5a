/* The C library's unistd.h, with what is there of POSIX's options, and functions that it lacks. */
#include_next <unistd.h>

#ifndef COYOTE_UNISTD_H
#define COYOTE_UNISTD_H

#ifndef _POSIX_SEMAPHORES
#define _POSIX_SEMAPHORES _POSIX_VERSION
#endif
/* A thread can only raise a signal for itself. */
#undef _POSIX_REALTIME_SIGNALS

#ifdef __cplusplus
extern "C" {
#endif

/* The C library's answers, except about what this header, pthread.h and semaphore.h define. */
long sysconf(int __name) __asm__("__coyote_sysconf");
/* Returns 0 for 0: there is no alarm. Any other is not supported, since there is no signal. */
unsigned alarm(unsigned __seconds);

#if defined(_GNU_SOURCE) || defined(_BSD_SOURCE)
int getpagesize(void);
#endif
#ifdef _GNU_SOURCE
/* The same in every schedule; the process's number for the thread that runs main. */
pid_t gettid(void);
#endif

#ifdef __cplusplus
}
#endif

#endif
