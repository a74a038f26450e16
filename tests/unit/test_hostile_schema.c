/* A file whose schema somebody made: tables of Tidemark that are views or virtual tables and read what reads them, have
 * other columns or triggers, partition tables in a ring. Every answer is an error in words or rows; the stack does not
 * end, and DROP TABLE works. */
#define _GNU_SOURCE
#include "hostile_db.h"

static const char count[] = "SELECT count(*) FROM logs";

/* In the place of a table stands an entry of that type and SQL; the table goes on as "real", and its triggers are gone. */
static void put_in_place(const char *table, const char *type, const char *sql) {
  damage("PRAGMA writable_schema = ON;"
         "DELETE FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = '%q';"
         "UPDATE sqlite_schema SET name = 'real', sql = replace(sql, '%q', 'real') WHERE name = '%q';"
         "UPDATE sqlite_schema SET tbl_name = 'real', name = iif(type = 'index', replace(name, '%q', 'real'), name)"
         "  WHERE tbl_name = '%q';"
         "INSERT INTO sqlite_schema(type, name, tbl_name, rootpage, sql) VALUES (%Q, '%q', '%q', 0, %Q)",
         table, table, table, table, table, type, table, table, sql);
}

START_TEST(views_that_read_the_dataset) {
  static const char *const views[][2] = {
      {"logs_tail", "SELECT since AS last_since, 1 AS partition, since AS first_since, 1 AS rows, x AS data FROM logs"},
      {"logs_deleted", "SELECT since, 1 AS partition FROM logs"},
      {"logs_partition", "SELECT real.* FROM real JOIN logs ON since = id"},
      {"logs_segment", "SELECT real.* FROM real JOIN logs ON since = real.partition"},
      {"logs_chunk", "SELECT id, data FROM real JOIN logs ON since = id"},
      {"logs_column", "SELECT * FROM real WHERE (SELECT count(*) FROM logs)"},
      {"logs_config", "SELECT key, iif(key = 'seals', (SELECT count(*) FROM tidemark_stat), value) AS value FROM real"},
      {"tidemark_registry", "SELECT real.dataset FROM real JOIN tidemark_dataset USING(dataset)"},
      {"tidemark_sink", "SELECT real.* FROM real JOIN tidemark_lag USING(sink, dataset)"},
      {"tidemark_export_log", "SELECT real.* FROM real JOIN tidemark_lag USING(sink, dataset)"},
      {"tidemark_batch", "SELECT real.* FROM real JOIN tidemark_lag USING(sink, dataset)"}};
  for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
    char sql[300], words[100];
    begin();
    snprintf(sql, sizeof sql, "CREATE VIEW %s AS %s", views[i][0], views[i][1]);
    snprintf(words, sizeof words, "%s in schema main is a view, expected an ordinary table", views[i][0]);
    put_in_place(views[i][0], "view", sql);
    db_refuses(db, SQLITE_CORRUPT, words, "%s", count);
    db_refuses(db, SQLITE_CORRUPT, words, "INSERT INTO logs VALUES ('a', 1, 1)");
    db_refuses(db, SQLITE_CORRUPT, views[i][0], "SELECT count(*) FROM tidemark_lag");
    db_refuses(db, SQLITE_CORRUPT, views[i][0], "SELECT count(*) FROM tidemark_dataset");
    end();
  }
}
END_TEST

/* A statement that somebody keeps has the connection keep the handle of the log that went. */
START_TEST(a_view_in_a_log_that_another_connection_made_anew) {
  sqlite3_stmt *kept = NULL;
  sqlite3 *plain = NULL;
  begin();
  ck_assert_int_eq(sqlite3_prepare_v2(db, count, -1, &kept, NULL), SQLITE_OK);
  sqlite3 *other = db_open(scratch_path("db"), NULL);
  db_exec(other, "DROP TABLE logs; CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, n INTEGER NOT NULL, x ANY,"
                 " partition_by=source); INSERT INTO logs VALUES ('a', 1, 1)");
  db_close(other);
  ck_assert_int_eq(sqlite3_open(scratch_path("db"), &plain), SQLITE_OK);
  db_exec(plain, "DROP TABLE logs_deleted; CREATE VIEW logs_deleted AS SELECT since, 1 AS partition FROM logs");
  sqlite3_close(plain);
  db_refuses(db, SQLITE_CORRUPT, "logs_deleted in schema main is a view, expected an ordinary table", "%s", count);
  sqlite3_finalize(kept);
  end();
}
END_TEST

START_TEST(drop_leaves_a_view_in_the_place_of_a_table) {
  begin();
  put_in_place("logs_deleted", "view", "CREATE VIEW logs_deleted AS SELECT since, 1 AS partition FROM logs");
  db_exec(db, "DROP TABLE logs");
  assert_text(db, "logs_deleted", "SELECT name FROM sqlite_schema WHERE name LIKE 'logs%%'");
  end();
}
END_TEST

START_TEST(virtual_tables_in_the_place_of_tables) {
  static const char *const tables[][2] = {
      {"logs_tail", "CREATE VIRTUAL TABLE logs_tail USING tidemark_partition(logs, source='a')"},
      {"logs_config", "CREATE VIRTUAL TABLE logs_config USING tidemark_partition(logs, source='a')"},
      {"logs_config", "CREATE VIRTUAL TABLE logs_config USING tidemark(x)"},
      {"logs_segment", "CREATE VIRTUAL TABLE logs_segment USING tidemark_status(lag)"},
      {"tidemark_sink", "CREATE VIRTUAL TABLE tidemark_sink USING tidemark_status(lag)"}};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    char words[100];
    begin();
    snprintf(words, sizeof words, "%s in schema main is a virtual table, expected an ordinary table", tables[i][0]);
    put_in_place(tables[i][0], "table", tables[i][1]);
    db_refuses(db, SQLITE_CORRUPT, words, "%s", count);
    end();
  }
}
END_TEST

