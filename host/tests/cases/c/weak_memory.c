// Litmus tests and locks with weak memory. The first argument names the program, the others are orders of stores, loads and
// fences. What fails is what RC11 allows without load buffering (Lahav et al., PLDI 2017).
// flags: -g -O1
// run: --memory weak -s dfs --points atomic -- mp relaxed relaxed
// exit: 2
// line: bug in test main: assertion:
// line: reads the value of the beginning, though step
// run: --memory weak -s dfs --points atomic -- mp release relaxed
// exit: 2
// run: --memory weak -s dfs --points atomic -- mp relaxed acquire
// exit: 2
// run: --memory weak -s dfs --points atomic -- mp release acquire
// exit: 0
// line: All
// line: RC11 without load buffering, 4 stale choices an execution at most
// run: --memory sc -s dfs --points atomic -- mp relaxed relaxed
// exit: 0
// line: sequential consistency
// run: --memory weak -i 1000 -- mp relaxed relaxed
// exit: 2
// run: --memory weak -i 1000 -- mp release acquire
// exit: 0
// run: --memory weak -s dfs --points atomic -- sb release acquire
// exit: 2
// run: --memory weak:1 -s dfs --points atomic -- sb seq_cst acquire
// exit: 2
// run: --memory weak -s dfs --points atomic -- sb seq_cst seq_cst
// exit: 0
// run: --memory weak -s dfs --points atomic -- sb_fence seq_cst relaxed
// exit: 0
// run: --memory weak -s dfs --points atomic -- sb_fence acq_rel relaxed
// exit: 2
// run: --memory weak -s dfs --points atomic -- lb relaxed relaxed
// exit: 0
// run: --memory weak -s dfs --points atomic -- corr relaxed relaxed
// exit: 0
// run: --memory weak -s dfs --points atomic -- 2+2w release relaxed
// exit: 2
// line: stores before what step
// run: --memory weak -s dfs --points atomic -- 2+2w seq_cst relaxed
// exit: 0
// run: --memory weak -i 3000 -- dekker relaxed relaxed
// exit: 2
// line: reads the value of
// run: --memory weak -i 3000 -- dekker release acquire
// exit: 2
// run: --memory weak -s dfs --points atomic -- dekker seq_cst seq_cst
// exit: 0
// run: -s dfs --points atomic -- dekker relaxed relaxed
// exit: 0
// run: --memory weak -i 3000 -- peterson relaxed relaxed
// exit: 2
// run: --memory weak -s dfs --points atomic -- peterson release acquire
// exit: 2
// run: --memory weak -s dfs --points atomic -- peterson seq_cst seq_cst
// exit: 0
// run: -s dfs --points atomic -- peterson relaxed relaxed
// exit: 0
// run: --memory weak -i 1000 -- mutex relaxed relaxed
// exit: 0
// run: --memory weak -s dpor -- sb seq_cst seq_cst
// exit: 1
// run: --memory weak --detect races -- mp release acquire
// exit: 1
// run: --memory weak --heap-points shared -- mp release acquire
// exit: 1
// run: --memory strong -- mp release acquire
// exit: 1
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static memory_order S, L;
static atomic_int x, y, turn;
static atomic_int inside;
static int r, s;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

#define ST(place, value) atomic_store_explicit(&(place), value, S)
#define LD(place) atomic_load_explicit(&(place), L)
#define RLX(place) atomic_load_explicit(&(place), memory_order_relaxed)
#define SET(place, value) atomic_store_explicit(&(place), value, memory_order_relaxed)

static void *mp1(void *a) { SET(x, 1); ST(y, 1); return a; }
static void *mp2(void *a) { r = LD(y); s = RLX(x); return a; }
static void *sb1(void *a) { ST(x, 1); r = LD(y); return a; }
static void *sb2(void *a) { ST(y, 1); s = LD(x); return a; }
static void *sbf1(void *a) { SET(x, 1); atomic_thread_fence(S); r = RLX(y); return a; }
static void *sbf2(void *a) { SET(y, 1); atomic_thread_fence(S); s = RLX(x); return a; }
static void *lb1(void *a) { r = LD(x); ST(y, 1); return a; }
static void *lb2(void *a) { s = LD(y); ST(x, 1); return a; }
static void *corr1(void *a) { ST(x, 1); return a; }
static void *corr2(void *a) { r = LD(x); s = LD(x); return a; }
static void *w1(void *a) { ST(x, 1); ST(y, 2); return a; }
static void *w2(void *a) { ST(y, 1); ST(x, 2); return a; }

// One attempt each: who comes in while the other one is inside, has broken the lock.
static void critical(void) {
  int before = atomic_fetch_add_explicit(&inside, 1, memory_order_relaxed);
  assert(before == 0);
  atomic_fetch_sub_explicit(&inside, 1, memory_order_relaxed);
}
static void *dekker1(void *a) { ST(x, 1); if (!LD(y)) { critical(); } return a; }
static void *dekker2(void *a) { ST(y, 1); if (!LD(x)) { critical(); } return a; }
static void *peterson1(void *a) {
  ST(x, 1); ST(turn, 2);
  if (!LD(y) || LD(turn) == 1) { critical(); ST(x, 0); }
  return a;
}
static void *peterson2(void *a) {
  ST(y, 1); ST(turn, 1);
  if (!LD(x) || LD(turn) == 2) { critical(); ST(y, 0); }
  return a;
}
// A mutex, creation and joining pass on what happened before.
static void *locks(void *a) {
  pthread_mutex_lock(&mutex);
  int value = RLX(x);
  SET(x, value + 1);
  pthread_mutex_unlock(&mutex);
  return a;
}

static memory_order order(const char *name) {
  if (!strcmp(name, "relaxed")) return memory_order_relaxed;
  if (!strcmp(name, "acquire")) return memory_order_acquire;
  if (!strcmp(name, "release")) return memory_order_release;
  if (!strcmp(name, "acq_rel")) return memory_order_acq_rel;
  return memory_order_seq_cst;
}

static const struct {
  const char *name;
  void *(*first)(void *), *(*second)(void *);
} programs[] = {
    {"mp", mp1, mp2},       {"sb", sb1, sb2},         {"sb_fence", sbf1, sbf2},
    {"lb", lb1, lb2},       {"corr", corr1, corr2},   {"2+2w", w1, w2},
    {"dekker", dekker1, dekker2}, {"peterson", peterson1, peterson2}, {"mutex", locks, locks},
};

int main(int count, char **list) {
  S = order(list[2]);
  L = order(list[3]);
  const char *name = list[1];
  unsigned p = 0;
  while (strcmp(programs[p].name, name)) p++;
  pthread_t a, b;
  pthread_create(&a, 0, programs[p].first, 0);
  pthread_create(&b, 0, programs[p].second, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  if (!strcmp(name, "mp")) assert(!(r == 1 && s == 0));
  if (!strncmp(name, "sb", 2)) assert(r || s);
  if (!strcmp(name, "lb")) assert(!(r && s));
  if (!strcmp(name, "corr")) assert(!(r == 1 && s == 0));
  if (!strcmp(name, "2+2w")) assert(!(RLX(x) == 1 && RLX(y) == 1));
  if (!strcmp(name, "mutex")) assert(RLX(x) == 2);
  return 0;
}
