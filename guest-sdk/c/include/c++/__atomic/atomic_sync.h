// Waits for atomic variables block at once: libc++'s own poll the clock for a while, and share their queues with
// other variables unless the variable is an int64_t, so that a notify_one wakes all. See lib/libcxx_atomic.cpp.
#ifndef COYOTE_ATOMIC_SYNC_H
#define COYOTE_ATOMIC_SYNC_H

#pragma clang system_header
#include <__config>

#ifndef COYOTE_LIBCXX_THREADS
#include_next <__atomic/atomic_sync.h>
#else

// libc++'s own functions get other names.
#pragma push_macro("__atomic_wait")
#pragma push_macro("__atomic_wait_unless")
#pragma push_macro("__atomic_notify_one")
#pragma push_macro("__atomic_notify_all")
#define __atomic_wait __libcpp_unused_atomic_wait
#define __atomic_wait_unless __libcpp_unused_atomic_wait_unless
#define __atomic_notify_one __libcpp_unused_atomic_notify_one
#define __atomic_notify_all __libcpp_unused_atomic_notify_all
#include_next <__atomic/atomic_sync.h>
#pragma pop_macro("__atomic_wait")
#pragma pop_macro("__atomic_wait_unless")
#pragma pop_macro("__atomic_notify_one")
#pragma pop_macro("__atomic_notify_all")

extern "C" {
// Blocks until the object is notified; returns false at once if its value is another one already.
bool __coyote_await(const volatile void *__object, const void *__seen, size_t __size);
// The same until a virtual time at most: returns false after this time.
bool __coyote_await_until(const volatile void *__object, const void *__seen, size_t __size, long long __time);
// The virtual time after a span of so many nanoseconds.
long long __coyote_time_after(long long __nanoseconds);
// Ends the run: an object is used against its rules.
__attribute__((__noreturn__)) void __coyote_misuse(const volatile void *__object, const char *__what);
void __coyote_atomic_notify_one(const volatile void *__object);
void __coyote_atomic_notify_all(const volatile void *__object);
}

_LIBCPP_BEGIN_NAMESPACE_STD

// As libc++ describes it: returns when `__poll` accepts the value, which it may change to what it saw last.
template <class _AtomicWaitable, class _Poll>
_LIBCPP_HIDE_FROM_ABI void
__atomic_wait_unless(const _AtomicWaitable &__a, _Poll &&__poll, memory_order __order) {
  using __traits = __atomic_waitable_traits<__decay_t<_AtomicWaitable> >;
  for (;;) {
    auto __value = __traits::__atomic_load(__a, __order);
    if (__poll(__value)) {
      return;
    }
    using _Value = decltype(__value);
    const _Value __seen = __value;
    bool __same = __coyote_await(__traits::__atomic_contention_address(__a), std::addressof(__seen), sizeof __seen);
    if (!__same && !__has_unique_object_representations(_Value)) {
      // Equal values may differ in their padding, for ever.
      __libcpp_thread_yield();
    }
  }
}

template <class _AtomicWaitable, class _Value>
_LIBCPP_HIDE_FROM_ABI void __atomic_wait(_AtomicWaitable &__a, _Value __old, memory_order __order) {
  __atomic_compare_unequal_to<_Value> __changed = {__old};
  std::__atomic_wait_unless(__a, __changed, __order);
}

template <class _AtomicWaitable>
_LIBCPP_HIDE_FROM_ABI void __atomic_notify_one(const _AtomicWaitable &__a) {
  __coyote_atomic_notify_one(__atomic_waitable_traits<__decay_t<_AtomicWaitable> >::__atomic_contention_address(__a));
}

template <class _AtomicWaitable>
_LIBCPP_HIDE_FROM_ABI void __atomic_notify_all(const _AtomicWaitable &__a) {
  __coyote_atomic_notify_all(__atomic_waitable_traits<__decay_t<_AtomicWaitable> >::__atomic_contention_address(__a));
}

_LIBCPP_END_NAMESPACE_STD

#endif
#endif