/* A name like one of a dataset's tables is the user's where the dataset has no such table. */
START_TEST(a_view_named_like_a_table_that_the_dataset_lacks) {
  begin();
  db_exec(db, "CREATE VIEW logs_unique AS SELECT 1 AS x; CREATE VIEW tidemark_of_mine AS SELECT * FROM tidemark_lag");
  end();
  hostile_reopen();
  assert_int(db, 12, "%s", count);
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  assert_int(db, 6, "SELECT count(*) FROM tidemark_of_mine");
  end();
}
END_TEST

/* ---- other columns ---- */

static void with_schema_text(const char *table, const char *from, const char *to) {
  damage("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, %Q, %Q) WHERE name = %Q", from, to,
         table);
}

START_TEST(tables_with_other_columns) {
  static const char *const changes[][4] = {
      {"logs_tail", "last_since", "other", "no such column: last_since, in a statement on \"main\".\"logs_tail\""},
      {"logs_partition", "pruned_upto", "other", "no such column: pruned_upto, in a statement on \"main\".\""},
      {"logs_segment", "newest_at", "other", "no such column: newest_at, in a statement on \"main\".\"logs_segment\""},
      {"logs_column", "dflt_value", "other", "no such column: dflt_value, in a statement on \"main\".\"logs_column\""},
      {"logs_deleted", "since", "other", "no such column: since, in a statement on \"main\".\"logs_deleted\""}};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    begin();
    with_schema_text(changes[i][0], changes[i][1], changes[i][2]);
    db_refuses(db, SQLITE_CORRUPT, changes[i][3], "SELECT since, x FROM logs ORDER BY since");
    ck_assert_ptr_nonnull(strstr(db_text(db, "SELECT tidemark_check('logs')"), "no such column"));
    end();
  }
}
END_TEST

START_TEST(a_table_with_a_generated_column) {
  begin();
  with_schema_text("logs_tail", "rows INTEGER NOT NULL", "rows INTEGER AS (1)");
  db_refuses(db, SQLITE_CORRUPT, "logs_tail", "INSERT INTO logs VALUES ('a', 1, 1)");
  db_refuses(db, SQLITE_CORRUPT, "logs_tail row 9 is damaged", "%s", count);
  end();
}
END_TEST

/* ---- triggers ---- */

/* On tables of Tidemark, which write to the dataset in the middle of its own writing. What the statement did is whole or
 * undone, and the rows that were there still are. */
START_TEST(triggers_on_its_tables) {
  static const char *const triggers[] = {
      "AFTER INSERT ON logs_tail BEGIN INSERT INTO logs VALUES ('a', 100, 1); END",
      "BEFORE INSERT ON logs_tail BEGIN DELETE FROM logs; END",
      "AFTER INSERT ON logs_segment BEGIN INSERT INTO logs VALUES ('b', 100, 1); END",
      "AFTER UPDATE ON logs_config BEGIN DELETE FROM logs WHERE since = 1; END",
      "AFTER INSERT ON logs_chunk BEGIN DELETE FROM logs_chunk WHERE id = NEW.id; END",
      "BEFORE INSERT ON logs_tail BEGIN SELECT RAISE(ROLLBACK, 'no'); END",
      "BEFORE UPDATE ON logs_config BEGIN SELECT RAISE(IGNORE); END"};
  for (size_t i = 0; i < sizeof triggers / sizeof *triggers; i++) {
    begin();
    damage("CREATE TRIGGER hostile %s", triggers[i]);
    sqlite3_exec(db, "INSERT INTO logs VALUES ('a', 13, 'new')", NULL, NULL, NULL);
    sqlite3_exec(db, "SELECT tidemark_flush('logs')", NULL, NULL, NULL);
    sqlite3_exec(db, "SELECT tidemark_compact('logs')", NULL, NULL, NULL);
    ck_assert_int_eq(sqlite3_get_autocommit(db), 1);
    ck_assert_ptr_nonnull(db_text(db, "SELECT tidemark_check('logs')"));
    end();
  }
}
END_TEST

/* ---- rings ---- */

START_TEST(partition_tables_in_a_ring) {
  begin();
  damage("PRAGMA writable_schema = ON; INSERT INTO sqlite_schema(type, name, tbl_name, rootpage, sql) VALUES"
         " ('table', 'self', 'self', 0, 'CREATE VIRTUAL TABLE self USING tidemark_partition(self, source=''a'')'),"
         " ('table', 'one', 'one', 0, 'CREATE VIRTUAL TABLE one USING tidemark_partition(two, source=''a'')'),"
         " ('table', 'two', 'two', 0, 'CREATE VIRTUAL TABLE two USING tidemark_partition(one, source=''a'')')");
  db_refuses(db, SQLITE_ERROR, "partition table self: its dataset self is gone", "SELECT * FROM self");
  db_refuses(db, SQLITE_ERROR, "partition table one: its dataset two is gone", "SELECT * FROM one");
  db_exec(db, "DROP TABLE self; DROP TABLE one; DROP TABLE two");
  assert_int(db, 12, "%s", count);
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {views_that_read_the_dataset,
                                a_view_in_a_log_that_another_connection_made_anew,
                                drop_leaves_a_view_in_the_place_of_a_table,
                                virtual_tables_in_the_place_of_tables,
                                a_view_named_like_a_table_that_the_dataset_lacks,
                                tables_with_other_columns,
                                a_table_with_a_generated_column,
                                triggers_on_its_tables,
                                partition_tables_in_a_ring,
                                NULL};
  return unit_main("hostile_schema", tests);
}
