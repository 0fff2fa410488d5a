// Functions of the program that are named like those of musl whose accesses are atomic, or read beyond what they are
// given: their accesses are plain.
// flags: -w -fno-builtin -O1
// run: --races bug -s dpor -- counts
// exit: 2
// line: data-race: write of `samples`
// run: --races bug -s dpor
// exit: 2
// line: data-race: write of `copied`
#include <pthread.h>
#include <stdbool.h>

static volatile int samples, copied;
static bool counts;

static void sem_sample(void) { samples = samples + 1; }
static __attribute__((noinline)) int strlcpy(int n) { return copied + n; }
static void *reader(void *unused) {
    if (counts) sem_sample();
    else strlcpy(3);
    return unused;
}
static void *writer(void *unused) {
    if (counts) samples = 1;
    else copied = 1;
    return unused;
}

int main(int count, char **arguments) {
    counts = count > 1;
    pthread_t a, b;
    pthread_create(&a, 0, reader, 0);
    pthread_create(&b, 0, writer, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
