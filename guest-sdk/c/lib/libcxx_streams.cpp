// The standard streams. By the standard, threads may print to them at once without a data race. libc++ stores a
// stream's fill character in it when it is first asked for it: here, that is before the program begins. Each output
// reads the width and stores 0: here, in a function whose accesses are not seen. What the program changes itself, by
// setw or hex, can still race.
#include <version>

#ifdef COYOTE_LIBCXX_THREADS

#include <iostream>

static std::ostream *const narrow[] = {&std::cout, &std::cerr, &std::clog};
static std::wostream *const wide[] = {&std::wcout, &std::wcerr, &std::wclog};

extern "C" {

const char __coyote_streams = 0;

std::streamsize __coyote_take_width(std::ios_base *stream) {
  for (unsigned i = 0; i < 3; i++) {
    if (stream == narrow[i] || stream == wide[i]) {
      return stream->width() ? stream->width(0) : 0;
    }
  }
  return -1;
}
}

// After libc++'s own constructors, which make the streams, and before those of the program.
__attribute__((constructor(102))) static void fill() {
  for (unsigned i = 0; i < 3; i++) {
    (void)narrow[i]->fill();
    (void)wide[i]->fill();
  }
}

#endif
