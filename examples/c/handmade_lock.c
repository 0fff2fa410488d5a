/* A ticket lock that the tool does not know, made with coyote_wait_until.
 *
 * Expected: `ticket_lock` passes. `lost_ticket` is a deadlock: a worker that gives up keeps its ticket. */
#include <coyote.h>

typedef struct {
  unsigned next, serving;
} ticket_lock_t;

typedef struct {
  ticket_lock_t *lock;
  unsigned ticket;
} turn;

static ticket_lock_t lock;
static int inside;

static int is_served(void *of) {
  turn *mine = of;
  return __atomic_load_n(&mine->lock->serving, __ATOMIC_ACQUIRE) == mine->ticket;
}

static void acquire(ticket_lock_t *of) {
  turn mine = {of, __atomic_fetch_add(&of->next, 1, __ATOMIC_RELAXED)};
  coyote_wait_until(is_served, &mine);
}

static void release(ticket_lock_t *of) {
  __atomic_fetch_add(&of->serving, 1, __ATOMIC_RELEASE);
}

static void in_lock(void) {
  COYOTE_ASSERT(++inside == 1);
  inside--;
}

static void worker(void *unused) {
  (void)unused;
  acquire(&lock);
  in_lock();
  release(&lock);
}

static void worker_gives_up(void *unused) {
  (void)unused;
  __atomic_fetch_add(&lock.next, 1, __ATOMIC_RELAXED);
}

static void both(void (*first)(void *), void (*second)(void *)) {
  coyote_thread a, b;
  coyote_thread_create(&a, first, 0);
  coyote_thread_create(&b, second, 0);
  coyote_thread_join(&a);
  coyote_thread_join(&b);
}

COYOTE_TEST(ticket_lock) {
  both(worker, worker);
}

COYOTE_TEST(lost_ticket) {
  both(worker, worker_gives_up);
}
