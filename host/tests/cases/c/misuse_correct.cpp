// What looks like the misuses of `misuse.cpp` and is right.
// flags: -std=c++20 -O1
// run: -i 300 --races bug --detect lock-order
// exit: 0
// line: . No bug found
// run: -s pct -i 300 --races bug
// exit: 0
// line: . No bug found
// run: -s dpor --test timed --test shared --test timed_out --test latch
// exit: 0
#include "coyote.h"
#include <cassert>
#include <chrono>
#include <latch>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>

using namespace std::chrono_literals;

template <class Mutex> static void counts() {
  Mutex mutex;
  int n = 0;
  auto f = [&] {
    mutex.lock();
    n++;
    mutex.unlock();
    if (mutex.try_lock()) {
      n++;
      mutex.unlock();
    }
  };
  std::thread thread(f);
  f();
  thread.join();
  assert(n >= 2 && n <= 4);
}

COYOTE_TEST(timed) { counts<std::timed_mutex>(); }
COYOTE_TEST(recursive) { counts<std::recursive_timed_mutex>(); }
COYOTE_TEST(shared) { counts<std::shared_mutex>(); }
COYOTE_TEST(shared_timed) { counts<std::shared_timed_mutex>(); }

// A mutex that was taken with a timeout, by a function of a header; the next holder is another thread.
template <class Mutex> static void timed_by_turns() {
  Mutex mutex;
  auto f = [&] {
    if (mutex.try_lock_for(1s)) {
      mutex.unlock();
    }
    mutex.lock();
    mutex.unlock();
  };
  std::thread thread(f);
  f();
  thread.join();
}
COYOTE_TEST(timed_out) { timed_by_turns<std::timed_mutex>(); }
COYOTE_TEST(timed_out_recursive) { timed_by_turns<std::recursive_timed_mutex>(); }
COYOTE_TEST(timed_out_shared) { timed_by_turns<std::shared_timed_mutex>(); }

COYOTE_TEST(many_readers) {
  std::shared_mutex shared;
  std::shared_timed_mutex timed;
  std::shared_timed_mutex other;
  auto f = [&] {
    std::shared_lock one(shared);
    std::shared_lock two(timed);
    if (other.try_lock_shared_for(1s)) {
      other.unlock_shared();
    }
  };
  auto g = [&] {
    std::scoped_lock all(shared, timed);
    std::recursive_timed_mutex own;
    own.lock();
    own.lock();
    own.unlock();
    own.unlock();
  };
  std::thread one(f), two(g);
  f();
  one.join();
  two.join();
}

// Objects that are made anew at the same place.
COYOTE_TEST(again) {
  std::optional<std::shared_mutex> mutex;
  for (int i = 0; i < 2; i++) {
    mutex.emplace();
    std::thread thread([&] { std::lock_guard guard(*mutex); });
    mutex->lock_shared();
    mutex->unlock_shared();
    thread.join();
  }
  mutex.reset();
}

COYOTE_TEST(latch) {
  std::latch latch(3), none(0);
  std::thread thread([&] { latch.arrive_and_wait(); });
  latch.count_down(0);
  latch.count_down(2);
  latch.wait();
  none.wait();
  thread.join();
}
