// Time passes between a step and a look at the clock that follows it, and other threads run: a look is a step.
// run: --test late -s dpor
// exit: 2
// run: --test late -s dfs
// exit: 2
// run: --test late -s stateful
// exit: 2
// run: --test late -s random -i 1000
// exit: 2
// run: --test gives_up -s dpor
// exit: 2
// run: --test gives_up -s random -i 1000
// exit: 2
// run: --test checks_again -s dpor
// exit: 0
// line: Proved
// run: --test checks_again -s random -i 200 --timers ordered
// exit: 0
// run: --test checks_again -s dfs+states
// exit: 0
#include <coyote.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static atomic_int begun, flag;

static void *sleeps_later(void *unused) {
    if (atomic_load(&begun)) coyote_sleep_ns(3000000);
    return unused;
}

COYOTE_TEST(late) {
    pthread_t thread;
    pthread_create(&thread, NULL, sleeps_later, NULL);
    atomic_store(&begun, 1);
    int late = coyote_now_ns() >= 3000000;
    pthread_join(thread, NULL);
    COYOTE_ASSERT(!late);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec;
}

/// Time passes only after the flag is set.
static void *sets(void *unused) {
    atomic_store(&flag, 1);
    coyote_sleep_ns(2000000);
    return unused;
}

/// Looks for the flag once. Returns whether it gives up: the flag is not set, and the deadline has come.
static int gives_up(void) {
    pthread_t thread;
    int64_t deadline = now_ns() + 1000000;
    pthread_create(&thread, NULL, sets, NULL);
    int given_up = !atomic_load(&flag) && now_ns() >= deadline;
    pthread_detach(thread);
    return given_up;
}

COYOTE_TEST(gives_up) { COYOTE_ASSERT(!gives_up()); }

COYOTE_TEST(checks_again) { COYOTE_ASSERT(!gives_up() || atomic_load(&flag)); }
