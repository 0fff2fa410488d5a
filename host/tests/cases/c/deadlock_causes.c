// The cause of a deadlock that is none of a circle: a notification that wakes another worker, a semaphore that is waited
// for with a lock, and a lock that is kept.
// flags: -g -O1
// run: -- one
// exit: 2
// line: and not worker 0.
// line: , which waits, too
// run: -- semaphore
// exit: 2
// line: waits for `room`, to which nobody adds in this schedule; worker 0 waits for `lock`, which worker 0.0 holds since step
// line: waits to lock `lock`, which worker 0.0 holds
// run: -- kept
// exit: 2
// line: why: worker 0.0 holds `lock` since step
// line: and has ended; `keeps` comes to deadlock_causes.c:39 without a release
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static int is_open, limit;
static sem_t room;

static void *waits(void *unused) {
    pthread_mutex_lock(&lock);
    while (!is_open)
        pthread_cond_wait(&opened, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static int too_large(int wanted) {
    return wanted > limit;
}

static void *keeps(void *unused) {
    pthread_mutex_lock(&lock);
    if (too_large(3))
        return unused;
    limit = 3;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *fills(void *unused) {
    pthread_mutex_lock(&lock);
    sem_wait(&room);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    pthread_t threads[2];
    int count = strcmp(how, "semaphore") == 0 ? 1 : 2;
    void *(*run)(void *) = count == 1 ? fills : strcmp(how, "kept") == 0 ? keeps : waits;
    sem_init(&room, 0, 0);
    limit = argc - 2;
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, i == 0 ? run : waits, NULL);
    pthread_mutex_lock(&lock);
    is_open = 1;
    pthread_cond_signal(&opened);
    pthread_mutex_unlock(&lock);
    if (run == fills)
        sem_post(&room);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}
