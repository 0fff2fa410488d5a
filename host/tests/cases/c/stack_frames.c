// Local variables of functions that have returned, in every order of the worker's next steps: of a worker that has ended, and
// of one that is in another function in the same place.
// flags: -O1 -g
// run: -s dpor --races off -- ends_later
// exit: 2
// line: use-after-return
// run: -s dpor --races off -- ends
// exit: 2
// line: use-after-return
// run: -s stateful --races off -- ends
// exit: 2
// line: use-after-return
// run: -s dpor --races off -- detached
// exit: 2
// line: use-after-return
// run: -s dpor --races off -- covered
// exit: 2
// line: use-after-return
// run: -s dfs --races off -- covered
// exit: 2
// line: use-after-return
// run: -s dpor --races off -- waits
// exit: 0
// line: All
// run: -s dpor --races off -- own_stack
// exit: 0
// line: All
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
static _Atomic(volatile int *) published;
atomic_int later;
static sem_t done;
static __attribute__((noinline)) void publishes(void) {
    volatile int local = 1;
    published = &local;
}
static __attribute__((noinline)) void publishes_and_waits(void) {
    volatile int locals[8];
    published = locals;
    sem_wait(&done);
}
static void *ends(void *unused) {
    publishes();
    return unused;
}
static void *ends_later(void *unused) {
    publishes();
    later = 1;
    return unused;
}
static void *covered(void *unused) {
    publishes();
    later = 1;
    publishes_and_waits();
    return unused;
}
static void *waits(void *unused) {
    publishes_and_waits();
    return unused;
}
static void reads(void) {
    volatile int *local = published;
    if (local) {
        (void)*local;
    }
}
// After the join, the stack that the program gave to the thread is memory as any other.
static void on_own_stack(void) {
    enum { BYTES = 1 << 16 };
    pthread_t thread;
    pthread_attr_t attributes;
    char *stack = aligned_alloc(16, BYTES);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, BYTES);
    pthread_create(&thread, &attributes, ends, NULL);
    later = 2;
    pthread_join(thread, NULL);
    memset(stack, 0, BYTES);
    free(stack);
}
int main(int count, char **arguments) {
    const char *what = count == 2 ? arguments[1] : "";
    pthread_t thread;
    sem_init(&done, 0, 0);
    if (strcmp(what, "own_stack") == 0) {
        on_own_stack();
        return 0;
    }
    if (strcmp(what, "detached") == 0) {
        pthread_create(&thread, NULL, ends, NULL);
        pthread_detach(thread);
        reads();
        reads();
        return 0;
    }
    void *(*entry)(void *) = strcmp(what, "covered") == 0 ? covered : strcmp(what, "waits") == 0 ? waits : ends;
    pthread_create(&thread, NULL, strcmp(what, "ends_later") == 0 ? ends_later : entry, NULL);
    reads();
    sem_post(&done);
    pthread_join(thread, NULL);
    return 0;
}
