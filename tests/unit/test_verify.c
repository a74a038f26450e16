/* Reading back what was delivered: long logs, targets that fail, what happens meanwhile, and no memory. */
#define _GNU_SOURCE
#include "export_db.h"
#include "oom.h"
#include "schemes.h"
#include "sink/verify.h"

/* ---- a target that is looked into: "look:///folder" is "file:///folder" ---- */

static struct tide_target_methods methods;
static int (*real_open_read)(struct tide_target *target, const char *name, struct tide_err *err);
static int (*real_list)(struct tide_target *target, const char *below, const char *after,
                        bool (*each)(void *context, const char *name, int64_t size, struct tide_err *err),
                        void *context, struct tide_err *err);
static long (*real_read)(struct tide_target *target, void *into, size_t size, struct tide_err *err);
static void (*before_read)(void); /* of any piece of an object */
static void (*before_list)(void);
static int unreadable; /* objects from the next on that give SQLITE_IOERR */
static int opened;

static int look_open_read(struct tide_target *target, const char *name, struct tide_err *err) {
  opened++;
  if (unreadable > 0 && unreadable-- > 0)
    tide_err_set(err, SQLITE_IOERR, "the cable is out");
  return tide_err_is_set(err) ? err->rc : real_open_read(target, name, err);
}

static long look_read(struct tide_target *target, void *into, size_t size, struct tide_err *err) {
  if (before_read != NULL)
    before_read();
  return real_read(target, into, size, err);
}

static int look_list(struct tide_target *target, const char *below, const char *after,
                     bool (*each)(void *context, const char *name, int64_t size, struct tide_err *err), void *context,
                     struct tide_err *err) {
  if (before_list != NULL)
    before_list();
  return real_list(target, below, after, each, context, err);
}

static char *as_file(const char *url, struct tide_err *err) {
  char file[300];
  snprintf(file, sizeof file, "file%s", strchr(url, ':'));
  return tide_target_dir_path(file, err);
}

static char *look_check(const char *url, struct tide_sink_options *options, struct tide_err *err) {
  (void)options;
  return as_file(url, err);
}

static struct tide_target *look_open(const char *url, struct tide_sink_options *options,
                                     const struct tide_patience *patience, struct tide_err *err) {
  (void)options;
  ck_assert(!patience->is_over(patience->context, err));
  char *path = as_file(url, err);
  struct tide_target *target = path != NULL ? tide_target_dir_open(path, err) : NULL;
  sqlite3_free(path);
  if (target == NULL)
    return NULL;
  methods = *target->methods;
  real_open_read = methods.open_read;
  real_read = methods.read;
  real_list = methods.list;
  methods.open_read = look_open_read;
  methods.read = look_read;
  methods.list = look_list;
  target->methods = &methods;
  return target;
}

static const struct tide_scheme look = {
    .name = "look", .expect = "look:///folder", .check = look_check, .open = look_open};
static const struct tide_scheme forward = {
    .name = "forward", .expect = "forward://x", .forwards = true, .check = look_check, .open = look_open};

static void add_schemes(void) {
  static const struct tide_scheme *const schemes[] = {&look, &forward};
  schemes_add(db, schemes, 2);
}

static void look_at_target(void) {
  add_schemes();
  db_exec(db, "UPDATE tidemark_sink SET target = 'look://%s'", folder);
}

/* Many objects: a row each. */
static void export_each(int rows) {
  db_exec(db, "UPDATE tidemark_sink SET max_rows = 1");
  append_many(rows, 10);
  ck_assert_str_eq(tick("failed"), "0");
}

/* One value of the answer. */
static const char *verify(const char *what) {
  return db_text(db, "SELECT json_extract(tidemark_verify('s'), '$.%s')", what);
}

/* ---- */

START_TEST(every_object_of_a_long_log_is_read) {
  begin();
  export_each(4 * 5 + 1); /* five pages and one */
  const int64_t bytes = db_int(db, "SELECT sum(bytes) FROM tidemark_export_log");
  look_at_target();
  opened = 0;
  ck_assert_str_eq(verify("objects"), "21");
  ck_assert_int_eq(opened, 21);
  ck_assert_int_eq(strtoll(verify("bytes"), NULL, 10), bytes);
  ck_assert_str_eq(verify("ok"), "1");
  end();
}
END_TEST

