// A write-ahead log, with five mistakes that only faults show.
// run: -i 200 --test *_*
// exit: 0
// run: --test early_receipt --faults crash -i 500
// exit: 2
// run: --test accounts_first --faults crash -i 500
// exit: 2
// run: --test log_emptied_first --faults crash -i 500
// exit: 2
// run: --test no_sum --faults crash -i 500
// exit: 0
// run: --test no_sum --faults crash --crash-model torn -i 1000
// exit: 2
// run: --test short_write --faults crash -i 500
// exit: 0
// run: --test short_write --faults io -i 3000
// exit: 2
// run: --test short_write --fault-sweep io
// exit: 2
// run: --test ledger --fault-sweep crash
// exit: 0
// run: --test ledger --fault-sweep io
// exit: 0
// run: --test ledger --faults crash=2 -i 1000
// exit: 0
// run: --test ledger --faults io -i 1000
// exit: 0
/* A write-ahead log: two tellers move money between two accounts, and tell customers when a transfer is safe.
 *
 * A transfer is a record in the log, with what both accounts have then; once the log is synced, it is safe. The
 * accounts' file is written at a checkpoint, which empties the log. After a crash the records of
 * the log are made good.
 *
 * Expected: each of these breaks one of its rules. `early_receipt`, `accounts_first` and `log_emptied_first` are found with
 * --faults crash, `no_sum` only with --faults crash --crash-model torn, `short_write` only with --faults io. `ledger` passes with
 * all of them. Without faults all of them pass. */
#include <coyote.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MONEY 200
#define TRANSFERS 2

static struct rules {
  /* A customer is told before the log is synced. */
  int early_receipt;
  /* The accounts are written before the log is. */
  int accounts_first;
  /* A checkpoint empties the log before the accounts are synced. */
  int log_emptied_first;
  /* A record has no sum over its bytes. */
  int no_sum;
  /* What a write left out is not written. */
  int short_write;
} broken;

/* More than a sector, so that a crash can leave a part of it. */
struct record {
  int number, sum;
  char note[1000];
  int accounts[2];
};

static pthread_mutex_t lock;
static int accounts[2], records, receipts, failed;

static int sum_of(const struct record *record) {
  unsigned sum = 1;
  for (size_t i = 0; i < sizeof record->note; i++) sum = sum * 31 + (unsigned char)record->note[i];
  for (int i = 0; i < 2; i++) sum = sum * 31 + (unsigned)record->accounts[i];
  return (int)(sum * 31 + (unsigned)record->number);
}

