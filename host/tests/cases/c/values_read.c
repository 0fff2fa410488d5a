// What a failing worker read, and who wrote it: named only if another worker wrote it while this one existed.
// flags: -O1 -g
// run: -- other
// exit: 2
// line: why: worker 0.1 reads 5 from `price` in step
// line: (values_read.c:28), which worker 0.0 wrote in step
// line: (values_read.c:20)
// run: -- own
// exit: 2
// absent: why:
#include <assert.h>
#include <coyote.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int price = 3;
static void *raises(void *unused) {
    pthread_mutex_lock(&lock);
    price = 5;
    pthread_mutex_unlock(&lock);
    return unused;
}
// Nothing is wrong with this read alone, and nothing else explains the failure.
static void *buys(void *unused) {
    int seen;
    pthread_mutex_lock(&lock);
    seen = price;
    pthread_mutex_unlock(&lock);
    assert(seen == 3);
    return unused;
}
// An argument that was written before the worker existed explains nothing.
static void *chooses(void *argument) {
    int *bound = argument;
    assert(coyote_choose_int(*bound) != 2);
    return NULL;
}
int main(int count, char **arguments) {
    pthread_t first, second;
    int bound = 3 + count - 2;
    if (count == 2 && strcmp(arguments[1], "other") == 0) {
        pthread_create(&first, NULL, raises, NULL);
        pthread_create(&second, NULL, buys, NULL);
    } else {
        pthread_create(&first, NULL, chooses, &bound);
        pthread_create(&second, NULL, chooses, &bound);
    }
    pthread_join(first, NULL);
    pthread_join(second, NULL);
}
