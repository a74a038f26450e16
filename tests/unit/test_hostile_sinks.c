/* Rows of the sinks' tables that somebody wrote: names that lead out of the folder, values of other types, batches that
 * go backwards, texts that nest without end, sinks by the thousand. Files lie below the sink's folder alone, other
 * partitions are exported all the same, and the memory that is taken stays small. */
#define _GNU_SOURCE
#include <dirent.h>

#include "hostile_db.h"
#include "store/dead.h"

/* Beside the folder "in" of the sink "out" nothing may appear. Two partitions of it have open batches. */
static void begin_sink(void) {
  begin();
  db_exec(db,
          "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('out', 'logs', 'file://%s', 'ndjson');"
          "SELECT tidemark_export('out')",
          scratch_path("in"));
  assert_int(db, 1, "SELECT count(*) FROM tidemark_batch WHERE sink = 'out'");
  mkdir(scratch_path("in"), 0755);
}

static void assert_nothing_beside(void) {
  struct dirent **entries;
  const int found = scandir(scratch, &entries, NULL, alphasort);
  for (int i = 0; i < found; i++) {
    const char *name = entries[i]->d_name;
    ck_assert_msg(name[0] == '.' || strcmp(name, "in") == 0 || strncmp(name, "db", 2) == 0, "there is %s", name);
    free(entries[i]);
  }
  free(entries);
}

/* A tick meets it, and says so of that batch alone, whose partition is source=a. */
static void assert_one_fails(const char *change, const char *words) {
  begin_sink();
  damage("%s", change);
  assert_int(db, 1, "SELECT json_extract(tidemark_export('out', 'now'), '$.failed')");
  const char *error = db_text(db, "SELECT error FROM tidemark_batch WHERE sink = 'out'");
  ck_assert_msg(strstr(error, words) != NULL, "%s\nsays: %s\nnot:  %s", change, error, words);
  assert_text(db, "source=b source=c",
              "SELECT partition FROM tidemark_export_log WHERE sink = 'out' AND partition <> 'source=a' ORDER BY id");
  assert_nothing_beside();
  end();
}

#define CHANGE(set) "UPDATE tidemark_batch SET " set " WHERE sink = 'out'"

START_TEST(objects_that_lead_out) {
  static const char *const objects[] = {"../evil", "logs/../../evil", "/tmp/evil", "logs//evil", "logs/./evil",
                                        "",        "logs/a b"};
  for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
    char change[200];
    snprintf(change, sizeof change, CHANGE("object = '%s'"), objects[i]);
    assert_one_fails(change, "is no object's name: expected parts of");
  }
}
END_TEST

START_TEST(batches_that_cannot_be) {
  assert_one_fails(CHANGE("since = 5, until = 1"), "was claimed with");
  assert_one_fails(CHANGE("until = 9223372036854775807"), "until must not be beyond the newest row");
  assert_one_fails(CHANGE("rows = -1"), "was claimed with -1 rows");
  assert_one_fails(CHANGE("generation = 9223372036854775807"), "generation must be the present one");
  assert_one_fails(CHANGE("partition = 'source=../..'"),
                   "dataset logs: tidemark_batch or logs_partition: 'source=../..' is no partition");
  assert_one_fails(CHANGE("object = NULL"), "has no target in its config");
  assert_one_fails(CHANGE("config = '{}'"), "has no target in its config");
  assert_one_fails(CHANGE("config = '[[['"), "malformed JSON");
}
END_TEST

START_TEST(a_prefix_and_a_fork_that_lead_out) {
  begin_sink();
  damage("UPDATE tidemark_sink_state SET prefix = '../evil'; DELETE FROM tidemark_batch");
  assert_int(db, 0, "SELECT json_extract(tidemark_export('out', 'now'), '$.failed')");
  assert_int(db, 3, "SELECT count(*) FROM tidemark_export_log WHERE object LIKE '..%%2Fevil/%%' ESCAPE '!'");
  assert_nothing_beside();
  end();
  begin_sink();
  damage("INSERT INTO tidemark_sink_fork VALUES ('out', 'logs', '../../evil'); DELETE FROM tidemark_batch");
  assert_int(db, 1, "SELECT json_extract(tidemark_export('out', 'now'), '$.failed') > 0");
  assert_nothing_beside();
  end();
}
END_TEST

