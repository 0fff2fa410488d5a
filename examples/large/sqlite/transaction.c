/* A transaction of SQLite on a file, through its own VFS and WASI's files, on which calls may fail (--fault-sweep io).
 *
 * Money moves between accounts in one transaction. Whatever fails: if SQLite says that the transaction was committed, its
 * rows are there, if it does not, either all of it is there or nothing; and the file passes integrity_check once it is
 * opened again without faults.
 *
 * After a crash (--fault-sweep crash) the same holds, where others were told that it was committed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "coyote.h"
#include "sqlite3.h"

#define ACCOUNTS 20

static const char *path = "/bank.db";

static sqlite3 *open_bank(void) {
  sqlite3 *bank = NULL;
  /* One process, so without locks, which WASI does not have. */
  int code = sqlite3_open_v2(path, &bank, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "unix-none");
  if (code != SQLITE_OK) {
    sqlite3_close(bank);
    return NULL;
  }
  return bank;
}

static int number(sqlite3 *bank, const char *sql) {
  sqlite3_stmt *statement = NULL;
  int result = -1;
  if (sqlite3_prepare_v2(bank, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
    result = sqlite3_column_int(statement, 0);
  }
  sqlite3_finalize(statement);
  return result;
}

static int is_sound(sqlite3 *bank) {
  sqlite3_stmt *statement = NULL;
  int sound = 0;
  if (sqlite3_prepare_v2(bank, "PRAGMA integrity_check", -1, &statement, NULL) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW) {
    sound = strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0;
  }
  sqlite3_finalize(statement);
  return sound;
}

#define CHECK COYOTE_ASSERT_MESSAGE

static int exec(sqlite3 *bank, const char *sql) {
  return sqlite3_exec(bank, sql, NULL, NULL, NULL);
}

/* The accounts before any fault. Faults may strike here as well: what fails here ends the
 * test. */
static int prepare(void) {
  sqlite3 *bank = open_bank();
  int done = bank != NULL && exec(bank, "CREATE TABLE account(id INTEGER PRIMARY KEY, money INT, note TEXT)") == SQLITE_OK &&
             exec(bank, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)"
                        " INSERT INTO account SELECT i, 100, hex(zeroblob(200)) FROM n") == SQLITE_OK;
  done = sqlite3_close(bank) == SQLITE_OK && done;
  return done;
}

static int transfer(sqlite3 *bank) {
  if (exec(bank, "BEGIN IMMEDIATE") != SQLITE_OK) return 0;
  int done = exec(bank, "UPDATE account SET money = money - 30, note = hex(zeroblob(300)) WHERE id <= 10") == SQLITE_OK &&
             exec(bank, "UPDATE account SET money = money + 30 WHERE id > 10") == SQLITE_OK;
  if (done && exec(bank, "COMMIT") == SQLITE_OK) return 1;
  exec(bank, "ROLLBACK");
  return 0;
}

/* What the file holds once nothing fails any more. */
static void inspect(int committed) {
  sqlite3 *bank = open_bank();
  CHECK(bank != NULL, "the database cannot be opened again");
  CHECK(is_sound(bank), "integrity_check says that the file is damaged");
  int moved = number(bank, "SELECT count(*) FROM account WHERE id <= 10 AND money = 70");
  moved += number(bank, "SELECT count(*) FROM account WHERE id > 10 AND money = 130");
  CHECK(number(bank, "SELECT count(*) FROM account") == ACCOUNTS, "accounts are missing");
  CHECK(number(bank, "SELECT sum(money) FROM account") == 100 * ACCOUNTS, "money was lost or made");
  CHECK(moved == 0 || moved == ACCOUNTS, "a part of the transaction is there");
  CHECK(!committed || moved == ACCOUNTS, "a transaction that was committed is not there");
  sqlite3_close(bank);
}

static void transact(const char *mode) {
  path = "/bank.db";
  if (!prepare()) return;
  sqlite3 *bank = open_bank();
  int committed = 0;
  if (bank != NULL && exec(bank, mode) == SQLITE_OK) {
    committed = transfer(bank);
    /* Rows are right for the one who goes on, too. */
    int sum = number(bank, "SELECT sum(money) FROM account");
    CHECK(sum == -1 || sum == 100 * ACCOUNTS, "a reader sees a part of the transaction");
  }
  sqlite3_close(bank);
  coyote_fault_stop();
  inspect(committed);
}

COYOTE_TEST(transaction) {
  transact("PRAGMA journal_mode=DELETE");
}

/* What the journal is for. */
COYOTE_TEST(without_journal) {
  transact("PRAGMA journal_mode=OFF");
}

/* The accounts before a crash, and what others were told. */
COYOTE_SETUP {
  path = "/kept.db";
  CHECK(prepare(), "the database cannot be made");
  close(open("/told", O_CREAT | O_WRONLY, 0666));
}

static void crash(const char *synchronous) {
  path = "/kept.db";
  sqlite3 *bank = open_bank();
  CHECK(bank != NULL, "the database cannot be opened");
  CHECK(exec(bank, synchronous) == SQLITE_OK, "SQLite does not know this");
  if (transfer(bank)) {
    int told = open("/told", O_WRONLY);
    CHECK(write(told, "committed", 9) == 9 && fsync(told) == 0, "nothing was told");
    close(told);
  }
  sqlite3_close(bank);
}

/* SQLite syncs the directory after it has removed the journal. */
COYOTE_TEST(crashing) {
  crash("PRAGMA synchronous=EXTRA");
}

/* It does not, as its documentation says: the journal can be there again, and undoes what was committed. */
COYOTE_TEST(crashing_full) {
  crash("PRAGMA synchronous=FULL");
}

/* It syncs nothing. */
COYOTE_TEST(crashing_unsynced) {
  crash("PRAGMA synchronous=OFF");
}

COYOTE_RECOVER {
  char text[9];
  int told = open("/told", O_RDONLY);
  int committed = read(told, text, sizeof text) == sizeof text;
  close(told);
  path = "/kept.db";
  inspect(committed);
}
