// What looks like the misuses of `misuse.cpp` and is right.
// flags: -std=c++20 -O1
// run: -i 300 --races bug --detect lock-order
// exit: 0
// line: . No bug found
// run: -s pct -i 300 --races bug
// exit: 0
// line: . No bug found
// run: -s dpor --test timed --test shared --test timed_out --test latch --test semaphores --test semaphore_timeout
// exit: 0
// line: Proved: no bug
#include "coyote.h"
#include <barrier>
#include <cassert>
#include <chrono>
#include <latch>
#include <mutex>
#include <optional>
#include <semaphore>
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

// Released up to the maximum, by threads that have acquired it and by others.
COYOTE_TEST(semaphores) {
  std::counting_semaphore<2> slots(1);
  std::binary_semaphore done(0);
  std::thread thread([&] {
    slots.acquire();
    slots.release();
    done.release();
  });
  slots.release();
  done.acquire();
  slots.acquire();
  slots.acquire();
  assert(!slots.try_acquire());
  slots.release(2);
  slots.release(0);
  thread.join();
  // By the standard, an object may have a maximum of 0.
  std::counting_semaphore<0> none(0);
  assert(!none.try_acquire());
}

// The wait ends by the release or by its timeout, whichever comes first: both happen, which the search shows.
static int taken;
COYOTE_TEST(semaphore_timeout) {
  std::binary_semaphore semaphore(0);
  std::thread thread([&] { semaphore.release(); });
  taken = semaphore.try_acquire_for(1ms);
  if (!taken) {
    semaphore.acquire();
  }
  assert(!semaphore.try_acquire_for(0s) && !semaphore.try_acquire_for(-1s));
  assert(!semaphore.try_acquire_until(std::chrono::steady_clock::now() + 1ms));
  assert(!semaphore.try_acquire_until(std::chrono::system_clock::now() - 1ms));
  thread.join();
}

// Spans that are longer than virtual time, and in other units.
COYOTE_TEST(long_spans) {
  std::counting_semaphore<> semaphore(1);
  std::timed_mutex mutex;
  std::shared_timed_mutex shared;
  assert(semaphore.try_acquire_for(std::chrono::hours::max()));
  assert(mutex.try_lock_for(std::chrono::hours::max()));
  assert(shared.try_lock_shared_until(std::chrono::steady_clock::time_point::max()));
  std::thread thread([&] {
    std::this_thread::sleep_for(1ms);
    semaphore.release();
    mutex.lock();
    mutex.unlock();
    assert(shared.try_lock_shared_for(std::chrono::duration<float>(0.5f)));
    shared.unlock_shared();
  });
  assert(semaphore.try_acquire_for(std::chrono::duration<double>(1e12)));
  mutex.unlock();
  thread.join();
  shared.unlock_shared();
}

// A thread reads under a mutex twice, and unlocks it in any order.
COYOTE_TEST(readers) {
  std::shared_timed_mutex mutex;
  auto f = [&] {
    mutex.lock_shared();
    if (mutex.try_lock_shared_for(1s)) {
      mutex.unlock_shared();
    }
    mutex.unlock_shared();
    if (mutex.try_lock_for(1s)) {
      mutex.unlock();
    }
  };
  std::thread thread(f);
  f();
  thread.join();
}

// A timed mutex is unlocked by the thread that took it with a timeout, again and again.
template <class Mutex> static void timeouts() {
  Mutex mutex;
  int n = 0;
  auto f = [&] {
    for (int i = 0; i < 2; i++) {
      if (mutex.try_lock_for(1s)) {
        n++;
        mutex.unlock();
      }
      if (mutex.try_lock_until(std::chrono::system_clock::now() + 1s)) {
        n++;
        mutex.unlock();
      }
    }
  };
  std::thread thread(f);
  f();
  thread.join();
  mutex.lock();
  assert(n <= 8);
  mutex.unlock();
}
COYOTE_TEST(timeouts_timed) { timeouts<std::timed_mutex>(); }
COYOTE_TEST(timeouts_recursive) { timeouts<std::recursive_timed_mutex>(); }
COYOTE_TEST(timeouts_shared) { timeouts<std::shared_timed_mutex>(); }

// A thread drops out of a barrier; another one arrives for all that are left.
COYOTE_TEST(barrier) {
  int phases = 0;
  auto done = [&]() noexcept { phases++; };
  std::barrier barrier(2, done);
  std::thread thread([&] {
    barrier.arrive_and_wait();
    barrier.arrive_and_drop();
  });
  barrier.arrive_and_wait();
  barrier.arrive_and_wait();
  barrier.arrive_and_wait();
  thread.join();
  assert(phases == 3);
  std::barrier both(2);
  both.wait(both.arrive(2));
}
