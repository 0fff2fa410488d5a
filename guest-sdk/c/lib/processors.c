/* Sets of processors, of which there is one. */
#include "library.h"
#include <errno.h>
#include <pthread.h>

#define WORD_BITS (8 * sizeof(unsigned long))

/* The word of a set with the bit of a processor; NULL if the set has none. */
PRIVATE const unsigned long *word_of(size_t cpu, size_t bytes, const cpu_set_t *set) {
  size_t word = cpu / WORD_BITS;
  return word < bytes / sizeof(unsigned long) ? (const unsigned long *)set + word : NULL;
}

void __coyote_cpu_put(size_t cpu, size_t bytes, cpu_set_t *set, int in) {
  unsigned long *word = (unsigned long *)word_of(cpu, bytes, set);
  unsigned long bit = 1ul << cpu % WORD_BITS;
  if (word) {
    *word = in ? *word | bit : *word & ~bit;
  }
}

int __coyote_cpu_is_in(size_t cpu, size_t bytes, const cpu_set_t *set) {
  const unsigned long *word = word_of(cpu, bytes, set);
  return word && *word >> cpu % WORD_BITS & 1;
}

int __coyote_cpu_count(size_t bytes, const cpu_set_t *set) {
  int count = 0;
  for (size_t word = 0; word < bytes / sizeof(unsigned long); word++) {
    count += __builtin_popcountl(((const unsigned long *)set)[word]);
  }
  return count;
}

void __coyote_cpu_combine(size_t bytes, cpu_set_t *into, const cpu_set_t *a, const cpu_set_t *b, char how) {
  for (size_t word = 0; word < bytes / sizeof(unsigned long); word++) {
    unsigned long x = ((const unsigned long *)a)[word], y = ((const unsigned long *)b)[word];
    ((unsigned long *)into)[word] = how == '&' ? x & y : how == '|' ? x | y : x ^ y;
  }
}

int __coyote_pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t *set) {
  (void)thread;
  if (bytes < sizeof(unsigned long) || bytes % sizeof(unsigned long)) {
    return EINVAL;
  }
  __builtin_memset(set, 0, bytes);
  __coyote_cpu_put(0, bytes, set, 1);
  return 0;
}
PUBLIC(pthread_getaffinity_np);

int __coyote_pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *set) {
  (void)thread;
  return __coyote_cpu_is_in(0, bytes, set) ? 0 : EINVAL;
}
PUBLIC(pthread_setaffinity_np);

int __coyote_sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set) {
  (void)process;
  return __coyote_result(pthread_getaffinity_np(pthread_self(), bytes, set));
}
PUBLIC(sched_getaffinity);

int __coyote_sched_setaffinity(pid_t process, size_t bytes, const cpu_set_t *set) {
  (void)process;
  return __coyote_result(pthread_setaffinity_np(pthread_self(), bytes, set));
}
PUBLIC(sched_setaffinity);

int __coyote_sched_getcpu(void) {
  return 0;
}
PUBLIC(sched_getcpu);
