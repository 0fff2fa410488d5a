/* What a program can ask about the system and its threads, in unistd.h. */
#define _GNU_SOURCE
#define _WASI_EMULATED_GETPID
#include "library.h"
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

/* Under its own name in the C library: the SDK's unistd.h has another one. */
long libc_sysconf(int name) __asm__("sysconf");

/* Weak: a program that defines sysconf keeps its own. */
long __coyote_sysconf(int name) __attribute__((weak));
long __coyote_sysconf(int name) {
  switch (name) {
  case _SC_THREAD_STACK_MIN:
    return PTHREAD_STACK_MIN;
  case _SC_THREAD_KEYS_MAX:
    return PTHREAD_KEYS_MAX;
  case _SC_THREAD_DESTRUCTOR_ITERATIONS:
    return PTHREAD_DESTRUCTOR_ITERATIONS;
  case _SC_SEM_VALUE_MAX:
    return SEM_VALUE_MAX;
  /* What WASI lacks, and unistd.h says so, but not the C library. */
  case _SC_ASYNCHRONOUS_IO:
  case _SC_JOB_CONTROL:
  case _SC_MAPPED_FILES:
  case _SC_MEMLOCK:
  case _SC_MEMLOCK_RANGE:
  case _SC_MEMORY_PROTECTION:
  case _SC_MESSAGE_PASSING:
  case _SC_RAW_SOCKETS:
  case _SC_REALTIME_SIGNALS:
  case _SC_SAVED_IDS:
  case _SC_SHARED_MEMORY_OBJECTS:
  case _SC_SHELL:
  case _SC_SPAWN:
    return -1;
  default:
    return libc_sysconf(name);
  }
}

int __coyote_getpagesize(void) {
  return PAGESIZE;
}
PUBLIC(getpagesize);

pid_t __coyote_gettid(void) {
  return (pid_t)(((unsigned)getpid() + coyote_raw_current()) & INT_MAX);
}
PUBLIC(gettid);
