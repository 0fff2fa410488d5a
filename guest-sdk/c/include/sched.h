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

/* Sets of processors. With `_S`: of a number of bytes. A processor that is beyond a set is not in it. */
typedef struct {
  unsigned long __bits[32];
} cpu_set_t;

void __coyote_cpu_put(size_t __cpu, size_t __bytes, cpu_set_t *__set, int __in);
int __coyote_cpu_is_in(size_t __cpu, size_t __bytes, const cpu_set_t *__set);
int __coyote_cpu_count(size_t __bytes, const cpu_set_t *__set);
void __coyote_cpu_combine(size_t __bytes, cpu_set_t *__into, const cpu_set_t *__a, const cpu_set_t *__b, char __how);

#define CPU_SETSIZE 1024
#define CPU_ALLOC_SIZE(count) (((count) + 31) / 32 * sizeof(unsigned long))
#define CPU_ALLOC(count) ((cpu_set_t *)__builtin_calloc(1, CPU_ALLOC_SIZE(count)))
#define CPU_FREE(set) __builtin_free(set)

#define CPU_ZERO_S(bytes, set) ((void)__builtin_memset((set), 0, (bytes)))
#define CPU_SET_S(cpu, bytes, set) __coyote_cpu_put((cpu), (bytes), (set), 1)
#define CPU_CLR_S(cpu, bytes, set) __coyote_cpu_put((cpu), (bytes), (set), 0)
#define CPU_ISSET_S(cpu, bytes, set) __coyote_cpu_is_in((cpu), (bytes), (set))
#define CPU_COUNT_S(bytes, set) __coyote_cpu_count((bytes), (set))
#define CPU_AND_S(bytes, into, a, b) __coyote_cpu_combine((bytes), (into), (a), (b), '&')
#define CPU_OR_S(bytes, into, a, b) __coyote_cpu_combine((bytes), (into), (a), (b), '|')
#define CPU_XOR_S(bytes, into, a, b) __coyote_cpu_combine((bytes), (into), (a), (b), '^')
#define CPU_EQUAL_S(bytes, a, b) (__builtin_memcmp((a), (b), (bytes)) == 0)

#define CPU_ZERO(set) CPU_ZERO_S(sizeof(cpu_set_t), set)
#define CPU_SET(cpu, set) CPU_SET_S(cpu, sizeof(cpu_set_t), set)
#define CPU_CLR(cpu, set) CPU_CLR_S(cpu, sizeof(cpu_set_t), set)
#define CPU_ISSET(cpu, set) CPU_ISSET_S(cpu, sizeof(cpu_set_t), set)
#define CPU_COUNT(set) CPU_COUNT_S(sizeof(cpu_set_t), set)
#define CPU_AND(into, a, b) CPU_AND_S(sizeof(cpu_set_t), into, a, b)
#define CPU_OR(into, a, b) CPU_OR_S(sizeof(cpu_set_t), into, a, b)
#define CPU_XOR(into, a, b) CPU_XOR_S(sizeof(cpu_set_t), into, a, b)
#define CPU_EQUAL(a, b) CPU_EQUAL_S(sizeof(cpu_set_t), a, b)

/* EINVAL for a set without processor 0, the only one. */
int sched_getaffinity(pid_t __process, size_t __bytes, cpu_set_t *__set);
int sched_setaffinity(pid_t __process, size_t __bytes, const cpu_set_t *__set);

#ifdef __cplusplus
}
#endif

#endif
