// What a proof assumes about time is said where it matters: which of two timeouts that end at once fires first, and that a
// look at the clock follows at once on the step before it.
// run: --test tie -s dpor
// exit: 0
// line: of timeouts that end at the same time, that of the lower worker fires first
// absent: a look at the clock
// run: --test look -s dpor
// exit: 0
// line: no time passes between a step and a look at the clock that follows it
// absent: the lower worker
// run: --test neither -s dpor
// exit: 0
// absent: a look at the clock
// absent: the lower worker
#include <coyote.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int begun;

static void *sleeps(void *span) {
    coyote_sleep_ns((int64_t)(intptr_t)span);
    return NULL;
}

static void two(intptr_t first, intptr_t second) {
    pthread_t a, b;
    pthread_create(&a, NULL, sleeps, (void *)first);
    pthread_create(&b, NULL, sleeps, (void *)second);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}

COYOTE_TEST(tie) { two(5000, 5000); }

COYOTE_TEST(neither) { two(5000, 7000); }

static void *sleeps_later(void *unused) {
    if (atomic_load(&begun)) coyote_sleep_ns(3000000);
    return unused;
}

COYOTE_TEST(look) {
    pthread_t thread;
    pthread_create(&thread, NULL, sleeps_later, NULL);
    atomic_store(&begun, 1);
    int late = coyote_now_ns() >= 3000000;
    pthread_join(thread, NULL);
    COYOTE_ASSERT(!late);
}
