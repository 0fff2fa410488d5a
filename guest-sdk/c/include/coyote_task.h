/* coyote_task.h: tasks for C and C++ guests of coyote-wasm. Header only.
 *
 * A task is a callback and its argument. It is a worker, which takes part in every schedule. A callback waits by
 * coyote_task_await or coyote_completion_await, or is given to coyote_task_then to run afterwards; coyote_yield lets others run.
 * There is no loop that would order the callbacks; if the program has one, test that loop.
 *
 *     static void fetch(void *request) { .. }
 *     static void answer(void *request) { .. }
 *
 *     COYOTE_TEST(requests) {
 *       coyote_task fetched, answered;
 *       coyote_task_spawn(&fetched, fetch, &request);
 *       coyote_task_then(&answered, &fetched, answer, &request);
 *       coyote_task_await(&answered);
 *     }
 *
 * For `pct-t`, a callback that was woken goes on with the priority of who woke it: a chain of callbacks is one worker, as
 * it is of tasks in Rust. Reports name what a callback awaits, with the place where that was made. Functions that create
 * tasks return 0, or -1 if there is no memory for the stack. A coyote_task or coyote_completion must not be moved or freed
 * until all calls with it have returned, and of a coyote_task the callback; it may be initialised or spawned again then.
 */
#ifndef COYOTE_TASK_H
#define COYOTE_TASK_H

#include <coyote.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Completions: what happens once, and who waits for it ---- */

typedef struct {
  char place; /* a semaphore; never read or written */
  const char *what;
  const char *file;
  int line;
} coyote_completion;

/* Initialises a completion: nothing has happened. */
#define coyote_completion_init(completion) \
  coyote_completion_init_at(completion, "completion", __FILE_NAME__, __LINE__)

static inline void coyote_completion_init_at(coyote_completion *completion, const char *what, const char *file,
                                             int line) {
  completion->what = what;
  completion->file = file;
  completion->line = line;
  coyote_raw_semaphore_init(coyote_address(&completion->place), 0);
}

/* Says that it has happened. What came before happens before what follows an await. A second call has no effect. */
static inline void coyote_completion_set(coyote_completion *completion) {
  coyote_raw_semaphore_post(coyote_address(&completion->place));
}

/* Blocks until it has happened. Any number of workers may wait, any number of times. */
static inline void coyote_completion_await(coyote_completion *completion) {
  uint32_t semaphore = coyote_address(&completion->place);
  coyote_raw_awaits(semaphore, coyote_address(completion->what), coyote_text_length(completion->what),
                    coyote_address(completion->file), coyote_text_length(completion->file),
                    (uint32_t)completion->line, semaphore, 0);
  coyote_raw_semaphore_wait(semaphore, -1);
  /* For the next one who waits. */
  coyote_raw_semaphore_post(semaphore);
}

/* ---- Tasks ---- */

typedef struct coyote_task {
  coyote_thread thread;
  void (*callback)(void *argument);
  void *argument;
  struct coyote_task *after; /* or NULL */
  coyote_completion ended;
} coyote_task;

static inline void coyote_task_run(void *started) {
  coyote_task *task = (coyote_task *)started;
  if (task->after) {
    coyote_completion_await(&task->after->ended);
  }
  task->callback(task->argument);
  coyote_completion_set(&task->ended);
}

static inline int coyote_task_start(coyote_task *task, coyote_task *after, void (*callback)(void *), void *argument,
                                    const char *file, int line) {
  task->callback = callback;
  task->argument = argument;
  task->after = after;
  coyote_completion_init_at(&task->ended, "task", file, line);
  return coyote_thread_create(&task->thread, coyote_task_run, task);
}

/* Starts a task. */
#define coyote_task_spawn(task, callback, argument) \
  coyote_task_start(task, NULL, callback, argument, __FILE_NAME__, __LINE__)

/* Starts a task that begins once another one has ended. */
#define coyote_task_then(task, after, callback, argument) \
  coyote_task_start(task, after, callback, argument, __FILE_NAME__, __LINE__)

/* Sets the task's name in reports. */
static inline void coyote_task_set_name(coyote_task *task, const char *name) {
  coyote_thread_set_name(&task->thread, name);
}

/* Blocks until the task's callback has returned. Any number of workers may wait, any number of times. */
static inline void coyote_task_await(coyote_task *task) {
  coyote_completion_await(&task->ended);
}

/* The same, and frees the stack, which is leaked otherwise. One worker may call it, once. */
static inline void coyote_task_join(coyote_task *task) {
  coyote_completion_await(&task->ended);
  coyote_thread_join(&task->thread);
}

#ifdef __cplusplus
}
#endif

#endif
