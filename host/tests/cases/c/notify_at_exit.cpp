// std::notify_all_at_thread_exit notifies, then unlocks (LWG 3343): a waiter that has got the mutex may destroy the
// condition variable, because its last use is over.
// flags: -std=c++20 -O1 -g -fno-exceptions
// run: --races bug -s dpor
// exit: 0
// line: Proved
// run: --races bug -i 200
// exit: 0
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

int main() {
  std::mutex mutex;
  auto condvar = std::make_unique<std::condition_variable>();
  bool done = false;
  std::thread([&] {
    std::unique_lock guard(mutex);
    done = true;
    std::notify_all_at_thread_exit(*condvar, std::move(guard));
  }).detach();
  {
    std::unique_lock guard(mutex);
    condvar->wait(guard, [&] { return done; });
  }
  condvar.reset();
}
