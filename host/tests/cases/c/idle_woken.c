// A thread that polls has something to do again once another one has changed what it polls: no timeout fires before.
// flags: -g -O1
// run: --timers ordered -i 200 --races bug -- post
// exit: 0
// run: --timers ordered -i 200 -- sleep
// exit: 0
// run: --timers ordered -i 200 -- attempts
// exit: 0
// run: --timers any -i 200 -- sleep
// exit: 2
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_int flag, seen;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t done;
static int attempts;

static void *polls(void *unused) {
  if (attempts) {
    while (pthread_mutex_trylock(&mutex))
      sched_yield();
    pthread_mutex_unlock(&mutex);
  } else {
    while (!atomic_load(&flag))
      sched_yield();
  }
  atomic_store(&seen, 1);
  sem_post(&done);
  return unused;
}

int main(int argc, char **argv) {
  const char *which = argc > 1 ? argv[1] : "";
  attempts = !strcmp(which, "attempts");
  sem_init(&done, 0, 0);
  pthread_mutex_lock(&mutex);
  pthread_t thread;
  pthread_create(&thread, NULL, polls, NULL);
  sleep(1); /* the thread polls for so long that time passes */
  atomic_store(&flag, 1);
  pthread_mutex_unlock(&mutex);
  if (!strcmp(which, "post")) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1000;
    assert(sem_timedwait(&done, &until) == 0);
  } else {
    sleep(1000);
    assert(atomic_load(&seen));
  }
  pthread_join(thread, NULL);
  return 0;
}
