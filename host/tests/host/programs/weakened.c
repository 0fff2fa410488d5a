// Small lock-free algorithms. The first argument names one, the others are the orders of its atomic operations, as
// numbers of <stdatomic.h> (-1: no fence at all). With -DPLAIN, what they protect is in plain memory, so that a missing
// edge is a data race; otherwise in relaxed atomics, so that weak memory shows it. Built in both ways, an algorithm needs
// an order exactly if a weaker one makes one of them fail.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#ifdef PLAIN
typedef volatile int cell;
#define GET(place) (place)
#define PUT(place, value) ((place) = (value))
#else
typedef atomic_int cell;
#define GET(place) atomic_load_explicit(&(place), memory_order_relaxed)
#define PUT(place, value) atomic_store_explicit(&(place), value, memory_order_relaxed)
#endif

static int orders[8];
#define LOAD(place, o) atomic_load_explicit(&(place), orders[o])
#define STORE(place, value, o) atomic_store_explicit(&(place), value, orders[o])
#define RELAXED_LOAD(place) atomic_load_explicit(&(place), memory_order_relaxed)
#define RELAXED_STORE(place, value) atomic_store_explicit(&(place), value, memory_order_relaxed)
#define CAS(place, expected, value, success, failure) \
  atomic_compare_exchange_strong_explicit(&(place), expected, value, success, failure)
static void fence(int o) {
  if (orders[o] >= 0) atomic_thread_fence(orders[o]);
}

// A queue of one place, from one thread to one other (Lamport).
static atomic_int head, tail;
static cell slot;
static void *ring_send(void *a) {
  for (int i = 0; i < 2; i++)
    if (LOAD(head, 0) == i) {
      PUT(slot, i + 10);
      STORE(tail, i + 1, 1);
    }
  return a;
}
static void *ring_receive(void *a) {
  for (int i = 0; i < 2; i++)
    if (LOAD(tail, 2) > i) {
      assert(GET(slot) == i + 10);
      STORE(head, i + 1, 3);
    }
  return a;
}

// A stack of nodes that are not used again (Treiber); 0 is no node.
static atomic_int top;
static cell next[3], value[3];
static void *stack_push(void *a) {
  for (int node = 1; node < 3; node++) {
    PUT(value[node], node * 10);
    int below = RELAXED_LOAD(top);
    do PUT(next[node], below);
    while (!CAS(top, &below, node, orders[0], memory_order_relaxed));
  }
  return a;
}
static void *stack_pop(void *a) {
  int node = LOAD(top, 1);
  while (node) {
    int below = GET(next[node]);
    if (CAS(top, &node, below, orders[2], orders[3])) {
      assert(GET(value[node]) == node * 10);
      break;
    }
  }
  return a;
}

// What a lock protects: every thread that was here has counted itself.
static cell count;
static atomic_int visits;
static void critical(void) {
  PUT(count, GET(count) + 1);
  atomic_fetch_add_explicit(&visits, 1, memory_order_relaxed);
}
static void counted(void) { assert(GET(count) == RELAXED_LOAD(visits)); }

// A lock with tickets; a thread that does not see its turn twice gives up.
static atomic_int tickets, turn;
static void *ticket(void *a) {
  int mine = atomic_fetch_add_explicit(&tickets, 1, memory_order_relaxed);
  for (int i = 0; i < 2; i++)
    if (LOAD(turn, 0) == mine) {
      critical();
      STORE(turn, mine + 1, 1);
      break;
    }
  return a;
}

// A value that is made once; 1 while it is being made, 2 then.
static atomic_int state;
static cell made;
static void *once(void *a) {
  int seen = LOAD(state, 0);
  if (seen == 0 && CAS(state, &seen, 1, orders[1], orders[2])) {
    PUT(made, 42);
    STORE(state, 2, 3);
    seen = 2;
  }
  if (seen == 2) assert(GET(made) == 42);
  return a;
}

// Two owners of a value; the last one destroys it.
static atomic_int owners = 2;
static cell owned = 7;
static void *owner(void *a) {
  assert(GET(owned) == 7);
  if (atomic_fetch_sub_explicit(&owners, 1, orders[0]) == 1) {
    fence(1);
    PUT(owned, 0);
  }
  return a;
}

// A pair that is read without a lock: odd while it is being written.
static atomic_int version, left, right;
static void *seqlock_write(void *a) {
  RELAXED_STORE(version, 1);
  fence(0);
  RELAXED_STORE(left, 1);
  RELAXED_STORE(right, 1);
  STORE(version, 2, 1);
  return a;
}
static void *seqlock_read(void *a) {
  int before = LOAD(version, 2);
  int l = RELAXED_LOAD(left), r = RELAXED_LOAD(right);
  fence(3);
  if (before % 2 == 0 && RELAXED_LOAD(version) == before) assert(l == before / 2 && r == before / 2);
  return a;
}

// Mutual exclusion by loads and stores (Peterson), one attempt each.
static atomic_int wants[2], last;
static void peterson(int me) {
  STORE(wants[me], 1, 0);
  STORE(last, me, 1);
  if (!LOAD(wants[1 - me], 2) || LOAD(last, 3) != me) {
    critical();
    STORE(wants[me], 0, 4);
  }
}
static void *peterson_0(void *a) { return peterson(0), a; }
static void *peterson_1(void *a) { return peterson(1), a; }

// The same by fences (Dekker).
static void dekker(int me) {
  RELAXED_STORE(wants[me], 1);
  fence(0);
  if (!RELAXED_LOAD(wants[1 - me])) critical();
}
static void *dekker_0(void *a) { return dekker(0), a; }
static void *dekker_1(void *a) { return dekker(1), a; }

static const struct {
  const char *name;
  void *(*first)(void *), *(*second)(void *);
} algorithms[] = {
    {"ring", ring_send, ring_receive},       {"stack", stack_push, stack_pop},  {"ticket", ticket, ticket},
    {"once", once, once},                    {"owners", owner, owner},          {"seqlock", seqlock_write, seqlock_read},
    {"peterson", peterson_0, peterson_1},    {"dekker", dekker_0, dekker_1},
};

int main(int arguments, char **list) {
  unsigned chosen = 0;
  while (strcmp(algorithms[chosen].name, list[1])) chosen++;
  for (int i = 2; i < arguments; i++) orders[i - 2] = atoi(list[i]);
  pthread_t first, second;
  pthread_create(&first, 0, algorithms[chosen].first, 0);
  pthread_create(&second, 0, algorithms[chosen].second, 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
  counted();
  return 0;
}