/* All of the bytes, or -1. */
static int write_all(int file, const void *bytes, size_t length, off_t at) {
  while (length) {
    ssize_t written = pwrite(file, bytes, length, at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return -1;
    if (broken.short_write) return 0;
    bytes = (const char *)bytes + written;
    length -= (size_t)written;
    at += written;
  }
  return 0;
}

static ssize_t read_all(int file, void *bytes, size_t length, off_t at) {
  size_t got = 0;
  while (got < length) {
    ssize_t now = pread(file, (char *)bytes + got, length - got, at + (off_t)got);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return -1;
    if (now == 0) break;
    got += (size_t)now;
  }
  return (ssize_t)got;
}

static int opened(const char *path, int flags) {
  int file;
  do file = open(path, flags, 0666);
  while (file < 0 && errno == EINTR);
  return file;
}

static int synced(int file) {
  int error;
  do error = fsync(file);
  while (error && errno == EINTR);
  return error;
}

/* Writes and syncs. */
static int put(const char *path, const void *bytes, size_t length, off_t at) {
  int file = opened(path, O_WRONLY);
  if (file < 0) return -1;
  int error = write_all(file, bytes, length, at);
  if (!error) error = synced(file);
  close(file);
  return error;
}

/* Its size stays: a record is written where there is room. */
static int empty_log(void) {
  static const struct record nothing[TRANSFERS];
  return put("/ledger/log", nothing, sizeof nothing, 0);
}

static int put_accounts(void) {
  return put("/ledger/accounts", accounts, sizeof accounts, 0);
}

static int checkpoint(void) {
  if (broken.log_emptied_first) return empty_log() || put_accounts() ? -1 : 0;
  return put_accounts() || empty_log() ? -1 : 0;
}

/* Not a part of the ledger: what customers know. One to whom it cannot be said does not know. */
static void give_receipt(void) {
  receipts++;
  put("/customers", &receipts, sizeof receipts, 0);
}

static int transfer(int amount) {
  struct record record = {.number = records + 1, .accounts = {accounts[0] - amount, accounts[1] + amount}};
  memset(record.note, 'n', sizeof record.note);
  record.sum = broken.no_sum ? 0 : sum_of(&record);
  if (broken.early_receipt) give_receipt();
  if (broken.accounts_first) {
    /* One account at a time. */
    if (put("/ledger/accounts", &record.accounts[0], sizeof(int), 0)) return -1;
  }
  if (put("/ledger/log", &record, sizeof record, records * (off_t)sizeof record)) return -1;
  memcpy(accounts, record.accounts, sizeof accounts);
  records++;
  if (!broken.early_receipt) give_receipt();
  return 0;
}

static void *teller(void *amount) {
  pthread_mutex_lock(&lock);
  /* A ledger that could not be written is closed: nothing is promised any more. */
  if (!failed && transfer((int)amount)) failed = 1;
  pthread_mutex_unlock(&lock);
  return NULL;
}

/* Makes the records of the log good; how many transfers there are in all. */
static int recover(void) {
  int file = opened("/ledger/accounts", O_RDONLY);
  COYOTE_ASSERT(file >= 0 && read_all(file, accounts, sizeof accounts, 0) == sizeof accounts);
  close(file);
  file = opened("/ledger/log", O_RDONLY);
  COYOTE_ASSERT(file >= 0);
  struct record record;
  int found = 0;
  while (read_all(file, &record, sizeof record, found * (off_t)sizeof record) == sizeof record) {
    if (record.number != found + 1 || (!broken.no_sum && record.sum != sum_of(&record))) break;
    memcpy(accounts, record.accounts, sizeof accounts);
    found++;
  }
  close(file);
  return found;
}

static void check(void) {
  int told = 0;
  recover();
  int file = opened("/customers", O_RDONLY);
  COYOTE_ASSERT(file >= 0);
  read_all(file, &told, sizeof told, 0);
  close(file);
  COYOTE_ASSERT_MESSAGE(accounts[0] + accounts[1] == MONEY, "money is lost or made");
  COYOTE_ASSERT_MESSAGE(MONEY / 2 - accounts[0] >= 10 * told, "a transfer is gone that a customer was told of");
}

/* What is there before the test is on the disk. */
COYOTE_SETUP {
  accounts[0] = accounts[1] = MONEY / 2;
  COYOTE_ASSERT(mkdir("/ledger", 0777) == 0);
  const char *names[] = {"/ledger/accounts", "/ledger/log", "/customers", "/broken"};
  for (int i = 0; i < 4; i++) close(open(names[i], O_CREAT | O_WRONLY, 0666));
  COYOTE_ASSERT(put_accounts() == 0 && empty_log() == 0);
}

static void run(struct rules rules) {
  broken = rules;
  /* After a crash the same program starts again. */
  while (put("/broken", &broken, sizeof broken, 0)) {
  }
  pthread_mutex_init(&lock, NULL);
  pthread_t threads[TRANSFERS];
  for (int i = 0; i < TRANSFERS; i++) pthread_create(&threads[i], NULL, teller, (void *)10);
  for (int i = 0; i < TRANSFERS; i++) pthread_join(threads[i], NULL);
  if (!failed) failed = checkpoint();
  coyote_fault_stop();
  check();
}

COYOTE_RECOVER {
  int file = opened("/broken", O_RDONLY);
  COYOTE_ASSERT(file >= 0);
  read_all(file, &broken, sizeof broken, 0);
  close(file);
  check();
  /* A second crash finds the same. */
  COYOTE_ASSERT(checkpoint() == 0);
  check();
}

COYOTE_TEST(ledger) {
  run((struct rules){0});
}

COYOTE_TEST(early_receipt) {
  run((struct rules){.early_receipt = 1});
}

COYOTE_TEST(accounts_first) {
  run((struct rules){.accounts_first = 1});
}

COYOTE_TEST(log_emptied_first) {
  run((struct rules){.log_emptied_first = 1});
}

COYOTE_TEST(no_sum) {
  run((struct rules){.no_sum = 1});
}

COYOTE_TEST(short_write) {
  run((struct rules){.short_write = 1});
}
