// Calls on state that all threads share, one directly after another: other threads run between them.
// flags: -O1 -g
// run: -s dfs -- keys
// exit: 2
// line: each got one
// run: -s dpor --races off -- keys
// exit: 2
// line: each got one
// run: -s stateful --races off -- keys
// exit: 2
// line: each got one
// run: -s dpor --races off -- values
// exit: 2
// line: each got one
// run: -s dpor --races off -- name
// exit: 2
// line: named later
// run: -s stateful --races off -- name
// exit: 2
// line: named later
// run: -s dpor --races off -- attributes
// exit: 2
// line: still joinable
#define _GNU_SOURCE
#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <threads.h>
static sem_t done;
static int got_one(int of_c) {
    pthread_key_t key;
    tss_t value;
    if (of_c) return tss_create(&value, NULL) == thrd_success && tss_create(&value, NULL) != thrd_success;
    return !pthread_key_create(&key, NULL) && pthread_key_create(&key, NULL);
}
static void *keys(void *unused) { return got_one(0) ? "one" : unused; }
static void *values(void *unused) { return got_one(1) ? "one" : unused; }
static void *name(void *unused) {
    sem_post(&done);
    pthread_setname_np(pthread_self(), "late");
    return unused;
}
static void *detaches(void *unused) {
    sem_post(&done);
    pthread_detach(pthread_self());
    return unused;
}
int main(int count, char **arguments) {
    if (count < 2) return 1;
    const char *asked = arguments[1];
    pthread_t thread;
    sem_init(&done, 0, 0);
    if (!strcmp(asked, "keys") || !strcmp(asked, "values")) {
        pthread_key_t key;
        int of_c = asked[0] == 'v';
        void *one;
        for (int i = 0; i < PTHREAD_KEYS_MAX - 2; i++) pthread_key_create(&key, NULL);
        pthread_create(&thread, NULL, of_c ? values : keys, NULL);
        int here = got_one(of_c);
        pthread_join(thread, &one);
        assert(!(here && one) && "each got one");
    } else if (!strcmp(asked, "name")) {
        char text[16] = {0};
        pthread_create(&thread, NULL, name, NULL);
        sem_wait(&done);
        pthread_getname_np(thread, text, sizeof text);
        assert(!strcmp(text, "late") && "named later");
    } else {
        pthread_attr_t attributes;
        int state;
        pthread_create(&thread, NULL, detaches, NULL);
        sem_wait(&done);
        pthread_getattr_np(thread, &attributes);
        pthread_attr_getdetachstate(&attributes, &state);
        assert(state == PTHREAD_CREATE_DETACHED && "still joinable");
    }
}
