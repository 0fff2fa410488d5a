// Atomic operations on objects that no instruction accesses as a whole: functions of the SDK's library, each one step with
// the order that its call says.
// flags: -std=c++20 -O1 -w
// run: -i 200 --races bug --test triple --test publish --test exchanged --test wide --test misaligned
// exit: 0
// run: --strategy dpor --test triple --test publish --test exchanged --test wide --test misaligned
// exit: 0
// line: ... All
// run: -i 200 --races bug --test relaxed --test lost
// exit: 2
// line: bug in test relaxed: data-race
// line: bug in test lost: assertion
#include "coyote.h"
#include <atomic>
#include <cassert>
#include <thread>

struct Triple {
  long long a, b, c;
};
using Wide = unsigned __int128;

template <class First, class Second> static void both(First first, Second second) {
  std::thread other(first);
  second();
  other.join();
}

COYOTE_TEST(triple) {
  std::atomic<Triple> shared(Triple{0, 0, 0});
  both([&] { shared.store({1, 1, 1}); },
       [&] {
         Triple seen = shared.load();
         assert(seen.a == seen.b && seen.a == seen.c);
       });
}

template <std::memory_order store, std::memory_order load> static void publishes() {
  std::atomic<Triple> shared(Triple{0, 0, 0});
  int value = 0;
  both(
      [&] {
        value = 1;
        shared.store({1, 1, 1}, store);
      },
      [&] {
        if (shared.load(load).a)
          assert(value == 1);
      });
}
COYOTE_TEST(publish) { publishes<std::memory_order_release, std::memory_order_acquire>(); }
COYOTE_TEST(relaxed) { publishes<std::memory_order_relaxed, std::memory_order_relaxed>(); }

COYOTE_TEST(exchanged) {
  std::atomic<Triple> shared(Triple{0, 0, 0});
  auto add = [&] {
    Triple old = shared.load();
    while (!shared.compare_exchange_weak(old, {old.a + 1, old.b + 1, old.c + 1})) {
    }
  };
  both(add, add);
  assert(shared.exchange({}).c == 2 && shared.load().a == 0);
}

COYOTE_TEST(wide) {
  std::atomic<Wide> count(0);
  auto add = [&] {
    count += (Wide)1 << 100;
    count.fetch_sub(1);
  };
  both(add, add);
  assert(count == ((Wide)2 << 100) - 2);
}

COYOTE_TEST(lost) {
  std::atomic<Wide> count(0);
  auto add = [&] { count = count + 1; };
  both(add, add);
  assert(count == 2);
}

COYOTE_TEST(misaligned) {
  struct __attribute__((packed)) {
    char before;
    int number;
  } shared = {1, 0};
  int one = 1, seen;
  __atomic_store((int *)&shared.number, &one, __ATOMIC_RELEASE);
  __atomic_load((int *)&shared.number, &seen, __ATOMIC_ACQUIRE);
  assert(seen == 1 && shared.before == 1);
}
