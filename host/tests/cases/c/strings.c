// Strings of C that threads share: what the library writes into them races, byte by byte.
// flags: -O1 -fno-builtin
// run: -i 50 --test copies --test copy_and_read --test appends --test bounded
// exit: 2
// line: bug in test copies: data-race
// line: bug in test copy_and_read: data-race
// line: bug in test appends: data-race
// line: bug in test bounded: data-race
// run: -i 300 --races bug --test neighbours --test only_read --test locked
// exit: 0
// line: . No bug found in 3 tests
#include "coyote.h"
#include <assert.h>
#include <pthread.h>
#include <string.h>

static char text[64];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void both(void *(*first)(void *), void *(*second)(void *)) {
  pthread_t other;
  pthread_create(&other, NULL, first, NULL);
  second(NULL);
  pthread_join(other, NULL);
}

static void *copies(void *none) { strcpy(text, "a text of some length"); return none; }
static void *copies_more(void *none) { strcpy(text, "another text, which is longer"); return none; }
static void *reads(void *none) { (void)*(volatile char *)&text[3]; return none; }
static void *appends(void *none) { strcat(text, "tail"); return none; }
static void *bounded(void *none) { strncpy(text, "short", 20); return none; }
COYOTE_TEST(copies) { both(copies, copies_more); }
COYOTE_TEST(copy_and_read) { both(copies, reads); }
COYOTE_TEST(appends) { both(appends, appends); }
COYOTE_TEST(bounded) { both(bounded, reads); }

/* Each has its bytes, of which some are in a word of the other. */
static void *first_part(void *none) { strcpy(text + 1, "first"); return none; }
static void *second_part(void *none) { strcpy(text + 7, "second"); return none; }
COYOTE_TEST(neighbours) {
  both(first_part, second_part);
  assert(!strcmp(text + 1, "first") && !strcmp(text + 7, "second"));
}

/* The words of one text end in the other, which is written. */
static size_t length;
static void *measures(void *none) { length = strlen(text + 1); return none; }
COYOTE_TEST(only_read) {
  strcpy(text + 1, "first");
  both(measures, second_part);
  assert(length == 5);
}

static void *locked(void *none) {
  pthread_mutex_lock(&mutex);
  copies(none);
  appends(none);
  pthread_mutex_unlock(&mutex);
  return none;
}
COYOTE_TEST(locked) { both(locked, locked); }
