/* sched.h for guests of coyote-wasm. There is one processor and no priorities: calls that
 * set them are accepted and have no effect, so that programs need no change. */
#ifndef COYOTE_SCHED_H
#define COYOTE_SCHED_H

#include <coyote_shim.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SCHED_OTHER 0
#define SCHED_FIFO 1
#define SCHED_RR 2
#define SCHED_BATCH 3
#define SCHED_IDLE 5

struct sched_param {
  int sched_priority;
};

/* Lets other workers run. */
COYOTE_INLINE int sched_yield(void) {
  coyote_raw_yield();
  return 0;
}

int sched_get_priority_max(int __policy);
int sched_get_priority_min(int __policy);
int sched_getcpu(void);

/* Sets of processors, for pthread_setaffinity_np. */
typedef struct {
  unsigned long __bits[32];
} cpu_set_t;

#define CPU_SETSIZE 1024
#define CPU_ZERO(set) ((void)__builtin_memset((set), 0, sizeof(cpu_set_t)))
#define CPU_SET(cpu, set) ((void)((set)->__bits[(cpu) / 32 % 32] |= 1UL << (cpu) % 32))
#define CPU_CLR(cpu, set) ((void)((set)->__bits[(cpu) / 32 % 32] &= ~(1UL << (cpu) % 32)))
#define CPU_ISSET(cpu, set) ((int)((set)->__bits[(cpu) / 32 % 32] >> (cpu) % 32 & 1))
int __coyote_cpu_count(const cpu_set_t *__set);
#define CPU_COUNT(set) __coyote_cpu_count(set)

#ifdef __cplusplus
}
#endif

#endif
