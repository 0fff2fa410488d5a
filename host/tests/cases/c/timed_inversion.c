// Two mutexes in opposite orders: a deadlock, unless one of the inner locks gives up after a while.
// flags: -O1 -g
// run: -s random -i 20 --detect lock-order -- no
// exit: 2
// line: deadlock
// run: -s random -i 200 --detect lock-order -- yes
// exit: 0
// absent: Potential deadlock
// run: -s dpor -- yes
// exit: 0
// line: explored, no bug
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static int timed;
static void *opposite(void *unused) {
    pthread_mutex_lock(&other);
    pthread_mutex_lock(&one);
    pthread_mutex_unlock(&one);
    pthread_mutex_unlock(&other);
    return unused;
}
int main(int count, char **arguments) {
    timed = count > 1 && !strcmp(arguments[1], "yes");
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    pthread_t thread;
    pthread_create(&thread, NULL, opposite, NULL);
    pthread_mutex_lock(&one);
    int error = timed ? pthread_mutex_timedlock(&other, &until) : pthread_mutex_lock(&other);
    if (!error) pthread_mutex_unlock(&other);
    pthread_mutex_unlock(&one);
    pthread_join(thread, NULL);
    return error != 0 && error != ETIMEDOUT;
}
