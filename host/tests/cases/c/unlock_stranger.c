// An unlock by a thread that does not hold the mutex: a bug where POSIX and C leave it undefined, an error where POSIX defines
// one.
// flags: -g -O1
// run: -i 20 -- normal
// exit: 2
// line: bug in test main: misuse: unlock of the mutex
// run: -i 20 -- normal free
// exit: 2
// line: bug in test main: misuse: unlock of the mutex
// run: -i 20 --allow-foreign-unlocks -- normal
// exit: 0
// run: -s dpor -- errorcheck
// exit: 0
// line: Proved
// run: -s dpor -- errorcheck free
// exit: 0
// run: -s dpor -- recursive
// exit: 0
// line: Proved
// run: -s dpor -- recursive free
// exit: 0
// run: -i 20 -- plain
// exit: 2
// line: bug in test main: misuse: unlock of the mutex
// run: -i 20 -- plain free
// exit: 2
// line: bug in test main: misuse: unlock of the mutex
// run: -i 20 -- timed
// exit: 2
// line: bug in test main: misuse: unlock of the mutex
// run: -i 20 -- nested
// exit: 2
// line: bug in test main: misuse: mtx_unlock: the caller does not hold the mutex
// run: -i 20 -- nested free
// exit: 2
// line: bug in test main: misuse: mtx_unlock: the caller does not hold the mutex
// run: -i 20 --allow-foreign-unlocks -- nested
// exit: 2
// run: -i 20 -- wait
// exit: 2
// line: bug in test main: misuse: wait with the mutex
// run: -s dpor -- own
// exit: 0
// line: Proved
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <threads.h>

static pthread_mutex_t mutex;
static mtx_t mtx;
static cnd_t condvar;
static const char *how;

static int is(const char *name) { return strcmp(how, name) == 0; }

static void *posix(void *unused) {
  int error = pthread_mutex_unlock(&mutex);
  assert(is("normal") || error == EPERM);
  return unused;
}

static int c11(void *unused) {
  (void)unused;
  if (is("wait")) cnd_wait(&condvar, &mtx);
  return mtx_unlock(&mtx);
}

static int own(void *unused) {
  (void)unused;
  mtx_lock(&mtx);
  assert(mtx_trylock(&mtx) == thrd_success);
  assert(mtx_unlock(&mtx) == thrd_success);
  return mtx_unlock(&mtx);
}

static void with_pthreads(int kind, int held) {
  pthread_t threads[2];
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, kind);
  pthread_mutex_init(&mutex, &attributes);
  if (held) pthread_mutex_lock(&mutex);
  for (int n = 0; n < 2; n++) pthread_create(&threads[n], NULL, posix, NULL);
  for (int n = 0; n < 2; n++) pthread_join(threads[n], NULL);
}

static void with_threads(int kind, int held, thrd_start_t entry) {
  thrd_t thread;
  int result;
  mtx_init(&mtx, kind);
  cnd_init(&condvar);
  if (held) mtx_lock(&mtx);
  thrd_create(&thread, entry, NULL);
  if (entry == own) {
    mtx_lock(&mtx);
    mtx_unlock(&mtx);
  }
  thrd_join(thread, &result);
  assert(result == thrd_success);
}

int main(int argc, char **argv) {
  int held = argc < 3;
  how = argv[1];
  if (is("normal")) with_pthreads(PTHREAD_MUTEX_NORMAL, held);
  if (is("errorcheck")) with_pthreads(PTHREAD_MUTEX_ERRORCHECK, held);
  if (is("recursive")) with_pthreads(PTHREAD_MUTEX_RECURSIVE, held);
  if (is("plain")) with_threads(mtx_plain, held, c11);
  if (is("timed")) with_threads(mtx_timed, held, c11);
  if (is("nested")) with_threads(mtx_plain | mtx_recursive, held, c11);
  if (is("wait")) with_threads(mtx_plain, held, c11);
  if (is("own")) with_threads(mtx_plain | mtx_recursive, 0, own);
  return 0;
}
