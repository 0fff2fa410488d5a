/* What generated programs share. See `main.rs`. */
#pragma once
#include <coyote.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define THREADS 4
#define KEPT 10
#define EPOCH 946684800

void __VERIFIER_atomic_begin(void), __VERIFIER_atomic_end(void);

/* All of it is compared at the end: the host finds it by its name. */
static volatile struct {
  char name[16];
  /* What calls returned, by thread and place in the program; -77 if they did not. */
  int kept[THREADS][KEPT];
  int x, y, flag, a, b;
  uint32_t futex;
  union {
    unsigned char bytes[8];
    unsigned short halves[4];
    unsigned words[2];
    unsigned long long whole;
  } mixed;
  /* Across two granules of 64 bytes. */
  unsigned char buffer[96] __attribute__((aligned(64)));
} o = {.name = {'c', 'o', 'y', 'o', 't', 'e', '-', 'f', 'u', 'z', 'z', '-', 'e', 'n', 'd', 's'},
       .kept = {[0 ... THREADS - 1] = {[0 ... KEPT - 1] = -77}}};

/* No scheduling point: `--no-points-in keep`. Nobody else looks at it. */
static NOINLINE int keep(int thread, int place, int value) {
  o.kept[thread][place] = value;
  return value;
}
#define K(place, value) keep(T, place, (int)(value))

static pthread_t thread[THREADS];
static pthread_mutex_t mutex[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static pthread_once_t once[2] = {PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT};
static once_flag flag = ONCE_FLAG_INIT;
static sem_t sem[3];
static pthread_barrier_t barrier;
static mtx_t mtx;
static cnd_t cnd;
static _Thread_local int own = 5;
static pthread_key_t key, other_key;
static int *volatile pointer[2];
static FILE *file;
static int fd;
enum { LISTENER = 40 };
static int peer, served;
enum { STACK_PAGES = 8 };
static uint32_t pages;

static inline struct timespec at(int second) {
  return (struct timespec){EPOCH + second, 0};
}

static NOINLINE void nap(int seconds) {
  coyote_sleep_ns(seconds * 1000000000ull);
}

static NOINLINE int wait_until(int number, int second) {
  struct timespec time = at(second);
  return sem_timedwait(&sem[number], &time);
}

static NOINLINE int lock_until(pthread_mutex_t *lock, int second) {
  struct timespec time = at(second);
  return pthread_mutex_timedlock(lock, &time);
}

static NOINLINE int read_lock_until(int second) {
  struct timespec time = at(second);
  return pthread_rwlock_timedrdlock(&rwlock, &time);
}

static NOINLINE int write_lock_until(int second) {
  struct timespec time = at(second);
  return pthread_rwlock_timedwrlock(&rwlock, &time);
}

static NOINLINE int wait_for(pthread_cond_t *condition, pthread_mutex_t *lock, int second) {
  struct timespec time = at(second);
  return pthread_cond_timedwait(condition, lock, &time);
}

static NOINLINE int now(void) {
  return (int)(coyote_now_ns() / 1000000000);
}

static NOINLINE int clock_now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (int)(time.tv_sec % EPOCH) * 1000 + (int)(time.tv_nsec / 1000000);
}

static NOINLINE int compare_exchange(volatile int *of, int expected, int to) {
  int found = expected;
  return __atomic_compare_exchange_n(of, &found, to, 0, 5, 5) * 10 + found;
}

static NOINLINE int futex_wait(int value, long long ns) {
  return __builtin_wasm_memory_atomic_wait32((int *)&o.futex, value, ns);
}

static NOINLINE int futex_wake(int count) {
  return (int)__builtin_wasm_memory_atomic_notify((int *)&o.futex, count);
}

static NOINLINE void copy(int to, int from, int size) {
  memmove((void *)&o.buffer[to], (void *)&o.buffer[from], size);
}

static NOINLINE void fill(int to, int value, int size) {
  memset((void *)&o.buffer[to], value, size);
}

#define AT(type, index) (*(volatile type __attribute__((aligned(1))) *)&o.buffer[index])
typedef int unaligned_int __attribute__((aligned(1)));
typedef short unaligned_short __attribute__((aligned(1)));
typedef long long unaligned_long __attribute__((aligned(1)));

/* Predicates for coyote_wait_until. */
static int x_is_at_least(void *value) {
  return o.x >= (intptr_t)value;
}

static int x_and_y(void *unused) {
  return o.x && o.y;
}

static int flag_under_lock(void *value) {
  pthread_mutex_lock(&mutex[0]);
  int holds = o.flag == (intptr_t)value;
  pthread_mutex_unlock(&mutex[0]);
  return holds;
}

