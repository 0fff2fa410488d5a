// A sweep of faults finds what one fault breaks, and what only a fault that lasts breaks; it says what it tried; and a
// program that handles all of them passes.
// run: --fault-sweep io --test once_broken
// exit: 2
// line: bug in test once_broken: assertion
// line: ... Fault sweep of io: 3 opportunities, each way once and from there on, with the default schedule after it; all 16
// run: --fault-sweep io --test lasting_broken
// exit: 2
// line: bug in test lasting_broken: assertion
// run: --fault-sweep io --test corrected
// exit: 0
// line: ... Fault sweep of io: 3 opportunities, each way once and from there on, with the default schedule after it; all 16
// run: --fault-sweep thread,io --test shared_broken --sweep-samples 20
// exit: 2
// line: bug in test shared_broken: assertion
// run: --fault-sweep thread --test shared_broken
// exit: 0
// line: ... Fault sweep of thread: 1 opportunity, each way once and from there on, with the default schedule and 4 others after it; all 10
// run: --fault-sweep clock --test corrected
// exit: 5
// line: ... Fault sweep of clock: the default schedule has no opportunity for a fault.
// run: --fault-sweep io --test fails_anyway
// exit: 2
// line: ... Fault sweep of io: the default schedule does not pass, so no fault was tried.
// run: --fault-sweep io --test corrected -i 5
// exit: 0
// line: ... Fault sweep of io: 3 opportunities, each way once and from there on, with the default schedule after it; 4 of 16
#include "coyote.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* Opens a file and writes a letter, as often as it takes, up to a number of tries. Whether it worked. */
static int written(int tries) {
  int file = -1;
  for (int i = 0; i < tries && file < 0; i++) file = open("log", O_CREAT | O_WRONLY, 0644);
  if (file < 0) return 0;
  int done = 0;
  for (int i = 0; i < tries && !done; i++) done = write(file, "x", 1) == 1;
  close(file);
  return done;
}

COYOTE_TEST(once_broken) { COYOTE_ASSERT(written(1)); }

COYOTE_TEST(lasting_broken) { COYOTE_ASSERT(written(5)); }

COYOTE_TEST(corrected) {
  if (!written(3)) {
    errno = 0;
  }
}

COYOTE_TEST(fails_anyway) {
  written(1);
  COYOTE_ASSERT(0);
}

/* What is left undone after an error only shows where the other thread comes in between. */
static _Atomic int begun, done;

static void *other(void *unused) {
  COYOTE_ASSERT(begun == done);
  return unused;
}

COYOTE_TEST(shared_broken) {
  pthread_t thread;
  begun = done = 0;
  if (pthread_create(&thread, NULL, other, NULL) != 0) return;
  if (open("log", O_CREAT | O_WRONLY, 0644) < 0) {
    begun = 1;
    done = 1;
  }
  pthread_join(thread, NULL);
}
