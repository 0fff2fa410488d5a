// A wait that is not in a loop is right as long as no wait returns without a notification: a proof says that it assumes
// so, and the fault `spurious` breaks the program. `looping` is right in any case.
// flags: -g
// run: -s dpor --points sync
// exit: 0
// line: Proved
// line: no spurious wake-ups, which --faults spurious tries
// run: -s dpor --points sync --faults spurious
// exit: 2
// line: assertion failed: READY
// run: -s dpor --points sync --faults spurious -- looping
// exit: 0
// line: Proved
// absent: no spurious wake-ups
// run: -s dpor --points sync -- without_waits
// exit: 0
// line: Proved
// absent: no spurious wake-ups
// run: -i 20
// exit: 0
// absent: no spurious wake-ups
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static pthread_mutex_t LOCK = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t CHANGED = PTHREAD_COND_INITIALIZER;
static bool READY;

static void *set(void *unused) {
  pthread_mutex_lock(&LOCK);
  READY = true;
  pthread_cond_signal(&CHANGED);
  pthread_mutex_unlock(&LOCK);
  return unused;
}

int main(int argc, char **argv) {
  bool waits = argc < 2 || strcmp(argv[1], "without_waits") != 0;
  pthread_t setter;
  pthread_create(&setter, NULL, set, NULL);
  pthread_mutex_lock(&LOCK);
  if (argc > 1) {
    while (waits && !READY) pthread_cond_wait(&CHANGED, &LOCK);
  } else if (!READY) {
    pthread_cond_wait(&CHANGED, &LOCK);
  }
  assert(READY || !waits);
  pthread_mutex_unlock(&LOCK);
  pthread_join(setter, NULL);
  return 0;
}
