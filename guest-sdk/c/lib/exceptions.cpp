// Implements throw: the library was built without exceptions, so the run ends without a verdict. An exception that is
// only kept in a std::exception_ptr, as by an abandoned promise, ends nothing until it is thrown.
#include <coyote_shim.h>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <typeinfo>

// Precedes the exception; its size keeps the exception aligned.
struct alignas(16) Head {
  // How many exception_ptrs refer to it.
  uint32_t count;
  std::type_info *type;
  // In some versions, it returns its argument.
  void (*destroy)(void *);
};

static Head *head_of(void *exception) {
  return static_cast<Head *>(exception) - 1;
}

extern "C" {

char *__cxa_demangle(const char *name, char *buffer, size_t *bytes, int *status);
[[noreturn]] void __coyote_unsupported_parts(const char *const *parts);

void *__cxa_allocate_exception(size_t bytes) noexcept {
  Head *head = static_cast<Head *>(std::calloc(1, sizeof(Head) + bytes));
  if (!head) {
    const char *parts[] = {"exceptions (there is no memory for one)", nullptr};
    __coyote_unsupported_parts(parts);
  }
  return head + 1;
}

void __cxa_free_exception(void *exception) noexcept {
  std::free(head_of(exception));
}

// Headers may declare it with a type that is not defined.
void *init(void *exception, std::type_info *type, void (*destroy)(void *)) noexcept
    __asm__("__cxa_init_primary_exception");
void *init(void *exception, std::type_info *type, void (*destroy)(void *)) noexcept {
  head_of(exception)->type = type;
  head_of(exception)->destroy = destroy;
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

// What std::exception_ptr is made of; these and the two after them replace a file of the C++ library that ends the
// program instead.
void __cxa_increment_exception_refcount(void *exception) noexcept {
  if (exception) {
    __atomic_fetch_add(&head_of(exception)->count, 1, __ATOMIC_RELAXED);
  }
}

void __cxa_decrement_exception_refcount(void *exception) noexcept {
  if (exception && __atomic_fetch_sub(&head_of(exception)->count, 1, __ATOMIC_ACQ_REL) == 1) {
    if (head_of(exception)->destroy) {
      coyote_raw_call_entry(COYOTE_ADDRESS(head_of(exception)->destroy), COYOTE_ADDRESS(exception));
    }
    __cxa_free_exception(exception);
  }
}

void *__cxa_current_primary_exception() noexcept {
  return nullptr;
}

void __cxa_rethrow_primary_exception(void *exception) {
  if (exception) {
    __cxa_throw(exception, head_of(exception)->type, nullptr);
  }
}

bool __cxa_uncaught_exception() noexcept {
  return false;
}

unsigned __cxa_uncaught_exceptions() noexcept {
  return 0;
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
