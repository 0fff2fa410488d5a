// Other threads can run between the last thing that a thread does and its end, where the program can tell: by a join that
// does not wait, by the thread that executes the handlers of exit, and by keys that are deleted between two destructors.
// flags: -O1 -g
// run: -s dfs --races off -- try
// exit: 2
// line: busy
// run: -s dpor --races off -- try
// exit: 2
// line: busy
// run: -s stateful --races off -- try
// exit: 2
// line: busy
// run: -s dpor --races off -- timed
// exit: 2
// line: busy
// run: -s dpor --races off -- key
// exit: 2
// line: called
// run: -s dfs --races off -- key
// exit: 2
// line: called
// run: -s dpor --races off -- round
// exit: 2
// line: called
// run: -s dpor --races off -- last
// exit: 2
// line: who != 1
// run: -s stateful --races off -- last
// exit: 2
// line: who != 1
// run: -s dpor --races off -- none
// exit: 0
// line: explored, no bug
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t first, second;
static sem_t posted;
static int done, rounds, called;
static _Thread_local int who;
static const char *asked;
static int is(const char *what) {
    return !strcmp(asked, what);
}
static void destroys_first(void *value) {
    called = ++rounds == 2;
    if (is("round") && rounds == 1) pthread_setspecific(first, value);
    sem_post(&posted);
}
static void destroys_second(void *value) {
    (void)value;
    called = 1;
}
static void *sets_done(void *unused) {
    pthread_mutex_lock(&mutex);
    done = 1;
    pthread_mutex_unlock(&mutex);
    return unused;
}
static void *sets_keys(void *unused) {
    pthread_setspecific(first, &done);
    if (is("key")) pthread_setspecific(second, &done);
    return unused;
}
static void *posts(void *unused) {
    who = 1;
    sem_post(&posted);
    return unused;
}
static void *waits(void *unused) {
    who = 2;
    sem_wait(&posted);
    return unused;
}
static void at_exit(void) {
    assert(who != 1);
}
int main(int count, char **arguments) {
    if (count < 2) return 1;
    asked = arguments[1];
    pthread_t thread, other;
    sem_init(&posted, 0, 0);
    if (is("key") || is("round")) {
        pthread_key_create(&first, destroys_first);
        pthread_key_create(&second, destroys_second);
        pthread_create(&thread, NULL, sets_keys, NULL);
        sem_wait(&posted);
        pthread_key_delete(is("key") ? second : first);
        pthread_join(thread, NULL);
        assert(called);
    } else if (is("last")) {
        atexit(at_exit);
        pthread_create(&thread, NULL, posts, NULL);
        pthread_create(&other, NULL, waits, NULL);
        pthread_detach(thread);
        pthread_detach(other);
        pthread_exit(NULL);
    } else {
        pthread_create(&thread, NULL, sets_done, NULL);
        pthread_mutex_lock(&mutex);
        int ended = done;
        pthread_mutex_unlock(&mutex);
        struct timespec past = {1, 0};
        if (ended && is("try")) assert(pthread_tryjoin_np(thread, NULL) != EBUSY && "busy");
        else if (ended && is("timed")) assert(pthread_timedjoin_np(thread, NULL, &past) != ETIMEDOUT && "busy");
        else pthread_join(thread, NULL);
    }
}
