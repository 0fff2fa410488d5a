// Waiting for an atomic variable of C++20, and what is built on it.
#include <version>

#ifdef COYOTE_LIBCXX_THREADS

#include <coyote_raw.h>
#include <atomic>
#include <barrier>

_LIBCPP_BEGIN_NAMESPACE_STD

// An object with the size of a futex is a futex itself. For others, a counter is selected by the address;
// a notification increments it.

using counter = __cxx_atomic_contention_t;

static counter counters[64];

static counter *counter_of(const volatile void *address) {
  return &counters[(uintptr_t)address / 4 % 64];
}

static uint32_t address(const volatile void *object) {
  return (uint32_t)(uintptr_t)object;
}

void __cxx_atomic_notify_one(const volatile counter *object) noexcept {
  coyote_raw_futex_notify(address(object), 1);
}

void __cxx_atomic_notify_all(const volatile counter *object) noexcept {
  coyote_raw_futex_notify(address(object), UINT32_MAX);
}

__cxx_contention_t __libcpp_atomic_monitor(const volatile counter *object) noexcept {
  return __cxx_atomic_load(object, memory_order_acquire);
}

void __libcpp_atomic_wait(const volatile counter *object, __cxx_contention_t old) noexcept {
  coyote_raw_futex_wait64(address(object), old, -1);
}

// Several variables may share a counter, so all waiters have to check their variable.
void __cxx_atomic_notify_all(const volatile void *object) noexcept {
  counter *moved = counter_of(object);
  __cxx_atomic_fetch_add(moved, __cxx_contention_t(1), memory_order_release);
  __cxx_atomic_notify_all(moved);
}

void __cxx_atomic_notify_one(const volatile void *object) noexcept {
  __cxx_atomic_notify_all(object);
}

__cxx_contention_t __libcpp_atomic_monitor(const volatile void *object) noexcept {
  return __libcpp_atomic_monitor(counter_of(object));
}

void __libcpp_atomic_wait(const volatile void *object, __cxx_contention_t old) noexcept {
  __libcpp_atomic_wait(counter_of(object), old);
}

class __barrier_algorithm_base {
public:
  ptrdiff_t &expected;
  atomic<ptrdiff_t> arrived{0};

  explicit __barrier_algorithm_base(ptrdiff_t &expected) : expected(expected) {}
};

__barrier_algorithm_base *__construct_barrier_algorithm_base(ptrdiff_t &expected) {
  return new __barrier_algorithm_base(expected);
}

// Whether the phase is complete.
bool __arrive_barrier_algorithm_base(__barrier_algorithm_base *barrier, __barrier_phase_t) noexcept {
  // Read before the arrival: the thread that completes the phase may lower it for the next one.
  const ptrdiff_t expected = barrier->expected;
  if (barrier->arrived.fetch_add(1) + 1 < expected) {
    return false;
  }
  barrier->arrived.store(0);
  return true;
}

void __destroy_barrier_algorithm_base(__barrier_algorithm_base *barrier) noexcept {
  delete barrier;
}

_LIBCPP_END_NAMESPACE_STD

#endif
