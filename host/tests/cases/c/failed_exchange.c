// A compare-exchange that fails changes nothing.
// flags: -g -O1
// run: --races off
// exit: 2
// line: record: latency is 10
// absent: latency 10 -> 10
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int latency;

static void *record(void *given) {
    int mine = (int)(long)given, seen = latency;
    if (seen < mine) atomic_compare_exchange_strong(&latency, &seen, mine);
    return given;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, record, (void *)10L);
    pthread_create(&two, NULL, record, (void *)20L);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    assert(latency == 20);
}
