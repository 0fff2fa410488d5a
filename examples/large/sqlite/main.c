/* SQLite at work on a database in memory, once through most of its parts: the parser, the planner, the
 * virtual machine, B-trees with splits and merges, sorting, aggregates, triggers, rollback. What it
 * prints is the same on every platform.
 */
#include <stdio.h>
#include <stdlib.h>
#include "sqlite3.h"

#ifndef ROWS
#define ROWS 200
#endif

static sqlite3 *db;

static void failed(const char *sql) {
  printf("FAILED: %s: %s\n", sql, sqlite3_errmsg(db));
  exit(1);
}

/* Prints a row for every row of the result. */
static void run(const char *sql) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) failed(sql);
  while (sqlite3_step(statement) == SQLITE_ROW) {
    int columns = sqlite3_column_count(statement);
    for (int i = 0; i < columns; i++) {
      const unsigned char *text = sqlite3_column_text(statement, i);
      printf(i ? "|%s" : "%s", text ? (const char *)text : "NULL");
    }
    printf("\n");
  }
  if (sqlite3_finalize(statement) != SQLITE_OK) failed(sql);
}

/* Pseudo-random, and always the same. */
static unsigned next(unsigned *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 16;
}

static void insert_items(void) {
  const char *sql = "INSERT INTO item(id, kind, weight, name) VALUES(?1, ?2, ?3, ?4)";
  sqlite3_stmt *statement;
  unsigned state = 1;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) failed(sql);
  for (int i = 1; i <= ROWS; i++) {
    char name[48];
    snprintf(name, sizeof name, "item %05u of %d", next(&state) % 100000, i);
    sqlite3_bind_int(statement, 1, i);
    sqlite3_bind_int(statement, 2, (int)(next(&state) % 7));
    sqlite3_bind_double(statement, 3, next(&state) % 1000 / 8.0);
    sqlite3_bind_text(statement, 4, name, -1, SQLITE_TRANSIENT);
    if (sqlite3_step(statement) != SQLITE_DONE) failed(sql);
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
}

int main(void) {
  printf("SQLite %s\n", sqlite3_libversion());
  if (sqlite3_open(":memory:", &db) != SQLITE_OK) failed("open");

  run("CREATE TABLE kind(id INTEGER PRIMARY KEY, label TEXT UNIQUE)");
  run("CREATE TABLE item(id INTEGER PRIMARY KEY, kind INT REFERENCES kind, weight REAL, name TEXT)");
  run("CREATE INDEX item_by_kind ON item(kind, weight)");
  run("CREATE TABLE log(item INT, what TEXT)");
  run("CREATE TRIGGER deleted AFTER DELETE ON item BEGIN INSERT INTO log VALUES(old.id, 'gone'); END");
  run("BEGIN");
  run("INSERT INTO kind VALUES(0,'ash'),(1,'birch'),(2,'cedar'),(3,'elm'),(4,'fir'),(5,'oak'),(6,'yew')");
  insert_items();
  run("COMMIT");

  run("SELECT count(*), sum(weight), min(name), max(name) FROM item");
  run("SELECT label, count(*), round(avg(weight), 3), max(weight) FROM item JOIN kind ON kind.id = kind"
      " GROUP BY label HAVING count(*) > 1 ORDER BY 2 DESC, label");
  run("SELECT a.id, b.id FROM item a JOIN item b ON b.kind = a.kind AND b.weight = a.weight AND b.id > a.id"
      " ORDER BY a.id, b.id LIMIT 5");
  run("WITH RECURSIVE fib(n, a, b) AS (SELECT 1, 0, 1 UNION ALL SELECT n + 1, b, a + b FROM fib WHERE n < 40)"
      " SELECT n, a FROM fib WHERE n % 10 = 0");
  run("SELECT name, rank() OVER (PARTITION BY kind ORDER BY weight DESC, id) AS r FROM item"
      " WHERE kind = 3 ORDER BY r LIMIT 3");
  run("SELECT upper(label) || '-' || hex(label), length(label), label LIKE '%r%' FROM kind WHERE id IN"
      " (SELECT kind FROM item WHERE weight > 120) ORDER BY label");
  run("UPDATE item SET weight = weight * 2, name = replace(name, 'item', 'thing') WHERE id % 3 = 0");
  run("DELETE FROM item WHERE kind = 2 OR weight BETWEEN 40 AND 60");
  run("SELECT count(*), sum(weight), (SELECT count(*) FROM log) FROM item");
  run("SAVEPOINT here");
  run("DELETE FROM item");
  run("ROLLBACK TO here");
  run("SELECT count(*), group_concat(id) FROM (SELECT id FROM item ORDER BY weight, id LIMIT 8)");
  run("SELECT json_extract('{\"a\": [1, 2, {\"b\": \"deep\"}]}', '$.a[2].b'), printf('%.3f|%08x', 2.5, 48879)");
  run("RELEASE here");
  run("VACUUM");
  run("PRAGMA integrity_check");
  if (sqlite3_close(db) != SQLITE_OK) failed("close");
  printf("done\n");
  return 0;
}
