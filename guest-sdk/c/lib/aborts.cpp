// How the C++ library ends a program. It was built without exceptions, and aborts where it would throw one: since the
// program could catch that, the run ends without a verdict.
#include <__verbose_abort>
#include <cstdarg>
#include <cstdio>
#include <cstring>

extern "C" {
[[noreturn]] void __coyote_unsupported_parts(const char *const *parts);
[[noreturn]] void __coyote_bug(const char *what);
}

// Long enough for a name and a message.
static char text[512];

// Ends the run with an exception's name and message, if the text says that it would be thrown. The text is
// `NAME was thrown in -fno-exceptions mode`, with or without `message "MESSAGE"` at its end.
static void end_if_thrown() {
  char *after = std::strstr(text, " was thrown in -fno-exceptions mode");
  if (!after) {
    return;
  }
  *after = 0;
  char *message = std::strstr(after + 1, "message \"");
  if (message) {
    message += std::strlen("message \"");
    message[std::strcspn(message, "\"")] = 0;
  }
  const char *parts[] = {
      "exceptions (it throws std::", text, message ? ": " : "", message ? message : "", ")", nullptr,
  };
  __coyote_unsupported_parts(parts);
}

// Called by the library's own code and, with exceptions, by assertions of its headers. A program may define its own.
_LIBCPP_BEGIN_NAMESPACE_STD
__attribute__((weak)) void
__libcpp_verbose_abort(const char *format, ...) noexcept(noexcept(std::__libcpp_verbose_abort(""))) {
  va_list list;
  va_start(list, format);
  std::vsnprintf(text, sizeof text, format, list);
  end_if_thrown();
  __coyote_bug(text);
}
_LIBCPP_END_NAMESPACE_STD

extern "C" {

// The same by the part of the library below, which allocates.
[[noreturn]] void abort_message(const char *format, ...) {
  va_list list;
  va_start(list, format);
  std::vsnprintf(text, sizeof text, format, list);
  end_if_thrown();
  __coyote_bug(text);
}

// Called by headers in a file of the program that was compiled without exceptions: nothing can catch one there.
[[noreturn]] void __coyote_verbose_abort(const char *format, ...) {
  va_list list;
  va_start(list, format);
  std::vsnprintf(text, sizeof text, format, list);
  __coyote_bug(text);
}

// What compilers call for a dynamic_cast, a typeid and a new[] that fail.
[[noreturn]] void __cxa_bad_cast() {
  const char *parts[] = {"exceptions (it throws std::bad_cast)", nullptr};
  __coyote_unsupported_parts(parts);
}

[[noreturn]] void __cxa_bad_typeid() {
  const char *parts[] = {"exceptions (it throws std::bad_typeid)", nullptr};
  __coyote_unsupported_parts(parts);
}

[[noreturn]] void __cxa_throw_bad_array_new_length() {
  const char *parts[] = {"exceptions (it throws std::bad_array_new_length)", nullptr};
  __coyote_unsupported_parts(parts);
}
}
