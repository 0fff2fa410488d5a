// Constructors are called once before a test, and before a recovery, also where `main` is beside them.
// run: --test beside
// exit: 0
// run: --test main --faults crash=2 -s dfs
// exit: 0
#include <coyote.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int constructed;

__attribute__((constructor)) static void construct(void) { constructed++; }

static void *look(void *argument) {
  COYOTE_ASSERT(constructed == 1);
  return argument;
}

COYOTE_TEST(beside) {
  pthread_t thread;
  COYOTE_ASSERT(pthread_create(&thread, 0, look, 0) == 0);
  look(0);
  COYOTE_ASSERT(pthread_join(thread, 0) == 0);
}

COYOTE_RECOVER { look(0); }

int main(void) {
  int file = open("/out", O_CREAT | O_WRONLY, 0666);
  COYOTE_ASSERT(file >= 0 && write(file, "a", 1) == 1 && fsync(file) == 0);
  look(0);
  return 0;
}