/* Flips a byte in the middle of a file; again, to have it back. */
static void flip(const char *path) {
  struct stat st;
  unsigned char byte;
  ck_assert_int_eq(stat(path, &st), 0);
  FILE *file = fopen(path, "r+");
  fseek(file, (long)st.st_size / 2, SEEK_SET);
  ck_assert_uint_eq(fread(&byte, 1, 1, file), 1);
  byte ^= 0x10;
  fseek(file, (long)st.st_size / 2, SEEK_SET);
  ck_assert_uint_eq(fwrite(&byte, 1, 1, file), 1);
  fclose(file);
}

START_TEST(every_format_is_read_back) {
  static const char *const formats[] = {"ndjson", "ndjson.zst", "csv", "csv.zst", "parquet", "parquet"};
  for (int i = 0; i < 6; i++) {
    char path[300];
    begin();
    append_many(1000, 20);
    db_exec(db, "UPDATE tidemark_sink SET format = '%s', options = %s", formats[i],
            i == 5 ? "'{\"table\":\"delta\"}'" : "NULL");
    ck_assert_str_eq(tick("batches"), "1");
    assert_text(db, "1|0|0|1",
                "SELECT e ->> 'objects', e ->> '$.counts.unhashed', e ->> '$.counts.extra', e ->> 'ok'"
                " FROM (SELECT tidemark_verify('s') AS e)");
    snprintf(path, sizeof path, "%s/%s", folder, db_text(db, "SELECT object FROM tidemark_export_log"));
    flip(path);
    ck_assert_str_eq(verify("counts.damaged"), "1");
    flip(path);
    ck_assert_str_eq(verify("ok"), "1");
    end();
  }
}
END_TEST

START_TEST(lists_are_bounded_and_counts_are_not) {
  begin();
  export_each(7);
  nftw(folder, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
  mkdir(folder, 0755);
  assert_text(db, "3|7|0",
              "SELECT json_array_length(e, '$.missing'), e ->> '$.counts.missing', e ->> 'ok'"
              " FROM (SELECT tidemark_verify('s') AS e)");
  end();
}
END_TEST

/* A target that stops to answer does not become a list of all objects. */
START_TEST(unreadable_objects_are_damaged_until_there_are_too_many) {
  begin();
  export_each(12);
  look_at_target();
  unreadable = 2;
  const char *report = db_text(db, "SELECT tidemark_verify('s')");
  assert_text(db, "2|the cable is out|0", "SELECT %Q ->> '$.counts.damaged', %Q ->> '$.damaged[0].found', %Q ->> 'ok'",
              report, report, report);
  unreadable = 12;
  db_refuses(db, SQLITE_IOERR, "10 objects in a row could not be read: the cable is out",
             "SELECT tidemark_verify('s')");
  unreadable = 0;
  ck_assert_str_eq(verify("ok"), "1");
  end();
}
END_TEST

/* A sink that its user drove has names of any kind in its log, and no hashes. */
START_TEST(objects_without_a_hash_count_by_size) {
  begin();
  db_exec(db, "DELETE FROM tidemark_sink; INSERT INTO tidemark_sink(sink, dataset, max_rows) VALUES ('s', 'logs', 1);"
              "INSERT INTO logs VALUES ('a', '1'), ('b', '2'), ('c', '3');"
              "SELECT tidemark_claim('s', 'logs')");
  static const char *const objects[] = {"one", "two.ndjson", "https://elsewhere?a"};
  for (int i = 0; i < 3; i++)
    db_exec(db, "SELECT tidemark_ack(%lld, '%s', %d)", (long long)db_int(db, "SELECT min(batch) FROM tidemark_batch"),
            objects[i], 3 + i);
  db_exec(db, "UPDATE tidemark_sink SET target = 'file://%s', format = 'ndjson'", folder);
  for (int i = 0; i < 2; i++) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, i == 0 ? "one" : "two.ndjson");
    FILE *file = fopen(path, "w");
    fputs("abc", file);
    fclose(file);
  }
  assert_text(db, "3|1|https://elsewhere?a|1|two.ndjson|3 bytes",
              "SELECT e ->> 'objects', e ->> '$.counts.unhashed', e ->> '$.missing[0]', e ->> '$.counts.damaged',"
              " e ->> '$.damaged[0].object', e ->> '$.damaged[0].found' FROM (SELECT tidemark_verify('s') AS e)");
  end();
}
END_TEST

