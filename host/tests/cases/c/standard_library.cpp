// Correct programs with what the standard library of C++20 has for threads: no detector reports anything.
// flags: -std=c++20 -O1
// run: -i 100 --races bug --detect lock-order --detect leaks
// exit: 0
// line: . No bug found in 27 tests
#include "coyote.h"
#include <atomic>
#include <barrier>
#include <cassert>
#include <condition_variable>
#include <functional>
#include <future>
#include <latch>
#include <mutex>
#include <queue>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

template <class T> struct Queue {
  std::mutex m;
  std::condition_variable cv;
  std::queue<T> q;
  void push(T t) {
    {
      std::lock_guard g(m);
      q.push(std::move(t));
    }
    cv.notify_one();
  }
  T pop() {
    std::unique_lock l(m);
    cv.wait(l, [&] { return !q.empty(); });
    T t = std::move(q.front());
    q.pop();
    return t;
  }
};
COYOTE_TEST(queue) {
  Queue<std::string> q;
  std::thread a([&] {
    q.push("one");
    q.push(std::string(100, 'x'));
  });
  auto x = q.pop();
  auto y = q.pop();
  assert(x == "one" && y.size() == 100);
  a.join();
}
COYOTE_TEST(async_) {
  auto f = std::async(std::launch::async, [] { return 42; });
  assert(f.get() == 42);
}
COYOTE_TEST(promise_) {
  std::promise<std::vector<int>> p;
  auto f = p.get_future();
  std::thread t([&] { p.set_value({1, 2, 3}); });
  assert(f.get().size() == 3);
  t.join();
}
COYOTE_TEST(packaged) {
  std::packaged_task<int(int)> t([](int x) { return x + 1; });
  auto f = t.get_future();
  std::thread th(std::move(t), 4);
  assert(f.get() == 5);
  th.join();
}
COYOTE_TEST(shared) {
  std::shared_mutex m;
  int v = 0;
  std::thread w([&] {
    std::unique_lock l(m);
    v = 5;
  });
  {
    std::shared_lock l(m);
    assert(v == 0 || v == 5);
  }
  w.join();
  assert(v == 5);
}
COYOTE_TEST(once) {
  std::once_flag f;
  int n = 0;
  auto g = [&] {
    std::call_once(f, [&] { n++; });
    assert(n == 1);
  };
  std::thread a(g);
  g();
  a.join();
}
COYOTE_TEST(latch_) {
  std::latch l(2);
  int a = 0, b = 0;
  std::thread t([&] {
    a = 1;
    l.arrive_and_wait();
    assert(b == 1);
  });
  b = 1;
  l.arrive_and_wait();
  assert(a == 1);
  t.join();
}
COYOTE_TEST(barrier_) {
  std::barrier bar(2);
  int x[2] = {};
  auto f = [&](int me) {
    for (int r = 1; r < 3; r++) {
      x[me] = r;
      bar.arrive_and_wait();
      assert(x[1 - me] == r);
      bar.arrive_and_wait();
    }
  };
  std::thread t(f, 0);
  f(1);
  t.join();
}
COYOTE_TEST(semaphore_) {
  std::binary_semaphore s(0);
  int v = 0;
  std::thread t([&] {
    v = 1;
    s.release();
  });
  s.acquire();
  assert(v == 1);
  t.join();
}
COYOTE_TEST(counting) {
  std::counting_semaphore<3> s(1);
  int v = 0;
  auto f = [&] {
    s.acquire();
    v++;
    s.release();
  };
  std::thread t(f);
  f();
  t.join();
  assert(v == 2);
}
COYOTE_TEST(atomic_wait) {
  std::atomic<int> a(0);
  int v = 0;
  std::thread t([&] {
    v = 7;
    a.store(1, std::memory_order_release);
    a.notify_one();
  });
  a.wait(0, std::memory_order_acquire);
  assert(v == 7);
  t.join();
}
COYOTE_TEST(flag) {
  std::atomic_flag f = ATOMIC_FLAG_INIT;
  int n = 0;
  auto g = [&] {
    while (f.test_and_set(std::memory_order_acquire))
      f.wait(true);
    n++;
    f.clear(std::memory_order_release);
    f.notify_one();
  };
  std::thread t(g);
  g();
  t.join();
  assert(n == 2);
}
COYOTE_TEST(spin) {
  std::atomic_flag f = ATOMIC_FLAG_INIT;
  int n = 0;
  auto g = [&] {
    while (f.test_and_set(std::memory_order_acquire))
      std::this_thread::yield();
    n++;
    f.clear(std::memory_order_release);
  };
  std::thread t(g);
  g();
  t.join();
  assert(n == 2);
}
COYOTE_TEST(shared_ptr_) {
  auto p = std::make_shared<int>(3);
  auto f = [](std::shared_ptr<int> q) { assert(*q == 3); };
  std::thread t(f, p);
  p.reset();
  t.join();
}
COYOTE_TEST(weak) {
  auto p = std::make_shared<int>(3);
  std::weak_ptr<int> w = p;
  std::thread t([w] {
    if (auto q = w.lock())
      assert(*q == 3);
  });
  p.reset();
  t.join();
}
COYOTE_TEST(local) {
  static thread_local int n = 0;
  auto f = [] {
    n++;
    assert(n == 1);
  };
  std::thread t(f);
  f();
  t.join();
}
static int init() { return 9; }
COYOTE_TEST(magic_static) {
  auto f = [] {
    static int v = init();
    assert(v == 9);
  };
  std::thread t(f);
  f();
  t.join();
}
COYOTE_TEST(timed) {
  std::timed_mutex m;
  int n = 0;
  auto f = [&] {
    if (m.try_lock_for(std::chrono::milliseconds(5))) {
      n++;
      m.unlock();
    }
  };
  std::thread t(f);
  f();
  t.join();
  assert(n <= 2);
}
COYOTE_TEST(cv_timeout) {
  std::mutex m;
  std::condition_variable cv;
  bool ready = false;
  std::thread t([&] {
    std::lock_guard g(m);
    ready = true;
    cv.notify_all();
  });
  {
    std::unique_lock l(m);
    cv.wait_for(l, std::chrono::seconds(1), [&] { return ready; });
  }
  t.join();
  assert(ready);
}
COYOTE_TEST(scoped) {
  std::mutex a, b;
  int n = 0;
  auto f = [&](bool x) {
    if (x) {
      std::scoped_lock l(a, b);
      n++;
    } else {
      std::scoped_lock l(b, a);
      n++;
    }
  };
  std::thread t(f, true);
  f(false);
  t.join();
  assert(n == 2);
}
COYOTE_TEST(recursive) {
  std::recursive_mutex m;
  int n = 0;
  auto f = [&] {
    std::lock_guard g(m);
    std::lock_guard h(m);
    n++;
  };
  std::thread t(f);
  f();
  t.join();
  assert(n == 2);
}
COYOTE_TEST(fence) {
  std::atomic<bool> f(false);
  int v = 0;
  std::thread t([&] {
    v = 1;
    std::atomic_thread_fence(std::memory_order_release);
    f.store(true, std::memory_order_relaxed);
  });
  if (f.load(std::memory_order_relaxed)) {
    std::atomic_thread_fence(std::memory_order_acquire);
    assert(v == 1);
  }
  t.join();
}
COYOTE_TEST(cas_loop) {
  std::atomic<int> n(0);
  auto f = [&] {
    int o = n.load(std::memory_order_relaxed);
    while (!n.compare_exchange_weak(o, o + 1, std::memory_order_acq_rel, std::memory_order_relaxed)) {
    }
  };
  std::thread t(f);
  f();
  t.join();
  assert(n == 2);
}
COYOTE_TEST(big_atomic) {
  struct S {
    int a, b;
  };
  std::atomic<S> s({0, 0});
  std::thread t([&] { s.store({1, 1}); });
  S x = s.load();
  assert(x.a == x.b);
  t.join();
}
COYOTE_TEST(huge_atomic) {
  struct S {
    long long a, b, c;
  };
  std::atomic<S> s({0, 0, 0});
  std::thread t([&] { s.store({1, 1, 1}); });
  S x = s.load();
  assert(x.a == x.c);
  t.join();
}
COYOTE_TEST(atomic_ref_) {
  int n = 0;
  auto f = [&] {
    std::atomic_ref<int> r(n);
    r.fetch_add(1, std::memory_order_relaxed);
  };
  std::thread t(f);
  f();
  t.join();
  assert(n == 2);
}
COYOTE_TEST(function_) {
  std::mutex m;
  std::function<int()> g;
  std::thread t([&] {
    std::lock_guard l(m);
    g = [] { return 3; };
  });
  {
    std::lock_guard l(m);
    if (g)
      assert(g() == 3);
  }
  t.join();
}
