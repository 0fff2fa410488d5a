// Sync objects in memory that is not theirs any more: in a freed block, and in the frame of a function that has returned. The
// use of the object comes first in the first execution of a search.
// flags: -O1 -g
// run: -s dpor --races off -- freed
// exit: 2
// line: use-after-free: unlock at
// run: -s dpor --races off -- freed_semaphore
// exit: 2
// line: use-after-free: semaphore-post at
// run: -s dpor --races off -- returned
// exit: 2
// line: use-after-return: lock at
// run: -s stateful --races off -- returned
// exit: 2
// line: use-after-return: lock at
// run: -s dpor --races off -- awaited
// exit: 0
// line: All
#include <coyote.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
static void *block;
static _Atomic(coyote_mutex *) published;
static char done;
#define AT(object) ((uint32_t)(uintptr_t)(object))
static void frees(void *unused) { free(block); }
static __attribute__((noinline)) void publishes(int waits) {
    coyote_mutex lock = {0};
    published = &lock;
    if (waits) coyote_raw_semaphore_wait(AT(&done), -1);
}
static void returns(void *unused) { publishes(0); }
static void waits(void *unused) { publishes(1); }
int main(int count, char **arguments) {
    coyote_thread thread;
    if (count < 2) return 1;
    coyote_raw_semaphore_init(AT(&done), 0);
    if (!strncmp(arguments[1], "freed", 5)) {
        block = calloc(1, 64);
        if (!strcmp(arguments[1], "freed")) {
            coyote_mutex *lock = block;
            coyote_thread_create(&thread, frees, NULL);
            coyote_mutex_lock(lock);
            coyote_mutex_unlock(lock);
        } else {
            coyote_raw_semaphore_init(AT(block), 0);
            coyote_thread_create(&thread, frees, NULL);
            coyote_raw_semaphore_post(AT(block));
        }
        coyote_thread_join(&thread);
        return 0;
    }
    coyote_thread_create(&thread, strcmp(arguments[1], "awaited") ? returns : waits, NULL);
    coyote_mutex *lock = published;
    if (lock) {
        coyote_mutex_lock(lock);
        coyote_mutex_unlock(lock);
    }
    coyote_raw_semaphore_post(AT(&done));
    coyote_thread_join(&thread);
}