START_TEST(what_was_forwarded_is_not_read_back) {
  begin();
  add_schemes();
  db_exec(db, "UPDATE tidemark_sink SET target = 'forward://%s'", folder);
  db_refuses(db, SQLITE_ERROR, "sink s forwards to", "SELECT tidemark_verify('s')");
  end();
}
END_TEST

/* Names from before a fork are in the log; whoever had the log id before may go on to write others. */
START_TEST(sink_that_was_forked_knows_its_names) {
  char path[300];
  begin();
  export_each(2);
  db_exec(db, "SELECT tidemark_fork('s')");
  append_many(1, 10);
  ck_assert_str_eq(tick("batches"), "1");
  assert_text(db, "3|1", "SELECT e ->> 'objects', e ->> 'ok' FROM (SELECT tidemark_verify('s') AS e)");
  static const char *const ids[] = {"SELECT log_id FROM tidemark_dataset",
                                    "SELECT substr(object, -39, 32) FROM tidemark_export_log WHERE id = 3"};
  ck_assert_str_ne(db_text(db, "%s", ids[0]), db_text(db, "%s", ids[1]));
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/logs/source=web/left.%s.ndjson", folder, db_text(db, "%s", ids[i]));
    fclose(fopen(path, "w"));
    assert_int(db, i, "SELECT tidemark_verify('s') ->> '$.counts.extra'");
  }
  end();
}
END_TEST

/* The log of the generations before the last was trimmed; their folders are there. */
START_TEST(folders_of_trimmed_generations_are_looked_into) {
  char command[600];
  begin();
  append_many(2, 10);
  for (int generation = 0; generation < 3; generation++) {
    if (generation > 0)
      db_exec(db, "SELECT tidemark_rewind('s', 'logs', 'source=web', 0, 'again')");
    ck_assert_str_eq(tick("rows"), "2");
  }
  db_exec(db, "DELETE FROM tidemark_export_log WHERE id < (SELECT max(id) FROM tidemark_export_log)");
  assert_text(db, "1|1|2|0",
              "SELECT e ->> 'ok', e ->> 'objects', e ->> '$.trimmed.objects', e ->> '$.counts.extra'"
              " FROM (SELECT tidemark_verify('s') AS e)");
  snprintf(command, sizeof command,
           "cd '%s/logs.g1/source=web' && cp *.ndjson stray.$(echo *.ndjson | cut -d. -f2).ndjson", folder);
  ck_assert_int_eq(system(command), 0);
  assert_text(db, "0|1", "SELECT e ->> 'ok', e ->> '$.counts.extra' FROM (SELECT tidemark_verify('s') AS e)");
  end();
}
END_TEST

/* ---- meanwhile ---- */

/* While the target works others write, and the file's WAL can be emptied: nothing is held. */
static void write_and_empty_the_wal(void) {
  before_read = NULL;
  sqlite3 *other = db_open(scratch_path("db"), NULL);
  sqlite3_busy_timeout(other, 0);
  db_exec(other, "INSERT INTO logs VALUES ('web', 'meanwhile')");
  assert_text(other, "0|0|0", "PRAGMA wal_checkpoint(TRUNCATE)");
  db_close(other);
  opened = -1000;
}

START_TEST(no_snapshot_is_held_while_the_target_works) {
  begin();
  export_each(6);
  look_at_target();
  before_read = write_and_empty_the_wal;
  ck_assert_str_eq(verify("ok"), "1");
  ck_assert_int_lt(opened, 0);
  end();
}
END_TEST

/* Another process delivers after the log was read and before the folder is. */
static void tick_elsewhere(void) {
  before_list = NULL;
  sqlite3 *other = db_open(scratch_path("db"), NULL);
  db_exec(other, "UPDATE tidemark_sink SET target = 'file://%s'; INSERT INTO logs VALUES ('web', 'meanwhile')", folder);
  assert_text(other, "1", "SELECT tidemark_export('s') ->> 'batches'");
  db_close(other);
}

