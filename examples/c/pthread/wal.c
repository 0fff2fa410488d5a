/* A write-ahead log, with six mistakes that one kind of fault each shows.
 *
 * A page has an entry for each of two workers. A transaction changes one of them, and is appended to the log as a record; it
 * is committed once the log is synced, which one worker does for all that have appended by then. When the log is full, the
 * page is written to its own file, and the log is used from its beginning again: records that are left over from before
 * have numbers that do not continue the new ones. Starting again reads the page, and then what is in the log.
 *
 * Of each commit a customer is told, in a file of its own. When the files are read again, after a crash or at the end of a
 * test, the page must have what customers were told, and no half of an entry.
 *
 * Expected: without faults all tests pass. `sync_for_all` and `page_unsynced` are found with --faults crash=1, `no_sum`
 * with --faults crash=1 --crash-model torn, and with --faults io=1: `short_write` by a short write, `full_disk` by ENOSPC,
 * `read_error` by EIO. `write_ahead_log` passes with all classes.
 *
 * flags: -D_GNU_SOURCE -mexec-model=reactor */
#include <coyote.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define WORKERS 2
#define COMMITS 2
/* Records that the log has room for. */
#define ROOM 3

static struct mistakes {
  /* Who has synced takes all records for synced, also those that were appended since it began. */
  int sync_for_all;
  /* The page is not synced before the log is used from its beginning again. */
  int page_unsynced;
  /* Records have no sum over their bytes. */
  int no_sum;
  /* What a write has left out is not written. */
  int short_write;
  /* A transaction that the disk has no room for keeps its number. */
  int full_disk;
  /* The log is taken to end where it cannot be read. */
  int read_error;
} mistakes;

/* More than a sector, so that a part of it can be lost. */
struct entry {
  int commits;
  char text[600];
  int commits_again;
};

struct record {
  int number;
  /* 0 if it has none. */
  unsigned sum;
  int worker;
  struct entry entry;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t synced_or_failed = PTHREAD_COND_INITIALIZER;
static struct entry page[WORKERS];
/* Numbers of the last record, and of the last that is synced. */
static int last, synced;
/* Records in the log. */
static int used;
static int syncing;
/* A file could not be written or synced: nobody knows what is in it until it is read again. */
static int failed;
static int log_file, page_file, told_file;

static unsigned sum_of(const struct record *record) {
  unsigned words[sizeof record->entry / sizeof(unsigned)];
  memcpy(words, &record->entry, sizeof words);
  unsigned sum = (unsigned)(record->number * WORKERS + record->worker);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) sum = sum * 31 + words[i];
  return sum ? sum : 1;
}

static int write_all(int file, const void *bytes, size_t length, off_t at) {
  for (size_t done = 0; done < length;) {
    ssize_t now = pwrite(file, (const char *)bytes + done, length - done, at + (off_t)done);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return -1;
    done += mistakes.short_write ? length : (size_t)now;
  }
  return 0;
}

/* How many bytes there are, or -1. */
static ssize_t read_all(int file, void *bytes, size_t length, off_t at) {
  size_t done = 0;
  while (done < length) {
    ssize_t now = pread(file, (char *)bytes + done, length - done, at + (off_t)done);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return -1;
    if (now == 0) break;
    done += (size_t)now;
  }
  return (ssize_t)done;
}

static int sync_file(int file) {
  int error;
  do error = fsync(file);
  while (error && errno == EINTR);
  return error;
}

/* Writes the page to its own file, so that the log has room again. What is in the page must be in the log before: else the
 * log could be older than the page. */
static int checkpoint(void) {
  if (sync_file(log_file)) return failed = -1;
  synced = last;
  if (write_all(page_file, page, sizeof page, 0)) return -1;
  if (!mistakes.page_unsynced && sync_file(page_file)) return failed = -1;
  used = 0;
  return 0;
}

/* Appends an entry to the log: the record's number, or -1. */
static int append(int worker, const struct entry *entry) {
  struct record record;
  if (used == ROOM && checkpoint()) return -1;
  record.number = last + 1;
  record.worker = worker;
  record.entry = *entry;
  record.sum = mistakes.no_sum ? 0 : sum_of(&record);
  if (mistakes.full_disk) last++;
  if (write_all(log_file, &record, sizeof record, used * (off_t)sizeof record)) return -1;
  last = record.number;
  used++;
  return last;
}

