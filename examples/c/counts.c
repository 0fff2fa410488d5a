/* Programs whose executions are counted: under sequential consistency each has a known number of
 * executions that differ in more than the order of independent steps (Mazurkiewicz traces). A search
 * that reduces must meet that number exactly: less is a lost behaviour, more is redundant work.
 *
 * Each test says its number. At -O0, so that every access stands in the code as it is written here. No
 * libc, and arguments, handles and counters are values or locals whose address goes nowhere, so that
 * the only scheduling points are the accesses to shared variables, locks, spawns and joins.
 *
 * Expected: all pass.
 *
 * flags: -O0 -nostdlib -Wl,--no-entry -Wl,-z,stack-size=16384 */
#define COYOTE_STACK_ALLOC(bytes) NULL /* not used: stacks are static */
#define COYOTE_STACK_FREE(pointer) (void)(pointer)
#include <coyote.h>
#include <stdatomic.h>

#define WORKERS_MAX 3
#define STACK_BYTES 4096u

_Alignas(16) static char stacks[WORKERS_MAX][STACK_BYTES];

/* Starts worker number `index` and returns its handle. Not `coyote_thread_create`, which keeps the
 * handle in memory. */
static uint32_t start(int index, void (*entry)(int)) {
  uint32_t low = coyote_address(stacks[index]);
  return coyote_raw_spawn((uint32_t)(uintptr_t)entry, (uint32_t)index, low, low + STACK_BYTES);
}

static void run_two(void (*entry)(int)) {
  uint32_t a = start(0, entry);
  uint32_t b = start(1, entry);
  coyote_raw_join(a);
  coyote_raw_join(b);
}

static void run_three(void (*entry)(int)) {
  uint32_t a = start(0, entry);
  uint32_t b = start(1, entry);
  uint32_t c = start(2, entry);
  coyote_raw_join(a);
  coyote_raw_join(b);
  coyote_raw_join(c);
}

static atomic_int x, y;
/* A variable for each access. */
static atomic_int apart[6];

/* ---- Read-modify-writes: each pair of them is ordered, so these are the interleavings ---- */

/* The values that are read are used: they add up to 0 + 1 + .. if each increment saw another one. */
static void add(int count) {
  int sum = 0;
  for (int i = 0; i < count; i++) {
    sum += atomic_fetch_add(&x, 1);
  }
  COYOTE_ASSERT(sum >= count * (count - 1) / 2);
}

static void add_1(int self) {
  (void)self;
  add(1);
}

static void add_2(int self) {
  (void)self;
  add(2);
}

static void add_3(int self) {
  (void)self;
  add(3);
}

static void add_4(int self) {
  (void)self;
  add(4);
}

static void add_8(int self) {
  (void)self;
  add(8);
}

/* 3! = 6 */
COYOTE_TEST(increment_3x1) {
  run_three(add_1);
  COYOTE_ASSERT(x == 3);
}

/* 6! / (3! 3!) = 20 */
COYOTE_TEST(rmw_2x3) {
  run_two(add_3);
  COYOTE_ASSERT(x == 6);
}

/* 6! / (2! 2! 2!) = 90 */
COYOTE_TEST(rmw_3x2) {
  run_three(add_2);
  COYOTE_ASSERT(x == 6);
}

/* 16! / (8! 8!) = 12870 */
COYOTE_TEST(rmw_2x8) {
  run_two(add_8);
  COYOTE_ASSERT(x == 16);
}

/* 12! / (4! 4! 4!) = 34650 */
COYOTE_TEST(rmw_3x4) {
  run_three(add_4);
  COYOTE_ASSERT(x == 12);
}

/* ---- Nothing to order ---- */

static void load_3(int self) {
  (void)self;
  for (int i = 0; i < 3; i++) {
    COYOTE_ASSERT(atomic_load(&x) == 0);
  }
}

static void load_2(int self) {
  (void)self;
  for (int i = 0; i < 2; i++) {
    COYOTE_ASSERT(atomic_load(&x) == 0);
  }
}

