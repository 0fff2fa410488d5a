// Waits for atomic variables: notify_one wakes one of those that it is meant for, whatever the variable's type.
// flags: -std=c++20 -O1
// run: -i 1000 --races bug --test meant --test every --test chain --test flag --test padded --test counters --test barrier
// exit: 0
// line: . No bug found in 7 tests
// run: -s dpor --test meant --test every --test chain --test flag --test padded --test counters --test barrier
// exit: 0
// line: . Proved: no bug in 7 tests
// run: -i 1000 --test lost_int
// exit: 2
// line: bug in test lost_int: deadlock
// run: -s dpor --test lost_int --test lost_bool --test lost_wide --test lost_int64
// exit: 2
// line: bug in test lost_int: deadlock
// line: bug in test lost_bool: deadlock
// line: bug in test lost_wide: deadlock
// line: bug in test lost_int64: deadlock
// run: -i 10 --test barrier_short
// exit: 2
// line: bug in test barrier_short: deadlock
// run: --races bug --test relaxed
// exit: 2
// line: bug in test relaxed: data-race
#include "coyote.h"
#include <atomic>
#include <barrier>
#include <cassert>
#include <cstdint>
#include <latch>
#include <semaphore>
#include <thread>

struct Wide {
  long long a, b;
};
struct Padded {
  char a;
  int b;
};

// A program that relies on one notify_one for two waiters.
template <class T> static void lost(T before, T after) {
  std::atomic<T> a(before);
  std::thread one([&] { a.wait(before); });
  std::thread two([&] { a.wait(before); });
  a.store(after);
  a.notify_one();
  one.join();
  two.join();
}
COYOTE_TEST(lost_int) { lost<int>(0, 1); }
COYOTE_TEST(lost_bool) { lost<bool>(false, true); }
COYOTE_TEST(lost_wide) { lost<Wide>({0, 0}, {0, 1}); }
COYOTE_TEST(lost_int64) { lost<int64_t>(0, 1); }

// A notification is not for a waiter that saw the present value.
COYOTE_TEST(meant) {
  std::atomic<int> a(0);
  std::thread one([&] { a.wait(0); });
  std::thread two([&] { a.wait(1); });
  a = 1;
  a.notify_one();
  one.join();
  a = 2;
  a.notify_one();
  two.join();
}

COYOTE_TEST(every) {
  std::atomic<short> a(0);
  std::thread one([&] { a.wait(0); });
  std::thread two([&] { a.wait(0); });
  a = 1;
  a.notify_all();
  one.join();
  two.join();
}

// Each waiter that was woken wakes the next one; neighbours are notified separately.
COYOTE_TEST(chain) {
  std::atomic<bool> a[2] = {};
  auto f = [&] {
    a[0].wait(false);
    a[0].notify_one();
  };
  std::thread one(f), two(f);
  a[0] = true;
  a[0].notify_one();
  a[1].notify_one();
  one.join();
  two.join();
}

COYOTE_TEST(flag) {
  std::atomic_flag f = ATOMIC_FLAG_INIT;
  int n = 0;
  auto g = [&] {
    while (f.test_and_set(std::memory_order_acquire)) {
      f.wait(true, std::memory_order_relaxed);
    }
    n++;
    f.clear(std::memory_order_release);
    f.notify_one();
  };
  std::thread t(g);
  g();
  t.join();
  assert(n == 2);
}

COYOTE_TEST(padded) {
  std::atomic<Padded> a(Padded{0, 0});
  std::thread t([&] {
    a.store({1, 2});
    a.notify_one();
  });
  a.wait({0, 0});
  t.join();
}

COYOTE_TEST(counters) {
  std::counting_semaphore<2> s(0);
  std::latch l(2);
  int v = 0;
  std::thread t([&] {
    s.acquire();
    assert(v == 1);
    l.arrive_and_wait();
  });
  v = 1;
  s.release();
  l.arrive_and_wait();
  t.join();
}

COYOTE_TEST(barrier) {
  int ended = 0, x[2] = {};
  auto end = [&]() noexcept { ended++; };
  std::barrier<decltype(end)> b(2, end);
  auto f = [&](int me) {
    x[me] = 1;
    b.arrive_and_wait();
    assert(x[1 - me] == 1 && ended == 1);
    b.wait(b.arrive());
  };
  std::thread t(f, 1);
  f(0);
  t.join();
  assert(ended == 2);
}

COYOTE_TEST(barrier_short) {
  std::barrier<> b(3);
  std::thread t([&] { b.arrive_and_wait(); });
  b.arrive_and_wait();
  t.join();
}

// Neither a notification nor a wait orders anything.
COYOTE_TEST(relaxed) {
  std::atomic<int> a(0);
  int v = 0;
  std::thread t([&] {
    a.wait(0, std::memory_order_relaxed);
    assert(v == 1);
  });
  v = 1;
  a.store(1, std::memory_order_relaxed);
  a.notify_one();
  t.join();
}
