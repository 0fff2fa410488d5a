// Waits with a timeout block: both ends are reached, no worker polls the clock, and a search comes to an end soon. Timed
// mutexes are locks to the tool: they make deadlocks and lock orders.
// flags: -std=c++20 -O1
// run: -s dpor --test semaphore_taken
// exit: 2
// line: bug in test semaphore_taken: assertion
// run: -s dpor --test semaphore_timed_out
// exit: 2
// line: bug in test semaphore_timed_out: assertion
// run: -s dpor --test posix_taken
// exit: 2
// line: bug in test posix_taken: assertion
// run: -s dpor --test posix_timed_out
// exit: 2
// line: bug in test posix_timed_out: assertion
// run: -s dpor --test semaphores
// exit: 0
// line: Proved: no bug
// run: -i 100 --test deadlock
// exit: 2
// line: bug in test deadlock: deadlock: 2 workers
// run: -i 1 --test alone
// exit: 2
// line: bug in test alone: deadlock: 1 worker
// run: -i 1 --test deadlock --detect lock-order
// exit: 2
// line: (steered)
#include "coyote.h"
#include <cassert>
#include <chrono>
#include <mutex>
#include <semaphore.h>
#include <semaphore>
#include <shared_mutex>
#include <thread>
#include <time.h>

using namespace std::chrono_literals;

static bool taken_in_time() {
  std::binary_semaphore semaphore(0);
  std::thread thread([&] { semaphore.release(); });
  bool taken = semaphore.try_acquire_for(1s);
  thread.join();
  return taken;
}

static bool taken_in_time_posix() {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  std::thread thread([&] { sem_post(&semaphore); });
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec++;
  bool taken = sem_timedwait(&semaphore, &until) == 0;
  thread.join();
  sem_destroy(&semaphore);
  return taken;
}

COYOTE_TEST(semaphore_taken) { COYOTE_ASSERT(!taken_in_time()); }
COYOTE_TEST(semaphore_timed_out) { COYOTE_ASSERT(taken_in_time()); }
COYOTE_TEST(posix_taken) { COYOTE_ASSERT(!taken_in_time_posix()); }
COYOTE_TEST(posix_timed_out) { COYOTE_ASSERT(taken_in_time_posix()); }

// Two threads wait with a timeout for what one of them gets, and a third one without.
COYOTE_TEST(semaphores) {
  std::counting_semaphore<4> semaphore(1);
  int got = 0;
  auto f = [&] {
    bool taken = semaphore.try_acquire_for(1s);
    if (taken) {
      semaphore.release();
    }
    return taken;
  };
  std::thread thread([&] { f(); });
  got += f();
  semaphore.acquire();
  semaphore.release();
  thread.join();
  assert(!semaphore.try_acquire_for(-1s) || got >= 0);
}

static std::timed_mutex one;
static std::recursive_timed_mutex two;

COYOTE_TEST(deadlock) {
  std::thread thread([] {
    std::lock_guard a(one);
    std::lock_guard b(two);
  });
  {
    std::lock_guard b(two);
    std::lock_guard a(one);
  }
  thread.join();
}

COYOTE_TEST(alone) {
  std::shared_timed_mutex mutex;
  mutex.lock_shared();
  mutex.lock();
}
