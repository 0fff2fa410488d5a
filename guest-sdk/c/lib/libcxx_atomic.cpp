// Waiting for an atomic variable of C++20, and what is built on it.
#include <version>

#ifdef COYOTE_LIBCXX_THREADS

#include <coyote_shim.h>
#include <atomic>
#include <barrier>

// A thread that waits for an atomic variable. Its node is on its own stack, and in the list of its object's bucket.
//
// By the standard, a notification has to unblock a waiter for which it is meant: one that blocked on a value that was
// replaced since then. A waiter that saw the present value would only block again, so it does not count: the one
// waiter that notify_one wakes is any of the others. (After a change and back, a waiter counts as one that saw the
// present value: it would find it again.)
struct waiter {
  const volatile void *object;
  const void *seen;
  size_t size;
  uint32_t blocked;
  waiter *next;
};

static waiter *buckets[64];

// A result of coyote_raw_futex_wait.
enum { TIMED_OUT = 2 };

static inline __attribute__((always_inline)) waiter **bucket(const volatile void *object) {
  return &buckets[(uintptr_t)object / 4 % 64];
}

// Not memcmp, whose accesses would be scheduling points.
static inline __attribute__((always_inline)) bool differs(const volatile void *object, const void *seen, size_t size) {
  bool differs = false;
  for (size_t i = 0; i < size; i++) {
    differs |= ((const volatile char *)object)[i] != ((const char *)seen)[i];
  }
  return differs;
}

static inline __attribute__((always_inline)) bool is_due(const waiter *waiter, const volatile void *object) {
  return waiter->object == object && differs(object, waiter->seen, waiter->size);
}

static inline __attribute__((always_inline)) void join(waiter *self) {
  waiter **last = bucket(self->object);
  while (*last) {
    last = &(*last)->next;
  }
  *last = self;
}

static inline __attribute__((always_inline)) void leave(waiter *self) {
  waiter **link = bucket(self->object);
  while (*link != self) {
    link = &(*link)->next;
  }
  *link = self->next;
}

// No worker runs between the look at the waiters and their wake-ups.
static inline __attribute__((always_inline)) void notify(const volatile void *object, bool all) {
  coyote_raw_atomic_begin();
  uint32_t due = 0;
  for (waiter *waiter = *bucket(object); waiter; waiter = waiter->next) {
    due += is_due(waiter, object);
  }
  uint32_t chosen = !all && due > 1 ? coyote_raw_choose_int(due) : 0;
  uint32_t place = 0;
  for (waiter **link = bucket(object); *link && due;) {
    waiter *waiter = *link;
    if (is_due(waiter, object) && (all || place++ == chosen)) {
      *link = waiter->next;
      waiter->blocked = 0;
      coyote_raw_futex_notify(COYOTE_ADDRESS(&waiter->blocked), 1);
    } else {
      link = &waiter->next;
    }
  }
  coyote_raw_atomic_end();
}

extern "C" {

bool __coyote_await(const volatile void *object, const void *seen, size_t size) {
  if (differs(object, seen, size)) {
    return false;
  }
  waiter self = {object, seen, size, 1, nullptr};
  join(&self);
  while (*(volatile uint32_t *)&self.blocked) {
    coyote_raw_futex_wait(COYOTE_ADDRESS(&self.blocked), 1, COYOTE_NO_TIMEOUT);
  }
  return true;
}

bool __coyote_await_until(const volatile void *object, const void *seen, size_t size, long long time) {
  if (differs(object, seen, size)) {
    return true;
  }
  waiter self = {object, seen, size, 1, nullptr};
  join(&self);
  while (*(volatile uint32_t *)&self.blocked) {
    long long left = time - coyote_raw_now();
    uint32_t how = coyote_raw_futex_wait(COYOTE_ADDRESS(&self.blocked), 1, left > 0 ? left : 0);
    // A notification that came after the timeout counts.
    if (how == TIMED_OUT && *(volatile uint32_t *)&self.blocked) {
      leave(&self);
      return false;
    }
  }
  return true;
}

long long __coyote_time_after(long long nanoseconds) {
  long long now = coyote_raw_now();
  return nanoseconds < INT64_MAX - now ? now + nanoseconds : INT64_MAX;
}

// The names make a call a scheduling point: see `C_SDK_OPERATIONS` of the instrumenter.
void __coyote_atomic_notify_one(const volatile void *object) {
  notify(object, false);
}

void __coyote_atomic_notify_all(const volatile void *object) {
  notify(object, true);
}
}

_LIBCPP_BEGIN_NAMESPACE_STD

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
