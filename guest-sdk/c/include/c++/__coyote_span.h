// Spans of time as the tool's functions take them.
#ifndef COYOTE_SPAN_H
#define COYOTE_SPAN_H

#pragma clang system_header
#include <__chrono/duration.h>
#include <__chrono/time_point.h>
#include <__config>

_LIBCPP_BEGIN_NAMESPACE_STD

// In nanoseconds, rounded up; 0 for a negative span, and the largest number for one that is longer than virtual time.
template <class _Rep, class _Period>
_LIBCPP_HIDE_FROM_ABI long long __coyote_nanoseconds(const chrono::duration<_Rep, _Period> &__span) {
  if (!(__span > chrono::duration<_Rep, _Period>::zero())) {
    return 0;
  }
  if (chrono::duration<double>(__span).count() > 9.2e9) {
    return __LONG_LONG_MAX__;
  }
  chrono::nanoseconds __rounded = chrono::duration_cast<chrono::nanoseconds>(__span);
  if (__rounded < __span) {
    ++__rounded;
  }
  return __rounded.count();
}

// Whether `__take` succeeds, which waits for a number of nanoseconds at most, until this time of a clock. A clock of the
// program may be slower than virtual time.
template <class _Clock, class _Duration, class _Take>
_LIBCPP_HIDE_FROM_ABI bool __coyote_take_until(const chrono::time_point<_Clock, _Duration> &__time, _Take __take) {
  do {
    if (__take(std::__coyote_nanoseconds(__time - _Clock::now()))) {
      return true;
    }
  } while (_Clock::now() < __time);
  return false;
}

_LIBCPP_END_NAMESPACE_STD

#endif
