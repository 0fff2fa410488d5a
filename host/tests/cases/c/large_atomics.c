// What atomic objects of more than 8 bytes have stored is read at once, also with weak memory: verdicts say so.
// flags: -O1
// run: --test large -s dfs --points atomic --memory weak
// exit: 0
// line: no stale reads of atomic objects of more than 8 bytes
// run: --test large -s dfs --points atomic
// exit: 0
// absent: stale
// run: --test small -s dfs --points atomic --memory weak
// exit: 2
// line: bug in test small: assertion
#include <coyote.h>
#include <pthread.h>
#include <stdatomic.h>

typedef struct {
    long long first, second;
} large_value;

static _Atomic large_value large[2];
static atomic_int small[2];
static int seen[2];

static void *large_buffers(void *argument) {
    int number = *(int *)argument;
    atomic_store_explicit(&large[number], ((large_value){1, 1}), memory_order_relaxed);
    large_value other = atomic_load_explicit(&large[1 - number], memory_order_relaxed);
    seen[number] = (int)other.first;
    return NULL;
}

static void *small_buffers(void *argument) {
    int number = *(int *)argument;
    atomic_store_explicit(&small[number], 1, memory_order_relaxed);
    seen[number] = atomic_load_explicit(&small[1 - number], memory_order_relaxed);
    return NULL;
}

static void both(void *(*buffers)(void *)) {
    pthread_t threads[2];
    int numbers[] = {0, 1};
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, buffers, &numbers[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    COYOTE_ASSERT(seen[0] || seen[1]);
}

COYOTE_TEST(large) { both(large_buffers); }

COYOTE_TEST(small) { both(small_buffers); }
