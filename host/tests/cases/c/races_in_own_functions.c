// Functions of the program that are named like those of musl whose accesses are atomic, or read beyond what they are
// given: their accesses are plain.
// flags: -w -fno-builtin -O1
// run: --races bug -s dpor --explore
// exit: 2
// line: data-race: read of `samples`
// line: data-race: read of `text`
#include <pthread.h>

static volatile int samples, text;

static void sem_sample(void) { samples = samples + 1; }
static __attribute__((noinline)) int strlcpy(int n) { return text + n; }
static void *reader(void *unused) {
    sem_sample();
    strlcpy(3);
    return unused;
}
static void *writer(void *unused) {
    samples = 1;
    text = 1;
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, reader, 0);
    pthread_create(&b, 0, writer, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
