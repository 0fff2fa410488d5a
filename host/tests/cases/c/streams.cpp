// The standard streams of C++, to which threads may print at once: no data race. Other uses without an order are races:
// of streams of the program's own, of what a program prints, of the settings of a stream.
// flags: -std=c++20 -O1
// run: -i 200 --races bug --test print --test wide --test before
// exit: 0
// line: . No bug found in 3 tests
// run: -s pct -i 200 --races bug --test print --test wide --test before
// exit: 0
// line: . No bug found in 3 tests
// run: -i 200 --races bug --test own --test beside --test setting
// exit: 2
// line: bug in test own: data-race
// line: bug in test beside: data-race
// line: bug in test setting: data-race
#include "coyote.h"
#include <cassert>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

struct Point {
  int x, y;
  friend std::ostream &operator<<(std::ostream &out, const Point &point) {
    return out << '(' << point.x << ", " << point.y << ')';
  }
};

COYOTE_TEST(print) {
  auto f = [](int i) {
    std::cout << "text " << std::string("string") << 'c' << i << 1.5 << true << (void *)nullptr << Point{i, i} << std::endl;
    std::cerr << "text " << i << '\n';
    std::clog << "text " << std::flush;
    std::cout.put('c').write("text", 4) << std::this_thread::get_id() << "\n";
  };
  std::thread one(f, 1), two(f, 2);
  one.join();
  two.join();
}

COYOTE_TEST(wide) {
  auto f = [](int i) { std::wcout << L"text " << std::wstring(L"string") << L'c' << i << std::endl; };
  std::thread one(f, 1), two(f, 2);
  one.join();
  two.join();
}

// The constructor of a static object prints, and a stream has settings before there are threads.
static struct Early {
  Early() { std::cout << "early" << std::endl; }
} early;

COYOTE_TEST(before) {
  std::ostringstream padded;
  padded << std::setw(6) << "ab" << std::left << std::setfill('.') << std::setw(6) << "ab" << "c";
  assert(padded.str() == "    abab....c");
  std::cout << std::setfill('*') << std::setw(4) << "a" << "b";
  assert(std::cout.width() == 0 && std::cout.fill() == '*');
  auto f = [] { std::cout << "text\n"; };
  std::thread one(f), two(f);
  one.join();
  two.join();
}

COYOTE_TEST(own) {
  std::ostringstream stream;
  stream << "text";
  auto f = [&] { stream << "text"; };
  std::thread one(f), two(f);
  one.join();
  two.join();
}

COYOTE_TEST(beside) {
  int n = 0;
  auto f = [&] {
    std::cout << "text";
    n++;
    std::cout << "text";
  };
  std::thread one(f), two(f);
  one.join();
  two.join();
}

COYOTE_TEST(setting) {
  auto f = [&] { std::cout << std::hex << 10; };
  std::thread one(f), two(f);
  one.join();
  two.join();
}