static void add_apart_3(int self) {
  for (int i = 0; i < 3; i++) {
    COYOTE_ASSERT(atomic_fetch_add(&apart[3 * self + i], 1) == 0);
  }
}

static void add_apart_2(int self) {
  for (int i = 0; i < 2; i++) {
    COYOTE_ASSERT(atomic_fetch_add(&apart[2 * self + i], 1) == 0);
  }
}

/* 1 */
COYOTE_TEST(loads_2x3) { run_two(load_3); }

/* 1 */
COYOTE_TEST(loads_3x2) { run_three(load_2); }

/* 1: six variables */
COYOTE_TEST(apart_2x3) { run_two(add_apart_3); }

/* 1: six variables */
COYOTE_TEST(apart_3x2) { run_three(add_apart_2); }

/* ---- Loads and stores ---- */

static void load_store_load(int self) {
  int before = atomic_load(&x);
  atomic_store(&x, self + 1);
  int after = atomic_load(&x);
  COYOTE_ASSERT(after != 0 && before != self + 1);
}

static void load_store(int self) {
  (void)self;
  int before = atomic_load(&x);
  atomic_store(&x, before + 1);
}

/* 8 */
COYOTE_TEST(load_store_load_2) { run_two(load_store_load); }

/* 36 */
COYOTE_TEST(load_store_3) {
  run_three(load_store);
  COYOTE_ASSERT(x >= 1 && x <= 3);
}

static void store_x_load_y(int self) {
  (void)self;
  atomic_store(&x, 1);
  (void)atomic_load(&y);
}

static void store_y_load_x(int self) {
  (void)self;
  atomic_store(&y, 1);
  (void)atomic_load(&x);
}

/* 3: not both loads read 0 */
COYOTE_TEST(store_buffering) {
  uint32_t a = start(0, store_x_load_y);
  uint32_t b = start(1, store_y_load_x);
  coyote_raw_join(a);
  coyote_raw_join(b);
}

/* ---- Waiting ---- */

static atomic_int flags[2], turn;

/* Peterson's lock. The wait is an assumption: an execution that would go round is given up. */
static void peterson_lock(int self) {
  atomic_store(&flags[self], 1);
  atomic_store(&turn, self);
  coyote_assume(atomic_load(&flags[1 - self]) != 1 || atomic_load(&turn) != self);
  atomic_store(&x, self);
  COYOTE_ASSERT(atomic_load(&x) == self);
  atomic_store(&flags[self], 0);
}

/* 4, and 6 that are given up */
COYOTE_TEST(peterson) { run_two(peterson_lock); }

static coyote_mutex forks[3];

/* The fork with the lower number first. */
static void dine(int self) {
  int right = (self + 1) % 3;
  int first = self < right ? self : right;
  int second = self < right ? right : self;
  coyote_mutex_lock(&forks[first]);
  coyote_mutex_lock(&forks[second]);
  coyote_mutex_unlock(&forks[second]);
  coyote_mutex_unlock(&forks[first]);
}

/* 6: each of 3 forks has 2 orders, without the 2 circles */
COYOTE_TEST(philosophers_3) { run_three(dine); }

static coyote_mutex lock = COYOTE_MUTEX_INIT;
static int guarded;

static void try_to_add(int self) {
  (void)self;
  if (coyote_mutex_try_lock(&lock)) {
    guarded++;
    coyote_mutex_unlock(&lock);
  }
}

/* 15, or 16 where two failing try-locks of one mutex count as ordered */
COYOTE_TEST(try_lock) {
  uint32_t a = start(0, try_to_add);
  uint32_t b = start(1, try_to_add);
  coyote_mutex_lock(&lock);
  guarded++;
  coyote_mutex_unlock(&lock);
  coyote_raw_join(a);
  coyote_raw_join(b);
  COYOTE_ASSERT(guarded >= 1 && guarded <= 3);
}
