// The queue between threads of the standard library.
#include "queue.h"
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>

static queue numbers;
static std::atomic<int> taken{0};
static std::mutex lock;
static int total;

static void take() {
  int number = queue_take(&numbers);
  std::lock_guard<std::mutex> guard(lock);
  total += number;
  taken++;
}

int main() {
  if (queue_init(&numbers)) {
    return EXIT_FAILURE;
  }
  std::thread one(take), other(take);
  queue_put(&numbers, 20);
  queue_put(&numbers, 22);
  one.join();
  other.join();
  return taken == 2 && total == 42 ? EXIT_SUCCESS : EXIT_FAILURE;
}
