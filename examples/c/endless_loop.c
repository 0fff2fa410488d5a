/* Loops without a scheduling point in them: no memory access, no call. A tool that switches at
 * operations only would hang here.
 *
 * Expected: no iteration ends; each is cut off at --max-steps, because loop rounds are counted as
 * well. In `beside_others` the endless worker does not keep the other one from running. */
#include <coyote.h>

static void spin(void *unused) {
  (void)unused;
  for (;;) {
    __asm__ volatile(""); /* else the compiler may assume that the loop ends */
  }
}

static void finish(void *done) { *(int *)done = 1; }

COYOTE_TEST(alone) { spin(NULL); }

COYOTE_TEST(beside_others) {
  static int done;
  coyote_thread spinning, finishing;
  coyote_thread_create(&spinning, spin, NULL);
  coyote_thread_create(&finishing, finish, &done);
  coyote_thread_join(&finishing);
  COYOTE_ASSERT(done == 1);
  coyote_thread_join(&spinning);
}
