// A story says that attempts to take a lock or a unit of a semaphore fail, by themselves or by their time.
// run: --races off
// exit: 2
// line: locks `m`
// line: cannot lock `m`
// line: cannot lock `rw` to read
// line: cannot take from `s`
// absent: .  locks
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static sem_t s;

static void *thread(void *unused) {
    struct timespec when;
    clock_gettime(CLOCK_REALTIME, &when);
    when.tv_sec++;
    int got = !pthread_mutex_timedlock(&m, &when);
    got += !pthread_rwlock_tryrdlock(&rw);
    got += !sem_trywait(&s);
    assert(got > 0);
    return NULL;
}

int main(void) {
    pthread_t other;
    sem_init(&s, 0, 0);
    pthread_mutex_lock(&m);
    pthread_rwlock_wrlock(&rw);
    pthread_create(&other, NULL, thread, NULL);
    pthread_join(other, NULL);
    return 0;
}
