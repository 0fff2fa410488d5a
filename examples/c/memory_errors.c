/* Errors in the use of malloc and free that only some schedules show, and each without.
 *
 * Expected: `use_after_free`, `double_free`, `invalid_free` and `heap_overflow` are bugs of that kind, and
 * with --leaks so is `leak`. Those that end in `_fixed` pass. */
#include <coyote.h>
#include <stdlib.h>
#include <string.h>

static coyote_mutex lock = COYOTE_MUTEX_INIT;

static void both(void (*a)(void *), void (*b)(void *)) {
  coyote_thread first, second;
  coyote_thread_create(&first, a, NULL);
  coyote_thread_create(&second, b, NULL);
  coyote_thread_join(&first);
  coyote_thread_join(&second);
}

/* One worker takes a message out of a mailbox and frees it, another one reads it. */
struct message {
  char text[20];
  int length;
};

static struct message *mailbox;
static volatile int seen;

static void post(void) {
  mailbox = calloc(1, sizeof *mailbox);
  mailbox->length = 5;
}

static void discard(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock);
  struct message *message = mailbox;
  mailbox = NULL;
  coyote_mutex_unlock(&lock);
  free(message);
}

static void read_late(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock);
  struct message *message = mailbox;
  coyote_mutex_unlock(&lock);
  if (message) {
    seen = message->length; /* the bug: outside of the lock */
  }
}

static void read_locked(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock);
  if (mailbox) {
    seen = mailbox->length;
  }
  coyote_mutex_unlock(&lock);
}

COYOTE_TEST(use_after_free) {
  post();
  both(discard, read_late);
}

COYOTE_TEST(use_after_free_fixed) {
  post();
  both(discard, read_locked);
}

/* Two workers that both clean up. */
static void *volatile resource;

static void clean_up(void *unused) {
  (void)unused;
  if (resource) {
    free(resource); /* the bug: the other worker may be here too */
    resource = NULL;
  }
}

static void clean_up_locked(void *unused) {
  coyote_mutex_lock(&lock);
  clean_up(unused);
  coyote_mutex_unlock(&lock);
}

COYOTE_TEST(double_free) {
  resource = malloc(40);
  both(clean_up, clean_up);
}

COYOTE_TEST(double_free_fixed) {
  resource = malloc(40);
  both(clean_up_locked, clean_up_locked);
}

/* A worker walks through a text, another one frees it. */
static char *text;
static char *volatile cursor;

static void walk(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock);
  if (text) {
    cursor = text;
    cursor++;
    seen = *cursor;
    cursor--;
  }
  coyote_mutex_unlock(&lock);
}

static void drop_cursor(void *unused) {
  (void)unused;
  char *start = cursor; /* the bug: it need not be the start */
  coyote_mutex_lock(&lock);
  text = NULL;
  free(start);
  coyote_mutex_unlock(&lock);
}

static void drop_text(void *unused) {
  (void)unused;
  coyote_mutex_lock(&lock);
  free(text);
  text = NULL;
  coyote_mutex_unlock(&lock);
}

static void write_text(void) {
  text = malloc(9);
  strcpy(text, "coyote");
  cursor = text;
}

COYOTE_TEST(invalid_free) {
  write_text();
  both(walk, drop_cursor);
}

COYOTE_TEST(invalid_free_fixed) {
  write_text();
  both(walk, drop_text);
}

/* Two workers append to an array that has room for one of them. */
#define CAPACITY 4
static int *volatile items;
static volatile unsigned count;

static void append(void *unused) {
  (void)unused;
  if (count < CAPACITY) {
    unsigned at = count; /* the bug: it may have grown since */
    count = at + 1;
    items[at] = 7;
  }
}

static void append_locked(void *unused) {
  coyote_mutex_lock(&lock);
  append(unused);
  coyote_mutex_unlock(&lock);
}

static void fill(void) {
  items = malloc(CAPACITY * sizeof *items);
  count = CAPACITY - 1;
}

COYOTE_TEST(heap_overflow) {
  fill();
  both(append, append);
}

COYOTE_TEST(heap_overflow_fixed) {
  fill();
  both(append_locked, append_locked);
}

/* Whoever comes first makes what both need. */
static int *volatile lazy;

static void use(void *unused) {
  (void)unused;
  if (!lazy) {
    int *made = malloc(sizeof *made); /* the bug: so may the other worker */
    *made = 1;
    lazy = made;
  }
}

static void use_locked(void *unused) {
  coyote_mutex_lock(&lock);
  use(unused);
  coyote_mutex_unlock(&lock);
}

COYOTE_TEST(leak) { both(use, use); }

COYOTE_TEST(leak_fixed) { both(use_locked, use_locked); }
