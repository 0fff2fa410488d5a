// What libraries initialise on first use, and std::call_once itself, by two threads at once.
#include <cstdlib>
#include <mutex>
#include <sstream>
#include <thread>

static std::once_flag flag;
static int calls;

static void work() {
  std::call_once(flag, [] { calls++; });
  std::ostringstream stream;
  stream << 42;
  if (calls != 1 || stream.str() != "42") abort();
}

int main() {
  std::thread one(work), two(work);
  one.join();
  two.join();
}