START_TEST(values_of_other_types) {
  static const char *const changes[] = {"target = x'00ff'", "format = x'00'",   "options = x'7b7d00'",
                                        "options = 17",     "columns = '{}'",   "columns = x'5b22'",
                                        "filter = x'00'",   "target = 1e300",   "format = 'ndjson' || char(0) || 'x'",
                                        "max_rows = 'x'",   "max_rows = -1",    "max_bytes = 9223372036854775807",
                                        "hold_rows = -1",   "hold_age = x'00'", "state = 'other'",
                                        "min_rows = 1e300", "max_delay = 'x'",  "sink = x'6f7574'",
                                        "dataset = x'00'",  "start = 'x'",      "start = -9223372036854775807"};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    begin_sink();
    damage("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(replace(replace(replace(sql,"
           " ') STRICT', ')'), ' NOT NULL', ''), ' TEXT', ' BLOB'), ' INTEGER', ' BLOB') WHERE name = 'tidemark_sink'");
    damage("UPDATE tidemark_sink SET %s WHERE sink = 'out'", changes[i]);
    sqlite3_exec(db, "SELECT tidemark_export('now')", NULL, NULL, NULL);
    sqlite3_exec(db, "SELECT tidemark_peek('out')", NULL, NULL, NULL);
    sqlite3_exec(db, "SELECT tidemark_verify('out')", NULL, NULL, NULL);
    sqlite3_exec(db, "SELECT * FROM tidemark_lag", NULL, NULL, NULL);
    sqlite3_exec(db, "SELECT tidemark_maintain('logs')", NULL, NULL, NULL);
    ck_assert_int_lt(hostile_steps, HOSTILE_STEPS_MAX);
    assert_text(db, "1 2 3 4 5 6 7 8 9 10 11 12", "SELECT since FROM logs ORDER BY since");
    assert_nothing_beside();
    end();
  }
}
END_TEST

/* It would be read as 0: the sink would have everything again, or hold nothing. */
START_TEST(numbers_that_are_texts) {
  static const char *const changes[][3] = {
      {"tidemark_export_log", "until = 'x' WHERE partition = 'source=a'",
       "tidemark_export_log, sink out, dataset logs, partition 'source=a': until or generation of the last row"},
      {"tidemark_export_log", "generation = 'x' WHERE partition = 'source=a'",
       "tidemark_export_log, sink out, dataset logs, partition 'source=a': until or generation of the last row"},
      {"tidemark_export_log", "until = -1 WHERE partition = 'source=b'",
       "tidemark_export_log, sink out, dataset logs, partition 'source=b': until or generation of the last row"},
      {"tidemark_batch", "until = 'x'", "has no number where it needs one"},
      {"tidemark_batch", "lease_until = 'x'", "has no number where it needs one"}};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    begin_sink();
    if (strcmp(changes[i][0], "tidemark_batch") != 0)
      assert_int(db, 0, "SELECT json_extract(tidemark_export('out', 'now'), '$.failed')");
    loosen(changes[i][0]);
    damage("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(replace(sql, 'lease_until INTEGER',"
           " 'lease_until'), 'generation INTEGER', 'generation') WHERE name = '%s'",
           changes[i][0]);
    damage("UPDATE %s SET %s", changes[i][0], changes[i][1]);
    db_exec(db, "INSERT INTO logs SELECT source, n, x FROM logs");
    const char *said = db_text(db, "SELECT tidemark_export('out', 'now')");
    ck_assert_msg(strstr(said, changes[i][2]) != NULL, "%s: %s", changes[i][1], said);
    db_exec(db, "SELECT tidemark_set('logs', 'retention_rows', 0)");
    sqlite3_exec(db, "SELECT tidemark_prune('logs')", NULL, NULL, NULL);
    assert_text(db, "1 2 3 4 5 6 7 8 9 10 11 12", "SELECT since FROM logs WHERE since <= 12 ORDER BY since");
    end();
  }
}
END_TEST

