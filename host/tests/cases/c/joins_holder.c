// A thread that is joined waits for a lock of the thread that joins it.
// run: -s dpor
// exit: 2
// line: bug in test joins_holder: deadlock
// line: why: worker 0 waits for the end of worker 0.0, and worker 0.0 waits for `mutex`, which worker 0 holds since step
#include <coyote.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *locks(void *argument) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return argument;
}

COYOTE_TEST(joins_holder) {
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, NULL, locks, NULL);
    pthread_join(thread, NULL);
    pthread_mutex_unlock(&mutex);
}
