/* C++'s static variables of functions, initialised by the first thread that reaches them. */
#include "library.h"

/* The first byte says that it is initialised; the thread that initialises it holds the mutex at its address. */
int __coyote_initialised(const char *guard) {
  return __atomic_load_n(guard, __ATOMIC_ACQUIRE);
}

void __coyote_set_initialised(char *guard) {
  __atomic_store_n(guard, 1, __ATOMIC_RELEASE);
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
