// What was promised must be there after a crash: each of these logs breaks that in one way, which only a crash shows.
// run: -i 200 --test *_*
// exit: 5
// line: Nothing was tested: no test met a choice
// run: --test unsynced_broken --faults crash -s dfs
// exit: 2
// line: lost what was not synced: bytes 0 to 1500 of /out/log, of step
// run: --test unnamed_broken --faults crash -s dfs
// exit: 2
// line: its name of /log
// run: --test renamed_broken --faults crash -s dfs
// exit: 2
// run: --test torn_broken --faults crash -s dfs
// exit: 0
// run: --test torn_broken --faults crash -s dfs --crash-model torn
// exit: 2
// run: --test *_corrected --faults crash -s dfs --crash-model torn
// exit: 0
// run: --test *_corrected --faults crash=2 -s dfs --crash-model prefix
// exit: 0
// run: --test *_corrected --faults crash -s dfs --crash-model subset
// exit: 0
// run: --test unnamed_broken --faults crash -s dfs --crash-model prefix+ext4
// exit: 0
// run: --test unsynced_broken --faults crash -i 1000
// exit: 2
// run: --test unsynced_broken --faults crash -s dpor
// exit: 1
// run: --test unsynced_broken --fault-sweep crash
// exit: 2
// run: --test *_corrected --fault-sweep crash
// exit: 0
#include "coyote.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES 1500
#define ROOM 4096

/* What others were told: this many records are safe, in a log with sums or without. */
struct told {
  char in_root, sums, records;
};

struct record {
  unsigned length, sum;
  char text[BYTES];
};

static int opened(const char *path, int flags) {
  int file = open(path, flags, 0666);
  COYOTE_ASSERT(file >= 0);
  return file;
}

static void put(int file, const void *bytes, size_t length) {
  COYOTE_ASSERT(pwrite(file, bytes, length, 0) == (ssize_t)length);
}

static void sync_directory(const char *path) {
  int directory = opened(path, O_RDONLY | O_DIRECTORY);
  COYOTE_ASSERT(fsync(directory) == 0);
  close(directory);
}

/* What is there before the test begins is on the disk. */
COYOTE_SETUP {
  static const char zeros[ROOM];
  COYOTE_ASSERT(mkdir("/out", 0777) == 0);
  int file = opened("/out/told", O_CREAT | O_WRONLY);
  put(file, zeros, sizeof(struct told));
  close(file);
  file = opened("/out/log", O_CREAT | O_WRONLY);
  put(file, zeros, ROOM);
  close(file);
}

static void tell(struct told told) {
  int file = opened("/out/told", O_WRONLY);
  put(file, &told, sizeof told);
  COYOTE_ASSERT(fsync(file) == 0);
  close(file);
}

static unsigned sum(const char *text) {
  unsigned sum = 1;
  for (int i = 0; i < BYTES; i++) sum = sum * 31 + (unsigned char)text[i];
  return sum;
}

static void append(const char *path, int flags, int sums, int synced) {
  static struct record record;
  record.length = BYTES;
  for (int i = 0; i < BYTES; i++) record.text[i] = 'x';
  record.sum = sums ? sum(record.text) : 0;
  int file = opened(path, flags | O_WRONLY);
  put(file, synced ? (void *)&record : (void *)record.text, synced ? sizeof record : BYTES);
  if (synced) COYOTE_ASSERT(fsync(file) == 0);
  close(file);
}

COYOTE_TEST(unsynced_broken) {
  append("/out/log", 0, 1, 0);
  tell((struct told){0, 2, 1});
}

COYOTE_TEST(unnamed_broken) {
  append("/log", O_CREAT, 1, 1);
  tell((struct told){1, 1, 1});
}

COYOTE_TEST(named_corrected) {
  append("/log", O_CREAT, 1, 1);
  sync_directory("/");
  tell((struct told){1, 1, 1});
}

COYOTE_TEST(torn_broken) {
  append("/out/log", 0, 0, 1);
  tell((struct told){0, 0, 1});
}

COYOTE_TEST(summed_corrected) {
  append("/out/log", 0, 1, 1);
  tell((struct told){0, 1, 1});
}

/* A new version of a file, under its name at once. */
static void replace(int synced) {
  int file = opened("/out/new", O_CREAT | O_WRONLY);
  put(file, "new", 3);
  if (synced) COYOTE_ASSERT(fsync(file) == 0);
  close(file);
  COYOTE_ASSERT(rename("/out/new", "/out/version") == 0);
  sync_directory("/out");
}

COYOTE_TEST(renamed_broken) {
  replace(0);
}

COYOTE_TEST(renamed_corrected) {
  replace(1);
}

COYOTE_RECOVER {
  struct told told;
  static struct record record;
  int file = opened("/out/told", O_RDONLY);
  COYOTE_ASSERT(read(file, &told, sizeof told) == sizeof told);
  close(file);
  file = open(told.in_root ? "/log" : "/out/log", O_RDONLY);
  COYOTE_ASSERT_MESSAGE(file >= 0 || !told.records, "the log is gone");
  if (file >= 0) {
    read(file, &record, sizeof record);
    close(file);
  }
  if (told.sums == 2) COYOTE_ASSERT_MESSAGE(record.length != 0, "what others were told is gone");
  int there = record.length == BYTES && (record.sum == 0 || record.sum == sum(record.text));
  if (told.sums < 2) {
    COYOTE_ASSERT_MESSAGE(there || !told.records, "a record that others were told of is gone");
    COYOTE_ASSERT_MESSAGE(!there || record.text[BYTES - 1] == 'x', "half of a record is taken for one");
  }
  file = open("/out/version", O_RDONLY);
  char text[3];
  COYOTE_ASSERT_MESSAGE(file < 0 || read(file, text, 3) == 3, "the new version is empty");
  if (file >= 0) close(file);
  /* Repaired: a second crash may follow. */
  file = opened("/out/told", O_WRONLY);
  COYOTE_ASSERT(fsync(file) == 0);
  close(file);
}
