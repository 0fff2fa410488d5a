// Timeouts that end at the same time fire in any order, under every strategy and every rule for timeouts.
// run: --test lower_first -s dpor
// exit: 2
// run: --test lower_first -s dfs
// exit: 2
// run: --test lower_first -s ses:1
// exit: 2
// run: --test lower_first -s random -i 100
// exit: 2
// run: --test lower_first -s random -i 100 --timers ordered
// exit: 2
// run: --test lower_first -s dpor --timers ordered
// exit: 2
// run: --test lower_first -s dfs+states --timers ordered
// exit: 2
// run: --test upper_first -s dpor
// exit: 2
// run: --test upper_first -s dpor --timers ordered
// exit: 2
// run: --test upper_first -s dfs --timers ordered
// exit: 2
// run: --test upper_first -s ses:1 --timers ordered
// exit: 2
// run: --test upper_first -s stateful --timers ordered
// exit: 2
// run: --test upper_first -s pct -i 100 --timers ordered
// exit: 2
// run: --test later_last -s dpor --timers ordered
// exit: 0
// line: Proved
// absent: same time
// run: --test orders -s stateful --timers ordered
// exit: 0
// absent: never
#include <coyote.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int begun, order;

struct sleeper {
    int number;
    int64_t span_ns;
};

static void *sleeps(void *argument) {
    struct sleeper *sleeper = argument;
    atomic_fetch_add(&begun, 1);
    coyote_sleep_ns(sleeper->span_ns);
    atomic_store(&order, atomic_load(&order) * 10 + sleeper->number);
    return NULL;
}

/// Returns the order in which the threads wake, as decimal digits.
static int wake_order(int count, const int64_t spans[]) {
    pthread_t threads[3];
    struct sleeper sleepers[3];
    for (int i = 0; i < count; i++) {
        sleepers[i] = (struct sleeper){i + 1, spans[i]};
        pthread_create(&threads[i], NULL, sleeps, &sleepers[i]);
    }
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    return atomic_load(&order);
}

static const int64_t equal[] = {5000, 5000, 5000};

COYOTE_TEST(lower_first) { COYOTE_ASSERT(wake_order(2, equal) != 12); }

COYOTE_TEST(upper_first) { COYOTE_ASSERT(wake_order(2, equal) != 21); }

COYOTE_TEST(later_last) {
    static const int64_t spans[] = {5000, 7000};
    COYOTE_ASSERT(wake_order(2, spans) == 12);
}

COYOTE_TEST(orders) {
    int woken = wake_order(3, equal);
    coyote_sometimes(woken == 123, "in the order of creation");
    coyote_sometimes(woken == 132 || woken == 213 || woken == 231 || woken == 312, "two in turn");
    coyote_sometimes(woken == 321, "in the other order");
}
