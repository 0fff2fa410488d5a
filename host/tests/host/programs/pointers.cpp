// One object, counted by three threads; and a local object that whoever comes first makes.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

static std::atomic<int> destroyed;

struct Counted {
  int value = 7;
  ~Counted() { destroyed++; }
};

static const std::string &local() {
  static std::string text("longer than what fits into the object");
  return text;
}

int main() {
  auto pointer = std::make_shared<Counted>();
  std::weak_ptr<Counted> weak = pointer;
  std::thread copies([pointer] {
    auto copy = pointer;
    if (copy->value != 7) abort();
  });
  std::thread locks([weak] {
    auto locked = weak.lock();
    if ((locked && locked->value != 7) || local().size() != 37) abort();
  });
  pointer.reset();
  if (local().size() != 37) abort();
  copies.join();
  locks.join();
  if (destroyed != 1 || weak.lock()) abort();
}
