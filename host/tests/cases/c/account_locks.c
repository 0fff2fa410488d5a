// Locks that are a field of several blocks have numbers.
// flags: -g -O1
// run: -i 10000
// exit: 2
// line: why: worker 0.0 waits for `lock#2`, worker 0.1 waits for `lock#1`, and each of these is held by the next one
// line: waits to lock the mutex `lock#1` in a block of 28 bytes that is allocated at account_locks.c:
#include <pthread.h>
#include <stdlib.h>

struct account {
    long balance;
    pthread_mutex_t lock;
};

static struct account *accounts[2];

static void transfer(struct account *from, struct account *to, long amount) {
    pthread_mutex_lock(&from->lock);
    pthread_mutex_lock(&to->lock);
    from->balance -= amount;
    to->balance += amount;
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_unlock(&from->lock);
}

static void *there(void *unused) {
    transfer(accounts[0], accounts[1], 5);
    return unused;
}

static void *back(void *unused) {
    transfer(accounts[1], accounts[0], 3);
    return unused;
}

int main(void) {
    for (int i = 0; i < 2; i++) {
        accounts[i] = calloc(1, sizeof *accounts[i]);
        pthread_mutex_init(&accounts[i]->lock, NULL);
    }
    pthread_t first, second;
    pthread_create(&first, NULL, there, NULL);
    pthread_create(&second, NULL, back, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
}
