// A sweep of faults lets time pass for a worker that waits by spinning for one that sleeps, and does not take the steps
// until then for those in which something must happen that a monitor waits for.
// run: --fault-sweep point --max-steps 3000 30000 --max-hot-steps 500
// exit: 0
// line: ... Fault sweep of point: 1 opportunity, each way once and from there on, with the default schedule and 4 others after it; all 10
#include <coyote.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int flag;

static void *sleeper(void *unused) {
    usleep(1000);
    atomic_store(&flag, 1);
    return unused;
}

int main(void) {
    pthread_t thread;
    coyote_monitor_hot("flag");
    pthread_create(&thread, NULL, sleeper, NULL);
    coyote_fault_point("anything");
    while (!atomic_load(&flag)) sched_yield();
    coyote_monitor_cold("flag");
    pthread_join(thread, NULL);
}
