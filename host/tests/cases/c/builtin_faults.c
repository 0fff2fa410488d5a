// Each class of faults breaks one program, which no other class breaks, and not its corrected version.
// run: -i 1000 --test *_broken --explore
// exit: 0
// run: -i 1000 --test io_broken --faults io
// exit: 2
// line: bug in test io_broken: assertion
// line: fault `io`: fd_write fails with E
// run: -i 1000 --test short_broken --faults io
// exit: 2
// line: bug in test short_broken: assertion
// line: fault `io`: fd_write transfers half of the bytes
// run: -i 1000 --test open_broken --faults io
// exit: 2
// line: bug in test open_broken: assertion
// line: fault `io`: path_open fails with EMFILE
// run: -i 1000 --test thread_broken --faults thread
// exit: 2
// line: bug in test thread_broken: assertion
// run: -i 1000 --test alloc_broken --faults alloc
// exit: 2
// line: bug in test alloc_broken: assertion
// run: -i 1000 --test clock_broken --faults clock
// exit: 2
// line: bug in test clock_broken: assertion
// line: fault `clock`: CLOCK_
// run: -i 1000 --test random_broken --faults random
// exit: 2
// line: bug in test random_broken: assertion
// line: fault `random`: all bytes of random_get are 255
// run: -s dpor --test io_broken --faults thread,alloc,clock,random,spurious,try-lock
// exit: 0
// run: -s dpor --test thread_broken --faults io,clock,random,spurious,try-lock
// exit: 0
// run: -s dpor --test alloc_broken --faults io,thread,clock,random,spurious,try-lock
// exit: 0
// run: -s dpor --test clock_broken --faults io,thread,alloc,random,spurious,try-lock
// exit: 0
// run: -s dpor --test random_broken --faults io,thread,alloc,clock,spurious,try-lock
// exit: 0
// run: -s dpor --test errno_corrected --faults alloc=2
// exit: 0
// line: Faults: alloc
// run: -s dpor --test *_corrected --faults io=2,thread,alloc,clock,random
// exit: 0
// run: -i 300 --test *_corrected --faults io=2,thread=2,alloc=2,clock=2,random=2
// exit: 0
#include "coyote.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* Tries a few times. */
static int opened(int flags) {
  for (int tries = 0; tries < 4; tries++) {
    int file = open("log", flags, 0644);
    if (file >= 0) {
      return file;
    }
    COYOTE_ASSERT(errno == EMFILE || errno == EIO || errno == EINTR);
  }
  return -1;
}

/* Writes all of it, or says that it could not. */
static int written(int file, const char *text, size_t bytes) {
  for (int errors = 0; bytes > 0 && errors < 4;) {
    ssize_t some = write(file, text, bytes);
    if (some < 0) {
      COYOTE_ASSERT(errno == ENOSPC || errno == EIO || errno == EINTR);
      errors++;
    } else {
      text += some;
      bytes -= (size_t)some;
    }
  }
  return bytes == 0;
}

static void *nothing(void *argument) {
  return argument;
}

/* Something to choose, so that there is something to explore without faults. */
static void choice(void) {
  coyote_choose_bool();
}

COYOTE_TEST(io_broken) {
  choice();
  int file = opened(O_CREAT | O_RDWR | O_TRUNC);
  COYOTE_ASSERT(write(file, "x", 1) == 1);
}

COYOTE_TEST(short_broken) {
  choice();
  int file = opened(O_CREAT | O_RDWR | O_TRUNC);
  ssize_t some = write(file, "record", 6);
  COYOTE_ASSERT(some < 0 || some == 6);
}

COYOTE_TEST(open_broken) {
  choice();
  COYOTE_ASSERT(open("log", O_CREAT | O_RDWR, 0644) >= 0 || errno != EMFILE);
}

COYOTE_TEST(io_corrected) {
  choice();
  int file = opened(O_CREAT | O_RDWR | O_TRUNC);
  COYOTE_ASSERT(file >= 0);
  if (written(file, "record", 6)) {
    char back[6] = "";
    COYOTE_ASSERT(lseek(file, 0, SEEK_SET) == 0);
    size_t got = 0;
    for (int errors = 0; got < 6 && errors < 4;) {
      ssize_t some = read(file, back + got, 6 - got);
      if (some < 0) {
        errors++;
      } else {
        got += (size_t)some;
      }
    }
    COYOTE_ASSERT(got < 6 || memcmp(back, "record", 6) == 0);
  }
  /* Whatever it says, the descriptor is closed. */
  close(file);
  COYOTE_ASSERT(close(file) == -1 && errno == EBADF);
}

COYOTE_TEST(thread_broken) {
  pthread_t thread;
  COYOTE_ASSERT(pthread_create(&thread, NULL, nothing, NULL) == 0);
  pthread_join(thread, NULL);
}

COYOTE_TEST(thread_corrected) {
  pthread_t thread;
  int error = pthread_create(&thread, NULL, nothing, NULL);
  COYOTE_ASSERT(error == 0 || error == EAGAIN);
  if (!error) {
    pthread_join(thread, NULL);
  }
  nothing(NULL);
}

COYOTE_TEST(alloc_broken) {
  choice();
  char *block = malloc(8);
  COYOTE_ASSERT(block != NULL);
  free(block);
}

COYOTE_TEST(alloc_corrected) {
  choice();
  char *block = malloc(8);
  if (!block) {
    return;
  }
  block[7] = 1;
  char *larger = realloc(block, 64);
  if (!larger) {
    COYOTE_ASSERT(block[7] == 1);
    free(block);
    return;
  }
  COYOTE_ASSERT(larger[7] == 1);
  free(larger);
  char *zeros = calloc(4, 4);
  COYOTE_ASSERT(!zeros || zeros[15] == 0);
  free(zeros);
  void *aligned = NULL;
  int error = posix_memalign(&aligned, 64, 64);
  COYOTE_ASSERT(error == 0 || error == ENOMEM);
  free(aligned);
}

/* Where a thread was created, the tool knows errno. */
COYOTE_TEST(errno_corrected) {
  pthread_t thread;
  if (!pthread_create(&thread, NULL, nothing, NULL)) {
    pthread_join(thread, NULL);
    errno = 0;
    char *block = malloc(8);
    COYOTE_ASSERT(block || errno == ENOMEM);
    free(block);
  }
}

static long long read_clock(clockid_t clock) {
  struct timespec time;
  COYOTE_ASSERT(clock_gettime(clock, &time) == 0);
  return (long long)time.tv_sec * 1000000000 + time.tv_nsec;
}

COYOTE_TEST(clock_broken) {
  choice();
  long long before = read_clock(CLOCK_REALTIME);
  COYOTE_ASSERT(read_clock(CLOCK_REALTIME) >= before);
}

COYOTE_TEST(clock_corrected) {
  choice();
  long long before = read_clock(CLOCK_MONOTONIC);
  read_clock(CLOCK_REALTIME);
  COYOTE_ASSERT(read_clock(CLOCK_MONOTONIC) >= before);
}

COYOTE_TEST(random_broken) {
  choice();
  unsigned char bytes[2];
  getentropy(bytes, 2);
  COYOTE_ASSERT(bytes[0] != 255 || bytes[1] != 255);
}

COYOTE_TEST(random_corrected) {
  choice();
  unsigned char bytes[2];
  COYOTE_ASSERT(getentropy(bytes, 2) == 0);
}
