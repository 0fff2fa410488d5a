// Tasks of C: callbacks that continue each other, wait for each other and are found waiting.
// flags: -g -O1
// run: -s dpor --test in_order
// exit: 0
// line: ... All
// run: -s dpor --test all_that_wait
// exit: 0
// line: ... All
// run: -s dpor --test set_before
// exit: 0
// line: ... All
// run: -s dpor --test used_again
// exit: 0
// line: ... All
// run: --test at_once
// exit: 2
// line: bug in test at_once: assertion: tasks.c:86: assertion failed: counter == 2
// run: --test never_set
// exit: 2
// line: bug in test never_set: deadlock: 2 workers are blocked and nobody is left to wake them
// line: worker 0 awaits the task made at tasks.c:93
// line: worker 0.0 (waits) awaits the completion made at tasks.c:92
// run: -s pct-t:1 -i 20 --points sync --timers ordered --test one_passes_the_other
// exit: 2
// line: bug in test one_passes_the_other: assertion:
#include <coyote_task.h>

static coyote_completion opened;
static int counter;

static void add(void *amount) {
  int before = __atomic_load_n(&counter, __ATOMIC_SEQ_CST);
  __atomic_store_n(&counter, before + *(int *)amount, __ATOMIC_SEQ_CST);
}

static void await_opened(void *unused) {
  (void)unused;
  coyote_completion_await(&opened);
  __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
}

// A callback sees what the one before it has written.
COYOTE_TEST(in_order) {
  int one = 1, ten = 10;
  coyote_task first, second;
  coyote_task_spawn(&first, add, &one);
  coyote_task_then(&second, &first, add, &ten);
  coyote_task_join(&second);
  coyote_task_join(&first);
  COYOTE_ASSERT(counter == 11);
}

COYOTE_TEST(all_that_wait) {
  coyote_task tasks[3];
  coyote_completion_init(&opened);
  for (int i = 0; i < 2; i++) {
    coyote_task_spawn(&tasks[i], await_opened, NULL);
  }
  COYOTE_ASSERT(counter == 0);
  coyote_completion_set(&opened);
  for (int i = 0; i < 2; i++) {
    coyote_task_await(&tasks[i]);
  }
  COYOTE_ASSERT(counter == 2);
}

COYOTE_TEST(set_before) {
  coyote_completion_init(&opened);
  coyote_completion_set(&opened);
  coyote_completion_set(&opened);
  coyote_completion_await(&opened);
  coyote_task task;
  coyote_task_spawn(&task, await_opened, NULL);
  coyote_task_await(&task);
  coyote_task_join(&task);
}

// Two callbacks at once lose one of their additions.
COYOTE_TEST(at_once) {
  int one = 1;
  coyote_task a, b;
  coyote_task_spawn(&a, add, &one);
  coyote_task_spawn(&b, add, &one);
  coyote_task_await(&a);
  coyote_task_await(&b);
  COYOTE_ASSERT(counter == 2);
}

// The second task waits in vain.
COYOTE_TEST(never_set) {
  coyote_task waits;
  coyote_completion_init(&opened);
  coyote_task_spawn(&waits, await_opened, NULL);
  coyote_task_set_name(&waits, "waits");
  coyote_task_await(&waits);
}

static void nothing(void *unused) {
  (void)unused;
}

// A completion or task that is used again has not happened yet.
COYOTE_TEST(used_again) {
  coyote_task task;
  for (int round = 1; round <= 2; round++) {
    coyote_completion_init(&opened);
    coyote_task_spawn(&task, await_opened, NULL);
    COYOTE_ASSERT(counter == round - 1);
    coyote_completion_set(&opened);
    coyote_task_join(&task);
    COYOTE_ASSERT(counter == round);
  }
  coyote_task_spawn(&task, nothing, NULL);
  coyote_task_join(&task);
}

#define STAGES 30

typedef struct {
  coyote_completion begun;
  coyote_task stages[STAGES], client;
  int settled;
} order;

static order orders[2];

static void await_begin(void *own) {
  coyote_completion_await(&((order *)own)->begun);
}

static void settle(void *own) {
  __atomic_store_n(&((order *)own)->settled, 1, __ATOMIC_SEQ_CST);
}

static void begin(void *own) {
  if (own == &orders[0]) {
    COYOTE_ASSERT(!__atomic_load_n(&orders[1].settled, __ATOMIC_SEQ_CST));
  }
  coyote_completion_set(&((order *)own)->begun);
  coyote_task_await(&((order *)own)->stages[STAGES - 1]);
}

// The second order is settled, after all of its stages, before the first one begins.
COYOTE_TEST(one_passes_the_other) {
  for (order *own = orders; own < orders + 2; own++) {
    coyote_completion_init(&own->begun);
    coyote_task_spawn(&own->stages[0], await_begin, own);
    for (int i = 1; i < STAGES; i++) {
      coyote_task_then(&own->stages[i], &own->stages[i - 1], i == STAGES - 1 ? settle : nothing, own);
    }
  }
  // By then, all stages wait.
  coyote_sleep_ns(1000000);
  coyote_task_spawn(&orders[0].client, begin, &orders[0]);
  coyote_task_spawn(&orders[1].client, begin, &orders[1]);
  coyote_task_await(&orders[0].client);
  coyote_task_await(&orders[1].client);
}
