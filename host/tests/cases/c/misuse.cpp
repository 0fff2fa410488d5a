// Misuse of C++'s mutexes and latches, which the standard leaves undefined: each with a use that is like it and right, in
// `misuse_correct.cpp`.
// flags: -std=c++20 -O1 -w
// run: -i 300 -- timed
// exit: 2
// line: bug in test main: misuse: unlock of the mutex
// run: -i 1 -- timed_free
// exit: 2
// line: bug in test main: misuse: unlock of the mutex
// run: -i 1 -- timed_held
// exit: 2
// line: bug in test main: misuse: destruction of the mutex
// run: -i 300 -- recursive
// exit: 2
// line: bug in test main: misuse: std::recursive_timed_mutex::unlock: the caller does not hold it
// run: -i 1 -- recursive_twice
// exit: 2
// line: bug in test main: misuse: std::recursive_timed_mutex::unlock: the caller does not hold it
// run: -i 1 -- recursive_held
// exit: 2
// line: bug in test main: misuse: destruction of the mutex
// run: -i 1 -- shared_mode
// exit: 2
// line: bug in test main: misuse: std::shared_mutex::unlock: the caller does not hold it alone
// run: -i 1 -- shared_other_mode
// exit: 2
// line: bug in test main: misuse: std::shared_mutex::unlock_shared: the caller holds it alone
// run: -i 300 -- shared_foreign
// exit: 2
// line: bug in test main: misuse: std::shared_mutex::unlock: the caller does not hold it alone
// run: -i 1 -- shared_free
// exit: 2
// line: bug in test main: misuse: unlock of the rwlock
// run: -i 1 -- shared_held
// exit: 2
// line: bug in test main: misuse: destruction of the rwlock
// run: -i 300 -- shared_timed
// exit: 2
// line: bug in test main: misuse: std::shared_timed_mutex::unlock: the caller does not hold it alone
// run: -i 1 -- shared_timed_mode
// exit: 2
// line: bug in test main: misuse: std::shared_timed_mutex::unlock: the caller does not hold it alone
// run: -i 1 -- shared_timed_other_mode
// exit: 2
// line: bug in test main: misuse: std::shared_timed_mutex::unlock_shared: the caller holds it alone
// run: -i 1 -- shared_timed_held
// exit: 2
// line: bug in test main: misuse: destruction of the rwlock
// run: -i 300 -- latch
// exit: 2
// line: bug in test main: misuse: std::latch::count_down called with a value greater than the internal counter
// run: -i 1 -- latch_negative
// exit: 2
// line: bug in test main: misuse: std::latch::count_down called with a negative value
// run: -i 1 -- timed_for
// exit: 2
// line: bug in test main: misuse: unlock of the mutex
// run: -i 1 -- recursive_for
// exit: 2
// line: bug in test main: misuse: std::recursive_timed_mutex::unlock: the caller does not hold it
// run: -i 1 -- shared_for
// exit: 2
// line: bug in test main: misuse: std::shared_timed_mutex::unlock: the caller does not hold it alone
// run: -i 1 -- shared_no_share
// exit: 2
// line: bug in test main: misuse: unlock of the rwlock
// run: -i 1 -- shared_timed_no_share
// exit: 2
// line: bug in test main: misuse: unlock of the rwlock
// run: -i 1 -- shared_destroyed
// exit: 2
// line: bug in test main: misuse: a read-write lock is used after it was destroyed
// run: -i 1 -- timed_destroyed
// exit: 2
// line: bug in test main: misuse: a mutex is used after it was destroyed
// run: -i 300 -- binary
// exit: 2
// line: bug in test main: misuse: std::counting_semaphore::release: the value becomes greater
// run: -i 1 -- counting
// exit: 2
// line: bug in test main: misuse: std::counting_semaphore::release: the value becomes greater
// run: -i 1 -- counting_made
// exit: 2
// line: bug in test main: misuse: std::counting_semaphore is made with a value
// run: -i 1 -- barrier
// exit: 2
// line: bug in test main: misuse: std::barrier: update is greater than the expected count
// run: -i 1 -- thread
// exit: 2
// line: bug in test main: misuse: a std::thread is destroyed that was neither joined nor detached
// run: -i 1 -- thread_twice
// exit: 2
// line: bug in test main: misuse: std::thread::join: the thread is not joinable
// run: -i 1 -- condvar
// exit: 2
// line: bug in test main: misuse: std::condition_variable::wait: the mutex is not locked
#include <barrier>
#include <chrono>
#include <condition_variable>
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

// Taken by a function with a timeout, and unlocked by another thread.
template <class Mutex> static void foreign_for() {
  Mutex mutex;
  if (mutex.try_lock_for(std::chrono::seconds(1))) {
    std::thread([&] { mutex.unlock(); }).join();
  }
}

// Another thread reads under it.
template <class Mutex> static void no_share() {
  Mutex mutex;
  mutex.lock_shared();
  std::thread([&] { mutex.unlock_shared(); }).join();
}

template <class Mutex> static void destroyed() {
  alignas(Mutex) char memory[sizeof(Mutex)];
  auto *mutex = new (memory) Mutex;
  mutex->~Mutex();
  mutex->lock();
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
  } else if (what == "timed_for") {
    foreign_for<std::timed_mutex>();
  } else if (what == "recursive_for") {
    foreign_for<std::recursive_timed_mutex>();
  } else if (what == "shared_for") {
    foreign_for<std::shared_timed_mutex>();
  } else if (what == "shared_no_share") {
    no_share<std::shared_mutex>();
  } else if (what == "shared_timed_no_share") {
    no_share<std::shared_timed_mutex>();
  } else if (what == "shared_destroyed") {
    destroyed<std::shared_mutex>();
  } else if (what == "timed_destroyed") {
    destroyed<std::timed_mutex>();
  } else if (what == "binary") {
    // Right if the other thread acquires it in between.
    std::binary_semaphore semaphore(0);
    std::thread thread([&] { semaphore.acquire(); semaphore.acquire(); });
    semaphore.release();
    semaphore.release();
    thread.join();
  } else if (what == "counting") {
    std::counting_semaphore<3> semaphore(1);
    semaphore.release(2);
    semaphore.release();
  } else if (what == "counting_made") {
    std::counting_semaphore<3> semaphore((int)what.size());
  } else if (what == "barrier") {
    std::barrier barrier(2);
    (void)barrier.arrive(3);
  } else if (what == "thread") {
    std::thread thread([] {});
  } else if (what == "thread_twice") {
    std::thread thread([] {});
    thread.join();
    thread.join();
  } else if (what == "condvar") {
    std::mutex mutex;
    std::condition_variable condvar;
    std::unique_lock lock(mutex, std::defer_lock);
    condvar.wait(lock);
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