START_TEST(object_that_arrives_meanwhile_is_not_extra) {
  begin();
  export_each(3);
  look_at_target();
  before_list = tick_elsewhere;
  const char *report = db_text(db, "SELECT tidemark_verify('s')");
  assert_text(db, "3|0|1", "SELECT %Q ->> 'objects', %Q ->> '$.counts.extra', %Q ->> 'ok'", report, report, report);
  ck_assert_ptr_null(before_list);
  end();
}
END_TEST

static int reads_left;

static void interrupt_at_last(void) {
  if (--reads_left == 0)
    sqlite3_interrupt(db);
}

/* Between objects, and within one. */
START_TEST(interrupt_ends_it) {
  begin();
  append_many(30, 100000); /* one object of 3 MB */
  ck_assert_str_eq(tick("batches"), "1");
  append_many(1, 1);
  ck_assert_str_eq(tick("batches"), "1");
  look_at_target();
  before_read = interrupt_at_last;
  reads_left = 3;
  opened = 0;
  db_refuses(db, SQLITE_INTERRUPT, "interrupted", "SELECT tidemark_verify('s')");
  ck_assert_int_eq(opened, 1);
  ck_assert_int_lt(reads_left, 0);
  ck_assert_int_gt(reads_left, -30); /* of 46 pieces of the first */
  before_read = NULL;
  before_list = NULL;
  ck_assert_str_eq(verify("ok"), "1");
  end();
}
END_TEST

START_TEST(file_that_cannot_be_written_is_verified) {
  char path[300];
  begin();
  export_each(3);
  db_close(db);
  snprintf(path, sizeof path, "file:%s?mode=ro", scratch_path("db"));
  ck_assert_int_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_tidemark_init(db, NULL, NULL), SQLITE_OK);
  ck_assert_str_eq(verify("objects"), "3");
  end();
}
END_TEST

/* ---- no memory ---- */

static int expect_ok(void *found, int n, char **values, char **names) {
  (void)n, (void)names;
  ck_assert_ptr_nonnull(strstr(values[0], "\"ok\":false"));
  ck_assert_ptr_nonnull(strstr(values[0], "\"missing\":1,\"damaged\":1,\"extra\":1"));
  *(bool *)found = true;
  return 0;
}

START_TEST(every_allocation_that_fails_is_told) {
  char path[300];
  oom_install();
  begin();
  export_each(6);
  snprintf(path, sizeof path, "%s/%s", folder, db_text(db, "SELECT object FROM tidemark_export_log WHERE id = 2"));
  unlink(path);
  snprintf(path, sizeof path, "%s/%s", folder, db_text(db, "SELECT object FROM tidemark_export_log WHERE id = 5"));
  ck_assert_int_eq(truncate(path, 3), 0);
  snprintf(path, sizeof path, "%s/logs/source=web/left.%s.ndjson", folder,
           db_text(db, "SELECT log_id FROM tidemark_dataset"));
  fclose(fopen(path, "w"));
  int failures = 0;
  for (int n = 1;; n++) {
    bool found = false;
    oom_fail_at(n);
    const int rc = sqlite3_exec(db, "SELECT tidemark_verify('s')", expect_ok, &found, NULL);
    const bool failed = oom_has_failed();
    oom_fail_at(0);
    ck_assert_msg(rc == SQLITE_NOMEM || (rc == SQLITE_OK && found), "allocation %d: %d %s", n, rc, sqlite3_errmsg(db));
    ck_assert_int_eq(sqlite3_txn_state(db, NULL), SQLITE_TXN_NONE);
    failures += rc == SQLITE_NOMEM;
    if (!failed)
      break;
  }
  ck_assert_int_gt(failures, 100);
  end();
  sqlite3_shutdown();
  ck_assert_int_eq(oom_live(), 0);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {every_object_of_a_long_log_is_read,
                                every_format_is_read_back,
                                lists_are_bounded_and_counts_are_not,
                                unreadable_objects_are_damaged_until_there_are_too_many,
                                objects_without_a_hash_count_by_size,
                                what_was_forwarded_is_not_read_back,
                                sink_that_was_forked_knows_its_names,
                                folders_of_trimmed_generations_are_looked_into,
                                no_snapshot_is_held_while_the_target_works,
                                object_that_arrives_meanwhile_is_not_extra,
                                interrupt_ends_it,
                                file_that_cannot_be_written_is_verified,
                                every_allocation_that_fails_is_told,
                                NULL};
  return unit_main("verify", tests);
}
