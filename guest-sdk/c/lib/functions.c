/* The functions that headers inline, for who takes their addresses or has other headers. */
#define COYOTE_INLINE __attribute__((weak))
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
