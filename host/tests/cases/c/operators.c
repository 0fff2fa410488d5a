// Operators of _Atomic variables are sequentially consistent by the language: a verdict assumes nothing about them, nor about
// the C library.
// flags: -O1 -g
// run: -s dpor --races bug
// exit: 0
// line: All
// absent: unknown ordering
#include <pthread.h>
#include <stdatomic.h>
_Atomic int sum;
_Atomic short narrow;
atomic_int relaxed;
static void *adds(void *unused) {
    sum++;
    narrow |= 4;
    atomic_fetch_add_explicit(&relaxed, 1, memory_order_relaxed);
    __sync_synchronize();
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, adds, NULL);
    sum += 2;
    narrow ^= 8;
    __sync_synchronize();
    pthread_join(thread, NULL);
    return sum != 3 || narrow != 12;
}
