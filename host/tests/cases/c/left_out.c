// What orders accesses does so in functions without scheduling points, too. With plain accesses there is nothing.
// flags: -g -O1 -mexec-model=reactor
// run: --races bug -s dpor --test ordered --atomic-fn take
// exit: 0
// run: --races bug -s dpor --test ordered --no-points-in take
// exit: 0
// run: --races bug -s dpor --test ordered --points-only-in run --points-only-in give
// exit: 0
// run: --races bug -s dpor --test acquired --atomic-fn acquire
// exit: 0
// run: --races bug -s dpor --test exchanged --atomic-fn exchange
// exit: 0
// run: --races bug -s dpor --test in_section
// exit: 0
// run: --races bug -s dpor --test nothing --atomic-fn look
// exit: 2
// line: bug in test nothing: data-race
// run: --races bug -i 100 --points sync
// exit: 1
// line: error: the detector races watches accesses of memory that are scheduling points: leave --points out
#include <coyote.h>
#include <coyote_raw.h>
#include <pthread.h>
#include <stdatomic.h>

static int data, plain;
static atomic_int flag;
// Functions that are left out begin at no scheduling point: this is one.
static volatile int turn;

__attribute__((noinline)) static int take(void) {
    if (!atomic_load_explicit(&flag, memory_order_relaxed))
        return 0;
    atomic_thread_fence(memory_order_acquire);
    return 1;
}

__attribute__((noinline)) static int acquire(void) { return atomic_load_explicit(&flag, memory_order_acquire); }

__attribute__((noinline)) static int exchange(void) {
    int wanted = 1;
    return atomic_compare_exchange_strong_explicit(&flag, &wanted, 2, memory_order_acquire, memory_order_relaxed);
}

__attribute__((noinline)) static int look(void) { return *(volatile int *)&plain; }

static int section(void) {
    coyote_raw_atomic_begin();
    int taken = take();
    coyote_raw_atomic_end();
    return taken;
}

__attribute__((noinline)) static void *give(void *arg) {
    data = 1;
    plain = 1;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return arg;
}

static void run(int (*ready)(void)) {
    pthread_t giver;
    pthread_create(&giver, 0, give, 0);
    turn = 1;
    if (ready())
        COYOTE_ASSERT(data == 1);
    pthread_join(giver, 0);
}

COYOTE_TEST(ordered) { run(take); }
COYOTE_TEST(acquired) { run(acquire); }
COYOTE_TEST(exchanged) { run(exchange); }
COYOTE_TEST(in_section) { run(section); }
COYOTE_TEST(nothing) { run(look); }
