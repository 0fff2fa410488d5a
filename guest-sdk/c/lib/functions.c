/* The functions that the headers inline, for programs that take their addresses or use other headers. */
#define COYOTE_INLINE __attribute__((weak))
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