/* Waits until the record of this number is synced, or syncs it. */
static int wait_for_sync(int number) {
  while (synced < number && !failed) {
    if (syncing) {
      pthread_cond_wait(&synced_or_failed, &lock);
      continue;
    }
    syncing = 1;
    int until = last;
    pthread_mutex_unlock(&lock);
    int error = sync_file(log_file);
    pthread_mutex_lock(&lock);
    syncing = 0;
    if (error) failed = 1;
    if (!error) synced = mistakes.sync_for_all ? last : until;
    pthread_cond_broadcast(&synced_or_failed);
  }
  return failed ? -1 : 0;
}

/* Whether it is committed. If not, it may still be there when the log is read again. */
static int commit(int worker) {
  pthread_mutex_lock(&lock);
  while (syncing && used == ROOM) pthread_cond_wait(&synced_or_failed, &lock);
  int committed = 0;
  if (!failed) {
    struct entry entry = page[worker];
    entry.commits_again = ++entry.commits;
    int number = append(worker, &entry);
    if (number > 0) {
      page[worker] = entry;
      committed = wait_for_sync(number) == 0;
    } else if (errno != ENOSPC) {
      failed = 1;
    }
  }
  pthread_mutex_unlock(&lock);
  return committed;
}

static void *work(void *argument) {
  int worker = (int)argument, told = 0;
  for (int i = 0; i < COMMITS; i++) {
    if (!commit(worker)) continue;
    told++;
    /* Who could not be told does not know. */
    if (!write_all(told_file, &told, sizeof told, worker * (off_t)sizeof told)) sync_file(told_file);
  }
  return NULL;
}

/* Reads the page and the log. */
static int recover(void) {
  struct record record;
  if (read_all(page_file, page, sizeof page, 0) < 0) return -1;
  for (used = 0; used < ROOM; used++) {
    ssize_t length = read_all(log_file, &record, sizeof record, used * (off_t)sizeof record);
    if (length < 0 && !mistakes.read_error) return -1;
    if (length != sizeof record || record.number < 1) break;
    if (used && record.number != last + 1) break;
    if (record.sum && record.sum != sum_of(&record)) break;
    page[record.worker] = record.entry;
    last = record.number;
  }
  return 0;
}

static void check(void) {
  int told[WORKERS] = {0};
  while (read_all(told_file, told, sizeof told, 0) < 0) {
  }
  for (int i = 0; i < WORKERS; i++) {
    COYOTE_ASSERT_MESSAGE(page[i].commits == page[i].commits_again, "half of an entry is there");
    COYOTE_ASSERT_MESSAGE(page[i].commits >= told[i], "a commit is gone that a customer was told of");
  }
}

static int opened(const char *name) {
  int file = open(name, O_CREAT | O_RDWR, 0666);
  COYOTE_ASSERT(file >= 0);
  return file;
}

/* What is there before the test is on the disk, and what is open then is open after a crash. */
COYOTE_SETUP {
  static const struct record none[ROOM];
  log_file = opened("/log");
  page_file = opened("/page");
  told_file = opened("/told");
  COYOTE_ASSERT(write_all(log_file, none, sizeof none, 0) == 0);
  COYOTE_ASSERT(write_all(page_file, page, sizeof page, 0) == 0);
}

static void run(struct mistakes of_the_test) {
  pthread_t other;
  mistakes = of_the_test;
  int error = pthread_create(&other, NULL, work, (void *)1);
  work((void *)0);
  if (!error) pthread_join(other, NULL);
  while (recover()) {
  }
  coyote_fault_stop();
  check();
}

COYOTE_RECOVER {
  while (recover()) {
  }
  check();
  /* A second crash finds the same. */
  checkpoint();
  while (recover()) {
  }
  coyote_fault_stop();
  check();
}

COYOTE_TEST(write_ahead_log) {
  run((struct mistakes){0});
}

COYOTE_TEST(sync_for_all) {
  run((struct mistakes){.sync_for_all = 1});
}

COYOTE_TEST(page_unsynced) {
  run((struct mistakes){.page_unsynced = 1});
}

COYOTE_TEST(no_sum) {
  run((struct mistakes){.no_sum = 1});
}

COYOTE_TEST(short_write) {
  run((struct mistakes){.short_write = 1});
}

COYOTE_TEST(full_disk) {
  run((struct mistakes){.full_disk = 1});
}

COYOTE_TEST(read_error) {
  run((struct mistakes){.read_error = 1});
}
