// The thread that ends last ends the process, and what runs then sees which thread it is: any of them, also the main one.
// flags: -O1 -g
// run: -s dpor --races off -- first
// exit: 2
// line: ended with exit code 1
// run: -s dpor --races off -- second
// exit: 2
// line: ended with exit code 2
// run: -s dpor --races off -- main
// exit: 2
// line: ended with exit code 3
// run: -s stateful --races off -- main
// exit: 2
// line: ended with exit code 3
// run: -s random -i 100 --races off -- main
// exit: 2
// line: ended with exit code 3
// run: -s dpor --races off -- none
// exit: 0
// line: All
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static pthread_t first, second, whole;
static const char *unwanted;
static void at_exit(void) {
    pthread_t self = pthread_self();
    if (pthread_equal(self, first) && !strcmp(unwanted, "first")) _Exit(1);
    if (pthread_equal(self, second) && !strcmp(unwanted, "second")) _Exit(2);
    if (pthread_equal(self, whole) && !strcmp(unwanted, "main")) _Exit(3);
}
static void *nothing(void *unused) { return unused; }
int main(int count, char **arguments) {
    if (count < 2) return 1;
    unwanted = arguments[1];
    whole = pthread_self();
    atexit(at_exit);
    pthread_create(&first, NULL, nothing, NULL);
    pthread_create(&second, NULL, nothing, NULL);
    pthread_exit(NULL);
}
