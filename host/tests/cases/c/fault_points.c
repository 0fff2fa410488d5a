// Fault points of the guest: what only one of them breaks, with and without a budget.
// run: --strategy dpor --test broken
// exit: 0
// line: Faults: point.disk.append has no budget
// run: -i 1000 --faults point --test broken
// exit: 2
// line: bug in test broken: assertion
// run: --strategy dpor --faults point.disk=1 --test broken
// exit: 2
// line: bug in test broken: assertion
// run: --strategy dpor --faults point.disk=0,point=9 --test broken
// exit: 0
// run: --strategy dpor --faults point=9 --test corrected
// exit: 0
// run: --strategy dpor --faults point=9 --test quiet
// exit: 0
// run: -i 10 --faults point.tape=9 --test quiet
// exit: 0
// line: No worker came to a place for these faults: point.tape.
#include "coyote.h"
#include <string.h>

static int stored;
static char message[4];

static int append(void) {
  if (coyote_fault_fail("disk.append")) {
    return -1;
  }
  stored++;
  return 0;
}

static int all_ways(void) {
  memcpy(message, "abc", 4);
  int wrong = coyote_fault_drop("net.send") + coyote_fault_duplicate("net.send") + coyote_fault_timeout("net.call");
  wrong += coyote_fault_reorder("net.queue", 3) > 2;
  wrong += coyote_fault_value("net.size", 1) != 0 || coyote_fault_value("net.size", 5) > 4;
  int delayed = coyote_fault_delay("net.late", 5);
  int corrupted = coyote_fault_corrupt("net.bytes", message, 3);
  COYOTE_ASSERT(corrupted == (memcmp(message, "abc", 4) != 0));
  COYOTE_ASSERT(delayed == 0 || coyote_now_ns() >= 5);
  return wrong;
}

COYOTE_TEST(broken) {
  coyote_choose_bool();
  stored = 0;
  append();
  coyote_fault_point("net.send");
  COYOTE_ASSERT(stored == 1);
}

COYOTE_TEST(corrected) {
  stored = 0;
  int failed = append();
  COYOTE_ASSERT(stored == 1 || failed);
  COYOTE_ASSERT(all_ways() <= 3);
}

/* After coyote_fault_stop nothing goes wrong. */
COYOTE_TEST(quiet) {
  coyote_choose_bool();
  coyote_fault_stop();
  stored = 0;
  append();
  COYOTE_ASSERT(stored == 1 && all_ways() == 0);
}