static int takes(void *unused) {
  return !__atomic_exchange_n(&o.a, 1, 5);
}

static int buffer_has(void *value) {
  return memchr((void *)&o.buffer[60], (int)(intptr_t)value, 8) != NULL;
}

static void do_once(void) {
  o.x += 10;
  o.y = o.x;
}

static void do_flag(void) {
  o.y += 5;
  o.x = o.y;
}

static void destroyed(void *value) {
  o.y = o.y * 3 + (int)(intptr_t)value;
}

static void cleaned(void *value) {
  o.x = o.x * 3 + (int)(intptr_t)value;
}

static void left_1(void) {
  o.x = o.x * 4 + 1;
}

static void left_2(void) {
  o.x = o.x * 4 + 2;
}

/* What must not happen at once, by POSIX. */
#define GUARDED(statement)              \
  {                                     \
    pthread_mutex_lock(&environment);   \
    statement;                          \
    pthread_mutex_unlock(&environment); \
  }

static pthread_mutex_t environment = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE int variable(void) {
  const char *value = getenv("A");
  return value ? value[0] - '0' : -1;
}

static NOINLINE int get_byte(void) {
  unsigned char byte = 0;
  int count = (int)read(fd, &byte, 1);
  return count * 1000 + byte;
}

static NOINLINE int get_byte_at(int offset) {
  unsigned char byte = 0;
  int count = (int)pread(fd, &byte, 1, offset);
  return count * 1000 + byte;
}

static NOINLINE int put_byte(const char *name, const char *byte, int flags) {
  int opened = open(name, O_RDWR | O_CREAT | flags, 0666);
  if (opened >= 0) {
    write(opened, byte, 1);
    close(opened);
  }
  return opened;
}

static NOINLINE int size_of(const char *name) {
  struct stat status;
  return stat(name, &status) ? -errno : (int)status.st_size;
}

static NOINLINE int entries(const char *name) {
  DIR *directory = opendir(name);
  int count = 0;
  if (!directory) {
    return -1;
  }
  while (readdir(directory)) {
    count++;
  }
  closedir(directory);
  return count;
}

static NOINLINE int here(void) {
  char name[32];
  return getcwd(name, sizeof name) ? name[1] : -1;
}

/* The library for WASI reads through the pointers to the address, also where these are null. */
static NOINLINE int accepted(void) {
  struct sockaddr address;
  socklen_t size = sizeof address;
  int connection = accept(LISTENER, &address, &size);
  return connection < 0 ? -errno : connection;
}

static NOINLINE int take(int socket) {
  unsigned char bytes[2] = {0, 0};
  int count = (int)read(socket, bytes, 2);
  return count < 0 ? -errno : count * 1000000 + bytes[0] * 1000 + bytes[1];
}

/* Which of two sockets is ready for reading, and the second one for writing. */
static NOINLINE int polled(int one, int other, int seconds) {
  struct pollfd waits[2] = {{one, POLLIN, 0}, {other, POLLIN | (seconds < 0 ? 0 : POLLOUT), 0}};
  int count = poll(waits, 2, seconds < 0 ? -1 : seconds * 1000);
  return count < 0 ? -errno : count * 1000000 + waits[0].revents * 1000 + waits[1].revents;
}

/* The compiler must not leave the call out. */
static NOINLINE void *allocate(int size) {
  void *volatile block = malloc(size);
  return block;
}

/* At the beginning of each test: what is no memory does not outlast a setup. */
static NOINLINE void prepare(void) {
  sem_init(&sem[0], 0, 0);
  sem_init(&sem[1], 0, 1);
  sem_init(&sem[2], 0, SEM_VALUE_MAX - 1);
  pthread_barrier_init(&barrier, NULL, 2);
}

COYOTE_SETUP {
  mtx_init(&mtx, mtx_timed);
  cnd_init(&cnd);
  pthread_key_create(&key, destroyed);
  pthread_key_create(&other_key, NULL);
  pointer[0] = malloc(4);
  *pointer[0] = 7;
  file = fopen("/stream", "w+");
  fputs("pqrs", file);
  rewind(file);
  fd = open("/shared", O_RDWR | O_CREAT, 0666);
  write(fd, "uvw", 3);
  lseek(fd, 0, SEEK_SET);
  mkdir("/d", 0777);
  mkdir("/e", 0777);
  peer = coyote_net_connect(LISTENER);
  served = accepted();
  /* Behind what the stacks of all threads take. */
  pages = __builtin_wasm_memory_size(0) + STACK_PAGES;
}
