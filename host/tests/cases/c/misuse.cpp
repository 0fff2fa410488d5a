// Misuse of C++'s mutexes and latches, which the standard leaves undefined: each with a use that is like it and right, in
// `misuse_correct.cpp`.
// flags: -std=c++20 -O1 -w
// run: -i 300 -- timed
// exit: 2
// line: std::timed_mutex::unlock: another thread holds it
// run: -i 1 -- timed_free
// exit: 2
// line: std::timed_mutex::unlock: no thread holds it
// run: -i 1 -- timed_held
// exit: 2
// line: a std::timed_mutex is destroyed that a thread holds
// run: -i 300 -- recursive
// exit: 2
// line: std::recursive_timed_mutex::unlock: the caller does not hold it
// run: -i 1 -- recursive_twice
// exit: 2
// line: std::recursive_timed_mutex::unlock: the caller does not hold it
// run: -i 1 -- recursive_held
// exit: 2
// line: a std::recursive_timed_mutex is destroyed that a thread holds
// run: -i 1 -- shared_mode
// exit: 2
// line: std::shared_mutex::unlock: the caller does not hold it alone
// run: -i 1 -- shared_other_mode
// exit: 2
// line: std::shared_mutex::unlock_shared: the caller holds it alone
// run: -i 300 -- shared_foreign
// exit: 2
// line: std::shared_mutex::unlock: the caller does not hold it alone
// run: -i 1 -- shared_free
// exit: 2
// line: bug in test main: misuse: unlock of the rwlock
// run: -i 1 -- shared_held
// exit: 2
// line: bug in test main: misuse: destruction of the rwlock
// run: -i 300 -- shared_timed
// exit: 2
// line: std::shared_timed_mutex::unlock: another thread holds it
// run: -i 1 -- shared_timed_mode
// exit: 2
// line: std::shared_timed_mutex::unlock: no thread holds it alone
// run: -i 1 -- shared_timed_other_mode
// exit: 2
// line: std::shared_timed_mutex::unlock_shared: no thread reads under it
// run: -i 1 -- shared_timed_held
// exit: 2
// line: a std::shared_timed_mutex is destroyed that a thread holds
// run: -i 300 -- latch
// exit: 2
// line: std::latch::count_down called with a value greater than the internal counter
// run: -i 1 -- latch_negative
// exit: 2
// line: std::latch::count_down called with a negative value
#include <latch>
#include <mutex>
#include <optional>
#include <semaphore>
#include <shared_mutex>
#include <string>
#include <thread>

template <class Mutex> static void foreign(Mutex &mutex) {
  std::thread thread([&] {
    mutex.lock();
    std::this_thread::yield();
    mutex.unlock();
  });
  // The mistake is that the result is not looked at.
  (void)mutex.try_lock();
  mutex.unlock();
  thread.join();
}

template <class Mutex> static void held() {
  std::optional<Mutex> mutex(std::in_place);
  mutex->lock();
  mutex.reset();
}

int main(int, char **list) {
  std::string what = list[1];
  std::timed_mutex timed;
  std::recursive_timed_mutex recursive;
  std::shared_mutex shared;
  std::shared_timed_mutex shared_timed;
  if (what == "timed") {
    foreign(timed);
  } else if (what == "timed_free") {
    timed.unlock();
  } else if (what == "timed_held") {
    held<std::timed_mutex>();
  } else if (what == "recursive") {
    foreign(recursive);
  } else if (what == "recursive_twice") {
    recursive.lock();
    recursive.unlock();
    recursive.unlock();
  } else if (what == "recursive_held") {
    held<std::recursive_timed_mutex>();
  } else if (what == "shared_mode") {
    shared.lock_shared();
    shared.unlock();
  } else if (what == "shared_other_mode") {
    shared.lock();
    shared.unlock_shared();
  } else if (what == "shared_foreign") {
    foreign(shared);
  } else if (what == "shared_free") {
    shared.unlock_shared();
  } else if (what == "shared_held") {
    held<std::shared_mutex>();
  } else if (what == "shared_timed") {
    foreign(shared_timed);
  } else if (what == "shared_timed_mode") {
    shared_timed.lock_shared();
    shared_timed.unlock();
  } else if (what == "shared_timed_other_mode") {
    shared_timed.lock();
    shared_timed.unlock_shared();
  } else if (what == "shared_timed_held") {
    held<std::shared_timed_mutex>();
  } else if (what == "latch") {
    // The third arrival may come before or after the wait ends.
    std::latch latch(2);
    std::thread one([&] { latch.count_down(); }), two([&] { latch.count_down(); });
    latch.count_down();
    one.join();
    two.join();
  } else if (what == "latch_negative") {
    std::latch(2).count_down(-1);
  }
}
