// Whoever drops out of a barrier completes the phase once, and is not waited for in the next one.
#include <barrier>
#include <cstdlib>
#include <thread>

static int completions;

struct Complete {
  void operator()() noexcept { completions++; }
};

int main() {
  std::barrier<Complete> barrier(2, Complete{});
  std::thread drops([&] { barrier.arrive_and_drop(); });
  barrier.arrive_and_wait();
  drops.join();
  if (completions != 1) abort();
  barrier.arrive_and_wait();
  if (completions != 2) abort();
}