/* A number of the log is not counted up to, and one that is none does not keep a walk where it is. */
START_TEST(a_generation_beyond_all) {
  static const char *const generations[] = {"9223372036854775807", "-1", "'abc'", "0.5"};
  for (size_t i = 0; i < sizeof generations / sizeof *generations; i++) {
    begin_sink();
    assert_int(db, 0, "SELECT json_extract(tidemark_export('out', 'now'), '$.failed')");
    loosen("tidemark_export_log");
    damage(
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'generation INTEGER', 'generation')"
        " WHERE name = 'tidemark_export_log'");
    damage("UPDATE tidemark_export_log SET generation = %s WHERE sink = 'out' AND partition = 'source=a'",
           generations[i]);
    db_refuses(db, SQLITE_CORRUPT, "sink out, dataset logs: a generation is no number that there can be",
               "SELECT tidemark_verify('out')");
    ck_assert_int_lt(hostile_steps, HOSTILE_STEPS_MAX);
    end();
  }
  begin_sink();
  assert_int(db, 0, "SELECT json_extract(tidemark_export('out', 'now'), '$.failed')");
  damage("UPDATE tidemark_export_log SET generation = 4611686018427387904 WHERE sink = 'out'");
  assert_int(db, 1, "SELECT json_extract(tidemark_verify('out'), '$.objects') > 0");
  ck_assert_int_lt(hostile_steps, HOSTILE_STEPS_MAX);
  end();
}
END_TEST

START_TEST(rewind_without_a_reason) {
  begin_sink();
  assert_int(db, 0, "SELECT json_extract(tidemark_export('out', 'now'), '$.failed')");
  assert_int(db, 0, "SELECT tidemark_rewind('out', 'logs', 'source=a', 1, 'because') ->> 'until' <> 1");
  damage("UPDATE tidemark_export_log SET reason = NULL WHERE kind = 'rewind'");
  db_refuses(db, SQLITE_CORRUPT,
             "tidemark_export_log, sink out, dataset logs, partition 'source=a': the last row, a rewind, lacks",
             "SELECT tidemark_rewind('out', 'logs', 'source=a', 1, 'because')");
  end();
}
END_TEST

START_TEST(rows_without_a_name) {
  static const char *const tables[][2] = {
      {"tidemark_sink", "sink"},       {"tidemark_sink_state", "sink"}, {"tidemark_export_log", "partition"},
      {"tidemark_export_log", "sink"}, {"tidemark_batch", "partition"}, {"tidemark_batch", "sink"},
      {"logs_partition", "name"}};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    begin_sink();
    damage("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(replace(replace(sql, ' NOT NULL', ''),"
           " 'PRIMARY KEY(sink, dataset)', 'UNIQUE(sink, dataset)'), ' WITHOUT ROWID', '') WHERE name = '%s'"
           " AND sql NOT LIKE '%%WITHOUT ROWID%%'",
           tables[i][0]);
    char *sql = sqlite3_mprintf("UPDATE %s SET %s = NULL", tables[i][0], tables[i][1]);
    char *refused = try_damage(sql); /* a key of a table without rowid */
    sqlite3_free(sql);
    const char *said = db_text(db, "SELECT tidemark_check('logs')");
    ck_assert_msg(refused != NULL || strcmp(said, "ok") != 0, "%s.%s: %s", tables[i][0], tables[i][1], said);
    sqlite3_free(refused);
    end();
  }
}
END_TEST

/* Which text of which row it is. */
START_TEST(texts_that_are_null) {
  static const char *const changes[][3] = {
      {"tidemark_sink", "state", "tidemark_sink.state is NULL for sink 'out' of dataset 'logs'"},
      {"tidemark_sink_state", "prefix", "tidemark_sink_state.prefix is NULL for sink 'out' of dataset 'logs'"}};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    begin_sink();
    damage(
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE name = '%s'",
        changes[i][0]);
    damage("UPDATE %s SET %s = NULL WHERE sink = 'out'", changes[i][0], changes[i][1]);
    db_refuses(db, SQLITE_CORRUPT, changes[i][2], "SELECT tidemark_export('out')");
    end();
  }
  struct tide_err err = {0};
  struct tide_dead_row row;
  begin_sink();
  damage("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '')"
         " WHERE name = 'tidemark_dead'");
  db_exec(db, "INSERT INTO tidemark_dead(id, sink, dataset, partition, since, reason, at)"
              " VALUES (7, 'out', 'logs', 'source=a', 1, 'x', 0)");
  ck_assert(!tide_dead_next(db, "main", "out", "logs", 0, 9, &row, &err));
  ck_assert_str_eq(err.msg, "tidemark_dead.payload is NULL for row 7, of sink 'out' of dataset 'logs'");
  end();
}
END_TEST

