// A C library that was built without threads has one errno: it is each thread's own all the same.
// run: -i 1000
// exit: 0
// run: -i 30 --check-determinism
// exit: 0
// run: -s dpor
// exit: 0
// line: ... All
// run: -s stateful
// exit: 0
// line: ... All
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
static sem_t none;
static void expect(int error) { if (errno != error) abort(); }
static void *opens(void *unused) {
  expect(0);
  if (open("missing", O_RDONLY) >= 0) abort();
  expect(ENOENT);
  return unused;
}
static void *tries(void *unused) {
  expect(0);
  if (sem_trywait(&none) == 0) abort();
  expect(EAGAIN);
  errno = 77;
  sched_yield();
  expect(77);
  return unused;
}
int main(void) {
  pthread_t threads[2];
  sem_init(&none, 0, 0);
  errno = 0;
  strtol("99999999999999999999", NULL, 10);
  pthread_create(&threads[0], NULL, opens, NULL);
  expect(ERANGE);
  pthread_create(&threads[1], NULL, tries, NULL);
  expect(ERANGE);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  expect(ERANGE);
  return 0;
}
