/* C++'s static variables of functions, initialised by the first thread that comes. */
#include "library.h"

/* The first byte says that it is initialised; whoever is at it holds the mutex at that address. */
int __coyote_initialised(const volatile char *guard) {
  return *guard;
}

void __coyote_set_initialised(volatile char *guard) {
  *guard = 1;
}

int __cxa_guard_acquire(char *guard) {
  coyote_raw_mutex_lock(COYOTE_ADDRESS(guard), COYOTE_NO_TIMEOUT);
  if (__coyote_initialised(guard)) {
    coyote_raw_mutex_unlock(COYOTE_ADDRESS(guard));
    return 0;
  }
  return 1;
}

void __cxa_guard_release(char *guard) {
  __coyote_set_initialised(guard);
  coyote_raw_mutex_unlock(COYOTE_ADDRESS(guard));
}

void __cxa_guard_abort(char *guard) {
  coyote_raw_mutex_unlock(COYOTE_ADDRESS(guard));
}
