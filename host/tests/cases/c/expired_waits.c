// Waits whose time had passed before they began end in any order, and a notification may come before any of them.
// run: --test lock -s dpor
// exit: 2
// line: bug in test lock: assertion
// run: --test lock -s dfs --points sync
// exit: 2
// run: --test lock -s dpor --timers ordered
// exit: 2
// run: --test lock -s random -i 200 --timers ordered
// exit: 2
// run: --test semaphore -s dpor
// exit: 2
// run: --test semaphore -s dpor --timers ordered
// exit: 2
// run: --test timed_out -s dpor
// exit: 2
#include <coyote.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t none;
static const struct timespec past = {.tv_sec = 1};
static int waited;

static void *waits(void *argument) {
    pthread_mutex_lock(&mutex);
    waited = pthread_cond_timedwait(&condition, &mutex, &past);
    pthread_mutex_unlock(&mutex);
    return argument;
}

static void *locks(void *argument) {
    pthread_mutex_lock(&mutex);
    COYOTE_ASSERT(pthread_mutex_timedlock(&mutex, &past) == ETIMEDOUT);
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    return argument;
}

static void *tries(void *argument) {
    pthread_mutex_lock(&mutex);
    COYOTE_ASSERT(sem_timedwait(&none, &past) == -1 && errno == ETIMEDOUT);
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    return argument;
}

static int beside(void *(*other)(void *)) {
    pthread_t threads[2];
    sem_init(&none, 0, 0);
    pthread_create(&threads[0], NULL, waits, NULL);
    pthread_create(&threads[1], NULL, other, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return waited;
}

COYOTE_TEST(lock) { COYOTE_ASSERT(beside(locks) != 0); }

COYOTE_TEST(semaphore) { COYOTE_ASSERT(beside(tries) != 0); }

COYOTE_TEST(timed_out) { COYOTE_ASSERT(beside(locks) != ETIMEDOUT); }
