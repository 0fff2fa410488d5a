// A thread that detaches itself may do so before a join of it begins, also if nothing comes between the creation and the
// join; and a join may come between an unlock and the detach that follows it.
// flags: -O1 -g
// run: -s dfs -- created
// exit: 2
// line: joined
// run: -s dpor --races off -- created
// exit: 2
// line: joined
// run: -s stateful --races off -- created
// exit: 2
// line: joined
// run: -s random -i 200 --races off -- created
// exit: 2
// line: joined
// run: -s dpor --races off -- unlocked
// exit: 2
// line: joined
// run: -s stateful --races off -- detach
// exit: 2
// line: detached
// run: -s dpor --races off -- none
// exit: 0
// line: explored, no bug
#include <assert.h>
#include <pthread.h>
#include <string.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const char *asked;
static int locks;
static void *detaches(void *unused) {
    if (locks) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    int detached = pthread_detach(pthread_self());
    assert(!detached || strcmp(asked, "detach"));
    return unused;
}
int main(int count, char **arguments) {
    if (count < 2) return 1;
    asked = arguments[1];
    locks = strcmp(asked, "created") != 0;
    pthread_t thread;
    int joined;
    if (locks) {
        pthread_mutex_lock(&mutex);
        pthread_create(&thread, NULL, detaches, NULL);
        pthread_mutex_unlock(&mutex);
        joined = pthread_join(thread, NULL);
    } else {
        pthread_create(&thread, NULL, detaches, NULL);
        joined = pthread_join(thread, NULL);
    }
    assert(!joined || !strcmp(asked, "none") || !strcmp(asked, "detach"));
}