/* Behind every name, or before all of them: to go from one to the next ends, in words. */
START_TEST(datasets_without_a_name) {
  static const char *const names[] = {"x'6c6f6773'", "NULL", "5", "'logs' || char(0) || 'x'"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    begin();
    damage("DROP TABLE tidemark_registry; CREATE TABLE tidemark_registry(dataset);"
           "INSERT INTO tidemark_registry VALUES ('logs'), (%s)",
           names[i]);
    db_refuses(db, SQLITE_CORRUPT, "tidemark_registry in schema main is damaged: a dataset's name is no text",
               "SELECT tidemark_maintain()");
    end();
  }
}
END_TEST

/* Every text is above what such a column makes of a digit. */
START_TEST(datasets_whose_names_are_digits) {
  begin();
  damage(
      "DROP TABLE tidemark_registry; CREATE TABLE tidemark_registry(dataset);"
      "INSERT INTO tidemark_registry VALUES ('5'), ('6'); PRAGMA writable_schema = ON;"
      "UPDATE sqlite_schema SET sql = replace(sql, '(dataset)', '(dataset INTEGER)') WHERE name = 'tidemark_registry'");
  assert_int(db, 2, "SELECT json_array_length(tidemark_maintain(), '$.datasets')");
  end();
}
END_TEST

/* ---- bombs ---- */

enum { DEEP = 300000, MEMORY = 32 << 20 };

static char *deep_text(void) {
  char *text = malloc(DEEP + 1);
  ck_assert_ptr_nonnull(text);
  memset(text, '[', DEEP);
  text[DEEP] = '\0';
  return text;
}

START_TEST(texts_that_nest_without_end) {
  static const char *const places[] = {"UPDATE tidemark_batch SET config = %Q", "UPDATE tidemark_sink SET options = %Q",
                                       "UPDATE tidemark_sink SET columns = %Q", "UPDATE tidemark_sink SET filter = %Q"};
  char *deep = deep_text();
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    begin_sink();
    damage(places[i], deep);
    damage(i > 0 ? "DELETE FROM tidemark_batch" : "SELECT 1");
    sqlite3_memory_highwater(1);
    const int64_t before = sqlite3_memory_used();
    assert_int(db, 1, "SELECT json_extract(tidemark_export('out', 'now'), '$.failed') > 0");
    ck_assert_int_lt(sqlite3_memory_highwater(0) - before, MEMORY);
    assert_nothing_beside();
    end();
  }
  free(deep);
}
END_TEST

START_TEST(a_json_value_that_nests_without_end) {
  char *deep = deep_text();
  begin();
  mkdir(scratch_path("in"), 0755);
  db_exec(db,
          "CREATE VIRTUAL TABLE deep USING tidemark(j JSON); INSERT INTO deep VALUES (%Q), ('[1]');"
          "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('out', 'deep', 'file://%s', 'ndjson')",
          deep, scratch_path("in"));
  assert_text(db, "2|1", "SELECT r ->> '$.rows', r ->> '$.altered' FROM (SELECT tidemark_export('out') AS r)");
  end();
  free(deep);
}
END_TEST

/* Ten thousand of them in the long form: every sink is held against every partition. */
START_TEST(sinks_by_the_thousand) {
  const int sinks = getenv("TIDE_TEST_LONG") != NULL ? 10000 : 1000;
  begin();
  damage(
      "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < %d)"
      " INSERT INTO tidemark_sink(sink, dataset, start) SELECT 'sink ' || i, 'logs', 0 FROM c;"
      "INSERT INTO tidemark_sink_state(sink, dataset, prefix) SELECT sink, dataset, dataset FROM tidemark_sink WHERE "
      "true ON CONFLICT DO NOTHING",
      sinks);
  hostile_steps = INT32_MIN;
  sqlite3_memory_highwater(1);
  const int64_t before = sqlite3_memory_used();
  assert_int(db, 3 * (sinks + 2), "SELECT count(*) FROM tidemark_lag");
  db_exec(db, "SELECT tidemark_set('logs', 'retention_rows', 0); SELECT tidemark_prune('logs')");
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  ck_assert_int_lt(sqlite3_memory_highwater(0) - before, MEMORY);
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {objects_that_lead_out,
                                batches_that_cannot_be,
                                a_prefix_and_a_fork_that_lead_out,
                                values_of_other_types,
                                numbers_that_are_texts,
                                a_generation_beyond_all,
                                rewind_without_a_reason,
                                rows_without_a_name,
                                texts_that_are_null,
                                datasets_without_a_name,
                                datasets_whose_names_are_digits,
                                texts_that_nest_without_end,
                                a_json_value_that_nests_without_end,
                                sinks_by_the_thousand,
                                NULL};
  return unit_main("hostile_sinks", tests);
}
