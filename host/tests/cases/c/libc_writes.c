// Functions of the C library that access memory of their caller do so by plain accesses, which are in races with others and
// with each other: two threads sort one array, or write one result.
// flags: -g -O1
// run: --races bug -i 300 -- sort_read
// exit: 2
// line: bug in test main: data-race: write of `numbers[0]`
// line: `numbers[0]` in step
// run: --races bug -i 300 -- sort_sort
// exit: 2
// line: bug in test main: data-race:
// run: --races bug -i 300 -- search_write
// exit: 2
// line: bug in test main: data-race:
// run: --races bug -i 300 -- time_read
// exit: 2
// line: bug in test main: data-race:
// run: --races bug -i 300 -- time_time
// exit: 2
// line: bug in test main: data-race: write of
// run: --races bug -i 300 -- parts
// exit: 2
// line: bug in test main: data-race: write of
// run: --races bug -i 300 -- seed
// exit: 2
// line: bug in test main: data-race:
// run: --races bug -i 300 -- format_read
// exit: 2
// line: bug in test main: data-race: write of
// run: --races bug -i 300 -- parse_read
// exit: 2
// line: bug in test main: data-race: write of `found`
// line: worker 0.0 writes it
// run: --races bug -i 300 -- right
// exit: 0
// line: . No bug found
// run: --races bug -s pct -i 300 -- right
// exit: 0
// line: . No bug found
#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int numbers[8] = {5, 3, 8, 1, 9, 2, 7, 4};
static struct tm result;
static int exponent;
static unsigned seed;
int found;

static int compare(const void *a, const void *b) {
  return *(const int *)a - *(const int *)b;
}

static void *sorts(void *unused) {
  qsort(numbers, 8, sizeof *numbers, compare);
  return unused;
}

static void *searches(void *unused) {
  int one = 1;
  found = bsearch(&one, numbers, 8, sizeof one, compare) != NULL;
  return unused;
}

static void *reads(void *unused) {
  found = numbers[0] == 1;
  return unused;
}

static void *writes(void *unused) {
  numbers[4] = 4;
  return unused;
}

static void *tells_time(void *unused) {
  time_t now = 86400;
  gmtime_r(&now, &result);
  return unused;
}

static void *reads_time(void *unused) {
  found = result.tm_year == 70;
  return unused;
}

static char text[8];

static void *formats(void *unused) {
  struct tm noon = {.tm_hour = 12};
  strftime(text, sizeof text, "%H", &noon);
  return unused;
}

static void *reads_text(void *unused) {
  found = text[0] == '1';
  return unused;
}

// It is not known that strtol writes to `end` by a plain access, but the report does not call the access atomic.
static char *end;

static void *parses(void *unused) {
  found = (int)strtol("12", &end, 10);
  return unused;
}

static void *reads_end(void *unused) {
  found = end != NULL;
  return unused;
}

static void *splits(void *unused) {
  frexp(8.0, &exponent);
  return unused;
}

static void *draws(void *unused) {
  found = rand_r(&seed) > 0;
  return unused;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

// Each call on memory of its own, or under the mutex.
static void *right(void *number) {
  int *own = numbers + (number ? 4 : 0);
  qsort(own, 4, sizeof *own, compare);
  unsigned own_seed = 1;
  struct tm own_time;
  time_t now = 86400;
  int own_exponent;
  char own_text[32];
  rand_r(&own_seed);
  gmtime_r(&now, &own_time);
  localtime_r(&now, &own_time);
  assert(mktime(&own_time) == 86400);
  assert(strftime(own_text, sizeof own_text, "%Y", &own_time) == 4);
  assert(frexp(8.0, &own_exponent) == 0.5);
  pthread_mutex_lock(&mutex);
  tells_time(NULL);
  splits(NULL);
  draws(NULL);
  reads_time(NULL);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(int argc, char **argv) {
  (void)argc;
  const char *what = argv[1];
  static const struct {
    const char *name;
    void *(*first)(void *), *(*second)(void *);
  } pairs[] = {
      {"sort_read", sorts, reads},     {"sort_sort", sorts, sorts},         {"search_write", searches, writes},
      {"time_read", tells_time, reads_time}, {"time_time", tells_time, tells_time}, {"parts", splits, splits},
      {"format_read", formats, reads_text},
      {"parse_read", parses, reads_end},
      {"seed", draws, draws},          {"right", right, right},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    if (!strcmp(what, pairs[i].name)) {
      pthread_t thread;
      pthread_create(&thread, NULL, pairs[i].first, NULL);
      pairs[i].second(&thread);
      pthread_join(thread, NULL);
    }
  }
  return 0;
}
