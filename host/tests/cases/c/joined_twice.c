// A thread that two others join is a misuse, of no object: whatever is at address 0.
// flags: -O1 -g
// run: -s dpor --races off
// exit: 2
// line: misuse: pthread_join: there is no such thread; was it joined?
// absent: use-after-return
// run: -s dfs --races off --explore
// exit: 2
// line: misuse: pthread_join: there is no such thread; was it joined?
// absent: use-after-return
#include <pthread.h>
static pthread_t joined;
static void *nothing(void *unused) { return unused; }
static void *joins(void *unused) {
    pthread_join(joined, NULL);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&joined, NULL, nothing, NULL);
    pthread_create(&thread, NULL, joins, NULL);
    pthread_join(joined, NULL);
}
