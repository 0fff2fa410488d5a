// Invariants: judged after every step, by every strategy and search, and by nothing else. Each sampler finds in its first
// iteration what one step breaks and the next one mends.
// flags: -g -O1
// run: -s random -i 1 -- torn
// exit: 2
// line: the invariant `nothing is lost` does not hold
// run: -s pct -i 1 -- torn
// exit: 2
// run: -s pos -i 1 -- torn
// exit: 2
// run: -s fair-pct -i 1 -- torn
// exit: 2
// run: -i 1 --races bug -- torn
// exit: 2
// line: the invariant `nothing is lost` does not hold
// run: -i 1 --points sync -- torn
// exit: 0
// run: -s dfs -- torn
// exit: 2
// line: the invariant `nothing is lost` does not hold
// run: -s dpor -- torn
// exit: 2
// line: the invariant `nothing is lost` does not hold
// run: -s stateful -- torn
// exit: 2
// run: -i 300 -- together
// exit: 0
// run: -s dpor -- together
// exit: 0
// line: . Proved: no bug
// run: -s stateful -- together
// exit: 0
// run: -i 300 -- locked
// exit: 0
// run: -s dpor -- locked
// exit: 0
// line: . Proved: no bug
// run: -i 300 -- ended
// exit: 0
// run: -i 1 -- false
// exit: 2
// line: the invariant `nothing is lost` does not hold
// run: -i 300 -- deadlock
// exit: 2
// line: bug in test main: deadlock
// absent: nothing is lost
#include <coyote.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int here = 10, there;
static atomic_long both = 10; /* two accounts in one word */
static int with_lock, together;

static int nothing_is_lost(void *lost) {
  if (with_lock)
    pthread_mutex_lock(&lock);
  long sum = together ? (both & 0xffff) + (both >> 16) : here + there;
  if (with_lock)
    pthread_mutex_unlock(&lock);
  return sum + *(int *)lost == 10;
}

static void *moves_one(void *argument) {
  if (together) {
    both += 0xffff; /* one less here, one more there */
    return argument;
  }
  pthread_mutex_lock(&lock);
  here--;
  there++;
  pthread_mutex_unlock(&lock);
  return argument;
}

static void *locks_twice(void *argument) {
  pthread_mutex_lock(&lock);
  pthread_mutex_lock(&lock);
  return argument;
}

int main(int count, char **list) {
  const char *how = count > 1 ? list[1] : "";
  static coyote_invariant invariant;
  static int lost;
  together = !strcmp(how, "together") || !strcmp(how, "deadlock");
  with_lock = !strcmp(how, "locked");
  lost = !strcmp(how, "false");
  coyote_invariant_begin(&invariant, "nothing is lost", nothing_is_lost, &lost);
  if (!strcmp(how, "ended"))
    coyote_invariant_end(&invariant);
  void *(*entry)(void *) = strcmp(how, "deadlock") ? moves_one : locks_twice;
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], 0, entry, 0);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], 0);
  return 0;
}
