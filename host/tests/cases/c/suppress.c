// A scope without scheduling points is one step, unless its worker blocks or yields; scopes can be nested.
// flags: -g -O1
// run: -s dpor
// exit: 0
// line: scopes in which the program suppresses scheduling points are atomic
// run: -i 500
// exit: 0
// run: -s dpor -- bare
// exit: 2
// line: bug in test main: assertion
// run: -s dpor -- yields
// exit: 2
// line: bug in test main: assertion
// run: -s dpor -- blocks
// exit: 2
// line: bug in test main: assertion
// run: -i 500 -- blocks
// exit: 2
// line: bug in test main: assertion
// run: -s dpor -- early
// exit: 2
// line: bug in test main: assertion
// run: -i 5 -- unmatched
// exit: 2
// line: scheduling points are resumed that are not suppressed
#include <coyote.h>
#include <pthread.h>
#include <string.h>

static volatile int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *how = "";

static int is(const char *name) {
  return !strcmp(how, name);
}

static void *add(void *argument) {
  if (!is("bare"))
    coyote_suppress();
  coyote_suppress();
  coyote_resume();
  if (is("early"))
    coyote_resume();
  if (is("unmatched")) {
    coyote_resume();
    coyote_resume();
  }
  int before = count;
  if (is("yields"))
    coyote_yield();
  if (is("blocks")) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
  }
  count = before + 1;
  if (!is("bare") && !is("early"))
    coyote_resume();
  return argument;
}

int main(int number, char **list) {
  how = number > 1 ? list[1] : "";
  pthread_t thread;
  pthread_create(&thread, 0, add, 0);
  pthread_mutex_lock(&lock);
  coyote_suppress();
  int before = count;
  count = before + 1;
  coyote_resume();
  pthread_mutex_unlock(&lock);
  pthread_join(thread, 0);
  COYOTE_ASSERT(count == 2);
}
