// An object that another thread destroys between two calls of a thread, of which the second one uses it: no access of
// memory, which would be a scheduling point, comes between them.
// flags: -O1 -g
// run: -s dpor --races off -- signal
// exit: 2
// line: misuse: a condition variable is used after it was destroyed
// run: -s dfs --races off -- signal
// exit: 2
// line: misuse: a condition variable is used after it was destroyed
// run: -s stateful --races off -- signal
// exit: 2
// line: misuse: a condition variable is used after it was destroyed
// run: -s random -i 500 --races off -- signal
// exit: 2
// line: misuse: a condition variable is used after it was destroyed
// run: -s dpor --races off -- post
// exit: 2
// line: misuse: a semaphore is used after it was destroyed
// run: -s stateful --races off --explore -- lock
// exit: 2
// line: misuse: a mutex is used after it was destroyed
// run: -s dpor --races off --explore -- read
// exit: 2
// line: misuse: a read-write lock is used after it was destroyed
// run: -s dpor --races off --explore -- spin
// exit: 2
// line: misuse: a spin lock is used after it was destroyed
// run: -s dpor --races off -- twice
// exit: 2
// line: misuse: a mutex is used after it was destroyed
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
static sem_t go;
static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condvar = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static void *signals(void *unused) {
    sem_post(&go);
    pthread_cond_signal(&condvar);
    return unused;
}
static void *posts(void *unused) {
    sem_post(&go);
    sem_post(&semaphore);
    return unused;
}
static void *locks(void *unused) {
    sem_post(&go);
    pthread_mutex_lock(&mutex);
    return unused;
}
static void *reads(void *unused) {
    sem_post(&go);
    pthread_rwlock_tryrdlock(&rwlock);
    return unused;
}
static void *spins(void *unused) {
    sem_post(&go);
    pthread_spin_trylock(&spin);
    return unused;
}
static void *destroys(void *unused) {
    sem_post(&go);
    pthread_mutex_destroy(&mutex);
    return unused;
}
int main(int count, char **arguments) {
    if (count < 2) return 1;
    const char *asked = arguments[1];
    sem_init(&go, 0, 0);
    sem_init(&semaphore, 0, 0);
    pthread_spin_init(&spin, 0);
    void *(*runs)(void *) = !strcmp(asked, "signal") ? signals
                            : !strcmp(asked, "post") ? posts
                            : !strcmp(asked, "lock") ? locks
                            : !strcmp(asked, "read") ? reads
                            : !strcmp(asked, "spin") ? spins
                                                     : destroys;
    pthread_t thread;
    pthread_create(&thread, NULL, runs, NULL);
    sem_wait(&go);
    if (runs == signals) pthread_cond_destroy(&condvar);
    if (runs == posts) sem_destroy(&semaphore);
    if (runs == locks || runs == destroys) pthread_mutex_destroy(&mutex);
    if (runs == reads) pthread_rwlock_destroy(&rwlock);
    if (runs == spins) pthread_spin_destroy(&spin);
    pthread_join(thread, NULL);
}
