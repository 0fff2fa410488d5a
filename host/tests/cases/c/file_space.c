// The space that files leave is shared: a write that finds none depends on whoever returns some, and zeros that were
// written take space that a file has not which was only made longer.
// run: --test room --max-memory 8 -s dpor
// exit: 2
// line: bug in test room: assertion
// run: --test room --max-memory 8 -s dfs+hb
// exit: 2
// run: --test room --max-memory 8 -s stateful
// exit: 2
// run: --test zeros --max-memory 8 -s stateful
// exit: 2
// line: bug in test zeros: assertion
// run: --test zeros --max-memory 8 -s dpor
// exit: 2
// run: --test plenty --max-memory 64 -s dpor
// exit: 0
// line: All 1 execution explored
#include <assert.h>
#include <coyote.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#define MIB (1 << 20)

static char bytes[MIB];
static int file, old, fits;

static long five_mib(int to) {
    long written = 0;
    for (int part = 0; part < 5; part++) written += pwrite(to, bytes, MIB, part * MIB);
    return written;
}

static void *writes(void *unused) {
    // One write of five: whether there is room for all of it is found out at once.
    static char all[5 * MIB];
    long written = write(file, all, sizeof all);
    assert((written > 0) == fits);
    return unused;
}

static void *cuts(void *unused) {
    ftruncate(old, 0);
    return unused;
}

static void beside_a_cut(void) {
    file = open("/new", O_CREAT | O_WRONLY, 0666);
    old = open("/old", O_CREAT | O_WRONLY, 0666);
    for (int part = 0; part < 7; part++) write(old, bytes, MIB / 2);
    pthread_t a, b;
    pthread_create(&a, NULL, writes, NULL);
    pthread_create(&b, NULL, cuts, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}

COYOTE_TEST(room) { beside_a_cut(); }

COYOTE_TEST(plenty) {
    fits = 1;
    beside_a_cut();
}

static __attribute__((noinline)) void prepare(void) {
    if (coyote_choose_bool()) {
        five_mib(old);
    } else {
        ftruncate(old, 5 * MIB);
    }
}

COYOTE_TEST(zeros) {
    file = open("/new", O_CREAT | O_WRONLY, 0666);
    old = open("/old", O_CREAT | O_WRONLY, 0666);
    prepare();
    assert(five_mib(file) == 5 * MIB);
}
