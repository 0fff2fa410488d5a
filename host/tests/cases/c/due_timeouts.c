// Timeouts whose time has come by looks at the clock fire in the order of their ends: states in which that order differs
// are different states.
// run: -s stateful --timers ordered
// exit: 2
// line: bug in test overdue: assertion
// run: -s dpor --timers ordered
// exit: 2
#include <coyote.h>
#include <coyote_raw.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int late;
static int of_first, of_second, mutex;
static int first_waits, second_waits;

#define ADDRESS(object) ((uint32_t)(uintptr_t)&object)

static void *first(void *unused) {
    coyote_raw_mutex_lock(ADDRESS(mutex), -1);
    first_waits = 1;
    int error = coyote_raw_condvar_wait(ADDRESS(of_first), ADDRESS(mutex), 1000000);
    coyote_raw_mutex_unlock(ADDRESS(mutex));
    COYOTE_ASSERT(error != 0);
    return unused;
}

static void *second(void *unused) {
    coyote_raw_mutex_lock(ADDRESS(mutex), -1);
    second_waits = 1;
    coyote_raw_condvar_wait(ADDRESS(of_second), ADDRESS(mutex), 1000000);
    coyote_raw_mutex_unlock(ADDRESS(mutex));
    if (atomic_load(&late)) coyote_raw_condvar_signal(ADDRESS(of_first));
    return unused;
}

COYOTE_TEST(overdue) {
    pthread_t a, b;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    if (atomic_load(&late)) return;
    coyote_raw_now();
    coyote_raw_mutex_lock(ADDRESS(mutex), -1);
    int both = first_waits && second_waits;
    coyote_raw_mutex_unlock(ADDRESS(mutex));
    while (coyote_raw_now() < 3000000) {}
    if (both) atomic_store(&late, 1);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}
