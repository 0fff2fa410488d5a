// Memory that the C library's stdio reads or writes, which it does without scheduling points: a block that another worker
// frees, a local variable of a function that has returned, and the same after the other worker was joined or before.
// flags: -O1 -g
// run: -s dpor --races off -- freed
// exit: 2
// line: use-after-free: load
// line: at __main_argc_argv
// run: -s random -i 50 --races off -- freed
// exit: 2
// line: use-after-free: load
// run: -s dpor --races off -- filled
// exit: 2
// line: use-after-free: store
// run: -s dpor --races off -- returned
// exit: 2
// line: use-after-return: load
// run: -s dpor --races off -- overflow
// exit: 2
// line: heap-overflow: store
// run: -s dpor --races off -- correct
// exit: 0
// line: All
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char *text;
static _Atomic(const char *) published;
atomic_int later;
static void *frees(void *unused) {
    free(text);
    return unused;
}
static __attribute__((noinline)) void publishes(void) {
    char local[] = "in a frame";
    published = local;
}
static void *returns(void *unused) {
    publishes();
    later = 1;
    return unused;
}
int main(int count, char **arguments) {
    const char *what = arguments[1];
    pthread_t thread;
    if (count < 2) return 1;
    if (!strcmp(what, "returned")) {
        pthread_create(&thread, NULL, returns, NULL);
        const char *read = published;
        if (read) printf("%s\n", read);
        pthread_join(thread, NULL);
        return 0;
    }
    text = malloc(32);
    strcpy(text, "in a block");
    if (!strcmp(what, "correct")) {
        // Formatted, printed and read by the same functions, in the program's order.
        char line[64];
        snprintf(text, 32, "%d and %s", 17, "more");
        snprintf(line, sizeof line, "%.4s %5.2f", text, 2.5);
        printf("%s %s\n", text, line);
        pthread_create(&thread, NULL, frees, NULL);
        int number;
        if (sscanf(line, "%d", &number) != 1 || number != 17) abort();
        puts(line);
        pthread_join(thread, NULL);
        return 0;
    }
    if (!strcmp(what, "overflow")) {
        char *small = malloc(10);
        sprintf(small, "%s", "ten and more");
        return small[0] == 0;
    }
    pthread_create(&thread, NULL, frees, NULL);
    if (!strcmp(what, "filled")) sprintf(text, "%d", later + 1);
    else printf("%s\n", text);
    pthread_join(thread, NULL);
}
