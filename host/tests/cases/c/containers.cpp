// Containers of C++ that two threads use without a lock: data races, which are looked for by default, without any
// change of the program; with a lock there is none. A program that consists of tests alone has no test main.
// flags: -O1
// run: -i 20 --skip _locked
// exit: 2
// line: bug in test vector: data-race
// line: bug in test string: data-race
// line: bug in test deque: data-race
// line: bug in test list: data-race
// line: bug in test map: data-race
// line: bug in test set: data-race
// line: bug in test unordered_map: data-race
// line: bug in test shared_pointer: data-race
// line: bug in test find_and_insert: data-race
// line: . Found bugs in 9 of 9 tests
// run: -i 300 --test *_locked
// exit: 0
// line: . No bug found in 9 tests
#include "coyote.h"
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

static std::mutex mutex;
static volatile size_t found;

// Two threads use one object: with a lock, or without.
template <class Object, class Use> static void share(Object &object, bool locked, Use use) {
  auto body = [&](int number) {
    std::unique_lock<std::mutex> lock(mutex, std::defer_lock);
    if (locked)
      lock.lock();
    use(object, number);
  };
  std::thread other(body, 1);
  body(2);
  other.join();
}

#define CONTAINER(name, type, use)                                                                           \
  COYOTE_TEST(name) {                                                                                        \
    type object;                                                                                             \
    share(object, false, [](type &object, int number) { use; });                                             \
  }                                                                                                          \
  COYOTE_TEST(name##_locked) {                                                                               \
    type object;                                                                                             \
    share(object, true, [](type &object, int number) { use; });                                              \
  }

using Map = std::map<int, int>;
using Hash = std::unordered_map<int, int>;
using Pointer = std::shared_ptr<int>;

CONTAINER(vector, std::vector<int>, object.push_back(number))
CONTAINER(string, std::string, object.push_back((char)number))
CONTAINER(deque, std::deque<int>, object.push_front(number))
CONTAINER(list, std::list<int>, object.push_back(number))
CONTAINER(map, Map, object[number] = number)
CONTAINER(set, std::set<int>, object.insert(number))
CONTAINER(unordered_map, Hash, object[number] = number)
CONTAINER(shared_pointer, Pointer, object = std::make_shared<int>(number))
CONTAINER(find_and_insert, Map, if (number == 1) found = object.count(7); else object[number] = number)
