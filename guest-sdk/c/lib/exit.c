/* Handlers of exit. The libc keeps them in lists that it would lock if it were built with threads: while one thread executes
 * handlers, another may add one. */
#include "library.h"
#include <stdint.h>
#include <stdlib.h>

struct handler {
  void (*function)(void *);
  void *argument;
};

/* ISO C asks for room for 32 handlers at least. */
struct handlers {
  struct handlers *older;
  unsigned count;
  struct handler all[32];
};

static struct handlers oldest, *newest = &oldest;

int __coyote___cxa_atexit(void (*function)(void *), void *argument, void *library) {
  (void)library;
  if (newest->count == sizeof newest->all / sizeof *newest->all) {
    struct handlers *more = calloc(1, sizeof *more);
    if (!more) {
      return -1;
    }
    more->older = newest;
    newest = more;
  }
  newest->all[newest->count++] = (struct handler){function, argument};
  return 0;
}
int __cxa_atexit(void (*function)(void *), void *argument, void *library);
PUBLIC(__cxa_atexit);

/* Calls a function by the type that atexit gives it. */
static void __coyote_call_handler(void *function) {
  ((void (*)(void))(uintptr_t)function)();
}

int __coyote_atexit(void (*function)(void)) {
  return __coyote___cxa_atexit(__coyote_call_handler, (void *)(uintptr_t)function, NULL);
}
PUBLIC(atexit);

/* Calls all handlers, the last one first, with those that are added meanwhile. */
void __coyote___funcs_on_exit(void) {
  while (newest->count > 0 || newest->older) {
    if (newest->count == 0) {
      newest = newest->older;
      continue;
    }
    struct handler next = newest->all[--newest->count];
    next.function(next.argument);
  }
}
/* Not weak, as that of the libc is which does nothing. */
void __funcs_on_exit(void) __attribute__((alias("__coyote___funcs_on_exit")));

/* Nothing is unloaded before the end. */
void __coyote___cxa_finalize(void *library) {
  (void)library;
}
void __cxa_finalize(void *library);
PUBLIC(__cxa_finalize);
