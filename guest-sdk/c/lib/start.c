/* The start of a program whose main is not `int main(void)`: also of one that returns nothing, or takes
 * the environment as a third argument. A linker silently drops a main with an unusual type; here it is
 * called by its own type. */
#include "library.h"
#include <stdlib.h>
#include <unistd.h>
#include <wasi/api.h>

/* The names that compilers give to a main with arguments, and to one without arguments or with an unusual
 * type. Only their addresses are taken, so that the linker does not check their types. */
extern void with_arguments(void) __asm__("__main_argc_argv") __attribute__((weak));
extern void unusual(void) __asm__("main") __attribute__((weak));

typedef __wasi_errno_t sizes_get(__wasi_size_t *strings, __wasi_size_t *bytes);
typedef __wasi_errno_t texts_get(uint8_t **list, uint8_t *texts);

/* A list of texts, NULL at its end. It exists as long as the program runs: static, so that it is no leak. */
struct texts {
  char **list;
  char *texts;
};
static struct texts arguments, environment;

PRIVATE void get_texts(struct texts *into, sizes_get *sizes, texts_get *get, uint32_t *count) {
  __wasi_size_t strings, bytes;
  if (sizes(&strings, &bytes)) {
    __coyote_bug("the arguments or the environment cannot be read");
  }
  char **list = __coyote_memory((strings + 1) * sizeof *list);
  char *texts = __coyote_memory(bytes + 1);
  if (get((uint8_t **)list, (uint8_t *)texts)) {
    __coyote_bug("the arguments or the environment cannot be read");
  }
  list[strings] = NULL;
  *count = strings;
  into->list = list;
  into->texts = texts;
}

int __coyote_main(void) {
  uint32_t count, names;
  void (*volatile entry)(void) = with_arguments ? with_arguments : unusual;
  if (!entry) {
    __coyote_bug("the program has no main");
  }
  get_texts(&arguments, __wasi_args_sizes_get, __wasi_args_get, &count);
  if (!with_arguments) {
    get_texts(&environment, __wasi_environ_sizes_get, __wasi_environ_get, &names);
  }
  return (int)coyote_raw_call_main(COYOTE_ADDRESS(entry), count, COYOTE_ADDRESS(arguments.list),
                                   COYOTE_ADDRESS(environment.list));
}
int __main_void(void) __attribute__((alias("__coyote_main")));
