// Functions of a program that have names of stdio's are explored as any others: `getline` differs in its type, `ungetc`
// comes before the tests.
// run: --test lines -i 200
// exit: 2
// line: data race
// run: --test takes_back -s dpor
// exit: 2
// line: bug in test takes_back: assertion
// run: --test prints -i 200
// exit: 0
#include <assert.h>
#include <coyote.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static int position;
static _Atomic int taken;

int ungetc(int c, FILE *stream) {
  (void)stream;
  int before = atomic_load(&taken);
  atomic_store(&taken, before + c);
  return c;
}

static void *take_back(void *arg) {
  (void)arg;
  ungetc(1, 0);
  return 0;
}

COYOTE_TEST(takes_back) {
  pthread_t thread;
  pthread_create(&thread, 0, take_back, 0);
  ungetc(1, 0);
  pthread_join(thread, 0);
  assert(atomic_load(&taken) == 2);
}

int read_line(char *line, int most) __asm__("getline");

static void *reader(void *arg) {
  (void)arg;
  char line[8];
  read_line(line, sizeof line);
  return 0;
}

COYOTE_TEST(lines) {
  pthread_t thread;
  pthread_create(&thread, 0, reader, 0);
  char line[8];
  read_line(line, sizeof line);
  pthread_join(thread, 0);
}

static void *printer(void *arg) {
  printf("%s\n", (const char *)arg);
  fputs("end\n", stdout);
  return 0;
}

/* The library's functions are operations of their own. */
COYOTE_TEST(prints) {
  pthread_t thread;
  pthread_create(&thread, 0, printer, "one");
  printer("two");
  pthread_join(thread, 0);
}

/* K&R's, behind the tests. */
int read_line(char *line, int most) {
  int at = 0;
  for (; at < most - 1; at++) line[at] = (char)('a' + position++ % 26);
  line[at] = 0;
  return at;
}
