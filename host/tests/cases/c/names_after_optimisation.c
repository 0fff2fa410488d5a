// The optimiser makes one byte of a variable that only ever holds two values, and a variable of each field of a structure:
// both keep their names.
// flags: -g -O2
// run: -- bit
// exit: 2
// line: data-race: read of `ready`
// run: -- flag
// exit: 2
// line: data-race: read of `stopped`
// line: run: stopped = true
// run: -- two
// exit: 2
// line: data-race: read of `level`
// run: -- field
// exit: 2
// line: data-race: read of `limits.high`
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

static int ready;
static bool stopped;
static int level = 5;
static struct { int low, high; } limits;

static void *run(void *kind) {
    switch (*(char *)kind) {
    case 'b': ready = 1; break;
    case 's': stopped = true; break;
    case 't': level = 9; break;
    case 'f': limits.low = 3; limits.high += limits.low; break;
    }
    return NULL;
}

int main(int argc, char **argv) {
    char kind = argc < 2 ? 'b' : argv[1][0] == 'f' && argv[1][1] == 'l' ? 's' : argv[1][0];
    pthread_t thread;
    pthread_create(&thread, NULL, run, &kind);
    int seen = 0;
    switch (kind) {
    case 'b': seen = ready; break;
    case 's': seen = stopped; break;
    case 't': seen = level; break;
    case 'f': seen = limits.high; break;
    }
    pthread_join(thread, NULL);
    printf("%d\n", seen);
    return 0;
}
