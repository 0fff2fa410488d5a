// Implements throw: the library was built without exceptions, so the run ends without a verdict.
#include <cstdlib>
#include <exception>
#include <typeinfo>

extern "C" {

char *__cxa_demangle(const char *name, char *buffer, size_t *bytes, int *status);
[[noreturn]] void __coyote_unsupported_parts(const char *const *parts);

void *__cxa_allocate_exception(size_t bytes) noexcept {
  return std::calloc(1, bytes);
}

void __cxa_free_exception(void *exception) noexcept {
  std::free(exception);
}

void *__cxa_init_primary_exception(void *exception, std::type_info *, void (*)(void *)) noexcept {
  return exception;
}

[[noreturn]] void __cxa_throw(void *exception, std::type_info *type, void (*)(void *)) {
  const char *name = type->name();
  int status = 0;
  char *demangled = __cxa_demangle(name, nullptr, nullptr, &status);
  // The types of std that are thrown are all derived from std::exception, and from that first.
  bool standard = name[0] == 'S' && name[1] == 't';
  const char *parts[] = {
      "exceptions (it throws ",
      demangled ? demangled : name,
      standard ? ": " : "",
      standard ? static_cast<std::exception *>(exception)->what() : "",
      ")",
      nullptr,
  };
  __coyote_unsupported_parts(parts);
}

[[noreturn]] void __cxa_rethrow() {
  const char *parts[] = {"exceptions (it throws one again)", nullptr};
  __coyote_unsupported_parts(parts);
}

void *__cxa_begin_catch(void *exception) noexcept {
  return exception;
}

void __cxa_end_catch() {}
}
