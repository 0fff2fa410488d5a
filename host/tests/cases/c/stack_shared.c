// Threads use local variables of other threads' functions that are still executed: deep in recursion, beside frames of
// unknown size and of large alignment.
// run: -s random -i 2000 --races bug
// exit: 0
// run: -s dpor
// exit: 0
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdalign.h>
#include <string.h>

static sem_t go;

static void *twice(void *at) {
  sem_wait(&go);
  int *numbers = at;
  for (int i = 0; i < 4; i++) numbers[i] *= 2;
  return 0;
}

__attribute__((noinline)) static int deep(int n) {
  volatile int local[8];
  for (int i = 0; i < 8; i++) local[i] = n;
  if (n > 0) return deep(n - 1) + local[3];
  sem_post(&go);
  return local[0];
}

static void *add(void *at) {
  *(int *)at += 1;
  return 0;
}

__attribute__((noinline)) static int inner(int *number) {
  volatile int local = 3;
  pthread_t thread;
  pthread_create(&thread, 0, add, number);
  local++;
  int sum = deep(2);
  pthread_join(thread, 0);
  return local + sum;
}

__attribute__((noinline)) static int frames(int bytes) {
  int *variable = __builtin_alloca(bytes);
  memset(variable, 0, bytes);
  alignas(64) int aligned[16] = {0};
  int sum = inner(variable) + inner(aligned);
  return sum + variable[0] + aligned[0];
}

int main(void) {
  int numbers[4] = {1, 2, 3, 4};
  sem_init(&go, 0, 0);
  pthread_t thread;
  pthread_create(&thread, 0, twice, numbers);
  assert(frames(36) == 2 * (4 + 3) + 2);
  pthread_join(thread, 0);
  assert(numbers[3] == 8);
  return 0;
}
