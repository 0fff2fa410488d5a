// A mutex at the beginning of a freed block, where the allocator has written since: the bug is the use of freed memory.
// flags: -O1 -g
// run: -s dpor --races off
// exit: 2
// line: use-after-free
// line: the beginning of a freed block of 24 bytes
#include <pthread.h>
#include <stdlib.h>
struct account { pthread_mutex_t lock; };
static struct account *account;
static void *locks(void *unused) {
    pthread_mutex_lock(&account->lock);
    return unused;
}
int main(void) {
    account = malloc(sizeof *account);
    pthread_mutex_init(&account->lock, NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, locks, NULL);
    free(account);
    pthread_join(thread, NULL);
}
