// Objects that may be destroyed as soon as another thread has used them, on the stack of a function whose variables are
// shared: who posted, unlocked or signalled does not use them any more, also where the compiler keeps all in memory.
// flags: -O0 -g
// run: -s dpor --races off -- post
// exit: 0
// line: explored, no bug
// run: -s stateful --races off -- unlock
// exit: 0
// line: Proved
// run: -s dpor --races off -- signal
// exit: 0
// line: explored, no bug
// run: -s dpor --races off -- wait
// exit: 0
// line: explored, no bug
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
struct shared {
    sem_t done;
    pthread_mutex_t mutex;
    pthread_cond_t condvar;
    int users, ready;
};
static volatile int *escaped;
static void *posts(void *argument) {
    struct shared *shared = argument;
    int own = 0;
    escaped = &own;
    sem_post(&shared->done);
    return NULL;
}
static void *unlocks(void *argument) {
    struct shared *shared = argument;
    int last;
    escaped = &last;
    pthread_mutex_lock(&shared->mutex);
    last = --shared->users == 0;
    pthread_mutex_unlock(&shared->mutex);
    if (last) pthread_mutex_destroy(&shared->mutex);
    return NULL;
}
static void *signals(void *argument) {
    struct shared *shared = argument;
    int own = 0;
    escaped = &own;
    pthread_mutex_lock(&shared->mutex);
    shared->ready = 1;
    pthread_cond_signal(&shared->condvar);
    pthread_mutex_unlock(&shared->mutex);
    return NULL;
}
static void *waits(void *argument) {
    struct shared *shared = argument;
    int own = 0;
    escaped = &own;
    pthread_mutex_lock(&shared->mutex);
    while (!shared->ready) pthread_cond_wait(&shared->condvar, &shared->mutex);
    pthread_mutex_unlock(&shared->mutex);
    return NULL;
}
int main(int count, char **arguments) {
    if (count < 2) return 1;
    const char *asked = arguments[1];
    struct shared shared = {.users = 2};
    sem_init(&shared.done, 0, 0);
    pthread_mutex_init(&shared.mutex, NULL);
    pthread_cond_init(&shared.condvar, NULL);
    pthread_t thread;
    if (!strcmp(asked, "post")) {
        pthread_create(&thread, NULL, posts, &shared);
        sem_wait(&shared.done);
        sem_destroy(&shared.done);
    } else if (!strcmp(asked, "unlock")) {
        pthread_create(&thread, NULL, unlocks, &shared);
        unlocks(&shared);
    } else if (!strcmp(asked, "signal")) {
        pthread_create(&thread, NULL, signals, &shared);
        pthread_mutex_lock(&shared.mutex);
        while (!shared.ready) pthread_cond_wait(&shared.condvar, &shared.mutex);
        pthread_mutex_unlock(&shared.mutex);
        pthread_cond_destroy(&shared.condvar);
        pthread_mutex_destroy(&shared.mutex);
    } else {
        /* Who broadcasts may destroy the condition variable before the threads that it wakes go on. */
        pthread_create(&thread, NULL, waits, &shared);
        pthread_mutex_lock(&shared.mutex);
        shared.ready = 1;
        pthread_cond_broadcast(&shared.condvar);
        pthread_cond_destroy(&shared.condvar);
        pthread_mutex_unlock(&shared.mutex);
    }
    pthread_join(thread, NULL);
}
