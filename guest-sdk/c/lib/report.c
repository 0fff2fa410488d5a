/* Functions that end a run: failed assertions, misuse of objects, aborts, errors of programs in SV-COMP's style. */
#include "library.h"
#include <stdlib.h>

/* A function of the C library, linked if the program writes: writes the contents of its buffers, which belong
 * to the report. */
extern void __stdio_exit(void) __attribute__((weak));

static char text[1024];

/* Joins the parts of a text, and returns its length. The program ends afterwards. */
PRIVATE uint32_t last_words(const char *const *parts) {
  uint32_t length = 0;
  for (; *parts; parts++) {
    for (const char *from = *parts; *from && length < sizeof text; from++) {
      text[length++] = *from;
    }
  }
  if (__stdio_exit) {
    __stdio_exit();
  }
  return length;
}

_Noreturn void __coyote_bug_parts(const char *const *parts) {
  coyote_raw_fail(COYOTE_ADDRESS(text), last_words(parts));
  __builtin_unreachable();
}

_Noreturn void __coyote_bug(const char *what) {
  const char *parts[] = {what, NULL};
  __coyote_bug_parts(parts);
}

_Noreturn void __coyote_misuse_parts(const volatile void *object, const char *const *parts) {
  uint32_t length = last_words(parts);
  coyote_raw_misuse(COYOTE_ADDRESS(object), COYOTE_ADDRESS(text), length);
  __builtin_unreachable();
}

_Noreturn void __coyote_misuse(const volatile void *object, const char *what) {
  const char *parts[] = {what, NULL};
  __coyote_misuse_parts(object, parts);
}

_Noreturn void __coyote_unsupported_parts(const char *const *parts) {
  coyote_raw_unsupported(COYOTE_ADDRESS(text), last_words(parts));
  __builtin_unreachable();
}

_Noreturn void __coyote_unsupported(const char *what) {
  const char *parts[] = {what, NULL};
  __coyote_unsupported_parts(parts);
}

/* The file without its directories, as COYOTE_ASSERT shows it. */
PRIVATE const char *file_name(const char *path) {
  const char *name = path;
  for (; *path; path++) {
    name = *path == '/' ? path + 1 : name;
  }
  return name;
}

/* The function that assert calls. */
_Noreturn void __coyote___assert_fail(const char *condition, const char *file, int line,
                                      const char *function) {
  (void)function;
  char number[12] = {0};
  char *digit = number + sizeof number - 1;
  for (unsigned rest = (unsigned)line; rest || !*digit; rest /= 10) {
    *--digit = (char)('0' + rest % 10);
  }
  const char *parts[] = {file_name(file), ":", digit, ": assertion failed: ", condition, NULL};
  __coyote_bug_parts(parts);
}
_Noreturn void __assert_fail(const char *, const char *, int, const char *);
PUBLIC(__assert_fail);

_Noreturn void __coyote_abort(void) {
  __coyote_bug("abort was called");
}
PUBLIC(abort);

_Noreturn void __coyote_reach_error(void) {
  __coyote_bug("reach_error was called");
}
_Noreturn void reach_error(void);
PUBLIC(reach_error);

_Noreturn void __coyote___VERIFIER_error(void) {
  __coyote_bug("__VERIFIER_error was called");
}
_Noreturn void __VERIFIER_error(void);
PUBLIC(__VERIFIER_error);
