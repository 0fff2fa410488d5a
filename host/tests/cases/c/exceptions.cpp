// Exceptions: one that is thrown is no verdict, also where the C++ library, which is built without them, aborts. One that
// is only kept ends nothing.
// flags: -std=c++20 -O1 -w
// run: -i 20 --races bug --leaks -- kept
// exit: 0
// line: . No bug found
// run: -i 1 -- stoi
// exit: 7
// line: (it throws std::invalid_argument: stoi: no conversion)
// run: -i 1 -- unlock
// exit: 7
// line: (it throws std::system_error: unique_lock::unlock: not locked)
// run: -i 1 -- at
// exit: 7
// line: (it throws std::out_of_range: vector)
// run: -i 1 -- broken
// exit: 7
// line: (it throws std::__2::future_error
// run: -i 1 -- void
// exit: 7
// line: (it throws std::__2::future_error
// run: -i 1 -- set
// exit: 7
// line: (it throws std::runtime_error: text)
// run: -i 1 -- cast
// exit: 7
// line: (it throws std::bad_cast)
// run: -i 1 -- memory
// exit: 7
// line: (it throws std::bad_alloc)
// run: -i 1 -- terminate
// exit: 2
// line: bug in test main: assertion: abort was called
// run: -i 1 -- virtual
// exit: 2
// line: bug in test main: assertion: Pure virtual function called!
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Base {
  virtual void f() = 0;
  Base() { g(); }
  void g() { f(); }
};
struct Derived : Base {
  void f() override {}
};
struct One {
  virtual ~One() {}
};
struct Two : One {};

int main(int, char **list) {
  std::string what = list[1];
  if (what == "kept") {
    // An abandoned promise and task; an exception that two threads keep.
    std::future<int> broken, task;
    {
      std::promise<int> promise;
      broken = promise.get_future();
      std::packaged_task<int()> never([] { return 1; });
      task = never.get_future();
    }
    broken.wait();
    std::exception_ptr error = std::make_exception_ptr(std::runtime_error("text"));
    std::promise<void> promise;
    std::thread thread([&promise, error] { promise.set_exception(error); });
    promise.get_future().wait();
    error = nullptr;
    thread.join();
  } else if (what == "stoi") {
    std::stoi("text");
  } else if (what == "unlock") {
    std::mutex mutex;
    std::unique_lock lock(mutex, std::defer_lock);
    lock.unlock();
  } else if (what == "at") {
    std::vector<int>(3).at(what.size() + 3);
  } else if (what == "broken") {
    std::future<int> future = std::promise<int>().get_future();
    future.get();
  } else if (what == "void") {
    std::future<void> future = std::promise<void>().get_future();
    future.get();
  } else if (what == "set") {
    std::promise<int> promise;
    promise.set_exception(std::make_exception_ptr(std::runtime_error("text")));
    promise.get_future().get();
  } else if (what == "cast") {
    One one;
    (void)dynamic_cast<Two &>(one);
  } else if (what == "memory") {
    volatile size_t bytes = 0x70000000;
    volatile char *block = new char[bytes];
    block[0] = 1;
  } else if (what == "terminate") {
    std::terminate();
  } else if (what == "virtual") {
    Derived derived;
  }
}
