/* The log of a Delta table, line by line as PROTOCOL.md of delta-io/delta has it, over the memory target and a
 * folder. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* nftw */
#endif
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "effort.h"
#include "oom.h"
#include "shim_target.h"
#include "sink/delta.h"
#include "sink/encoder.h"
#include "unit.h"

enum { TS, SOURCE, BODY, OK, AT_NS, COLUMNS };

static struct tide_column columns[COLUMNS] = {{.name = "ts", .type = TIDE_TYPE_TIMESTAMP_MS, .partition_at = -1},
                                              {.name = "source", .type = TIDE_TYPE_TEXT, .partition_at = 0},
                                              {.name = "body \"x\"", .type = TIDE_TYPE_JSON, .partition_at = -1},
                                              {.name = "ok", .type = TIDE_TYPE_BOOLEAN, .partition_at = 1},
                                              {.name = "at", .type = TIDE_TYPE_TIMESTAMP_NS, .partition_at = -1}};
static size_t partition[] = {SOURCE, OK};
static const struct tide_spec spec = {
    .refs = 1, .ncolumns = COLUMNS, .columns = columns, .npartition = 2, .partition = partition};
static const int all_columns[] = {TS, SOURCE, BODY, OK, AT_NS};
static const int two_columns[] = {TS, SOURCE};

#define LOG_ID "0123456789abcdef0123456789abcdef"
#define COMMIT_INFO                                                                                                    \
  "{\"commitInfo\":{\"timestamp\":1767225600000,\"operation\":\"WRITE\",\"operationParameters\":{\"mode\":\"Append\"}" \
  ","                                                                                                                  \
  "\"isBlindAppend\":true,\"engineInfo\":\"Tidemark/0.1.0\"}}\n"

/* The n-th batch of a partition, from 1: rows (10 * (n - 1), 10 * n]. */
static struct tide_delta_add batch(int n) {
  static struct tide_val values[2];
  static char name[200];
  values[0] = tide_val_text("w%b", 3);
  values[1] = tide_val_int(1);
  snprintf(name, sizeof name, "logs/source=w%%25b/ok=1/%020d-%020d." LOG_ID ".parquet", 10 * (n - 1), 10 * n);
  return (struct tide_delta_add){.object = {.name = name, .log_id = LOG_ID, .token = n},
                                 .size = 1000 + n,
                                 .rows = 10,
                                 .columns = {&spec, all_columns, COLUMNS},
                                 .partition_values = values,
                                 .sink = "archive",
                                 .partition = "source=w%25b/ok=1",
                                 .until = 10 * n,
                                 .now_ms = 1767225600000};
}

/* A batch of a tick of its own, in which nothing is known of the table. */
static int commit_alone(struct tide_target *target, const struct tide_delta_add *add, bool *ret_altered,
                        struct tide_err *err) {
  struct tide_delta *delta = tide_delta_create(target, err);
  if (delta != NULL)
    tide_delta_commit(delta, add, ret_altered, err);
  tide_delta_destroy(delta);
  return err->rc;
}

static void commit(struct tide_target *target, const struct tide_delta_add *add) {
  struct tide_err err = {0};
  bool altered = false;
  ck_assert_int_eq(commit_alone(target, add, &altered, &err), 0);
  assert_ok(err);
  ck_assert(!altered);
}

static void commit_batches(struct tide_target *target, int from, int to) {
  for (int n = from; n <= to; n++) {
    const struct tide_delta_add add = batch(n);
    commit(target, &add);
  }
}

/* The batches of one tick. */
static void commit_together(struct tide_delta *delta, int from, int to) {
  for (int n = from; n <= to; n++) {
    struct tide_err err = {0};
    const struct tide_delta_add add = batch(n);
    bool altered = false;
    ck_assert_int_eq(tide_delta_commit(delta, &add, &altered, &err), 0);
    assert_ok(err);
  }
}

static struct tide_delta *tick_of(struct tide_target *target) {
  struct tide_err err = {0};
  struct tide_delta *delta = tide_delta_create(target, &err);
  assert_ok(err);
  return delta;
}

static struct tide_target *memory(void) {
  struct tide_err err = {0};
  struct tide_target *target = tide_target_memory_create(&err);
  assert_ok(err);
  return target;
}

/* The whole of an object, with a NUL behind it, for tide_buf_clear; no bytes at all when there is none. */
static struct tide_buf bytes_of(struct tide_target *target, const char *name) {
  struct tide_err err = {0};
  struct tide_buf bytes = {0};
  char piece[1000];
  long got;
  if (target->methods->open_read(target, name, &err) != 0) {
    ck_assert_int_eq(err.rc, SQLITE_CANTOPEN);
    return bytes;
  }
  while ((got = target->methods->read(target, piece, sizeof piece, &err)) > 0)
    tide_buf_put(&bytes, piece, (size_t)got, &err);
  target->methods->close_read(target);
  tide_buf_put_u8(&bytes, 0, &err);
  assert_ok(err);
  return bytes;
}

static const char *log_name(int version, const char *suffix) {
  static char name[200];
  snprintf(name, sizeof name, "logs/_delta_log/%020d%s", version, suffix);
  return name;
}

static bool has(struct tide_target *target, const char *name) {
  struct tide_buf bytes = bytes_of(target, name);
  const bool there = bytes.len > 0;
  tide_buf_clear(&bytes);
  return there;
}

static void expect(struct tide_target *target, const char *name, const char *expected) {
  struct tide_buf bytes = bytes_of(target, name);
  ck_assert_msg(bytes.len > 0, "%s is not there", name);
  ck_assert_str_eq((char *)bytes.data, expected);
  tide_buf_clear(&bytes);
}

static void put(struct tide_target *target, const char *name, const char *text) {
  struct tide_err err = {0};
  const struct tide_object object = {.name = name, .log_id = LOG_ID, .token = 99};
  target->methods->replace(target, &object, text, strlen(text), &err);
  assert_ok(err);
}

static int count_of(const char *text, const char *word) {
  int count = 0;
  for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
    count++;
  return count;
}

/* Every batch up to that one is in the log, once: its object, its txn. */
static void expect_batches_once(struct tide_target *target, int batches) {
  struct tide_err err = {0};
  struct tide_buf all = {0};
  char word[200];
  int version = 0;
  for (;; version++) {
    struct tide_buf one = bytes_of(target, log_name(version, ".json"));
    if (one.len == 0)
      break;
    tide_buf_put(&all, one.data, one.len - 1, &err);
    tide_buf_clear(&one);
  }
  tide_buf_put_u8(&all, 0, &err);
  ck_assert_int_eq(version, batches);
  for (int n = 1; n <= batches; n++) {
    snprintf(word, sizeof word, "/%020d-%020d.", 10 * (n - 1), 10 * n);
    ck_assert_int_eq(count_of((char *)all.data, word), 1);
    snprintf(word, sizeof word, "\"version\":%d,", 10 * n);
    ck_assert_int_eq(count_of((char *)all.data, word), 1);
  }
  tide_buf_clear(&all);
}

/* ---- commits ---- */

/* The id is XXH3-128 of log id and table name ("xxhsum -H2"), as a GUID. */
START_TEST(the_first_commit_makes_the_table) {
  static const char expected[] = COMMIT_INFO
      "{\"protocol\":{\"minReaderVersion\":1,\"minWriterVersion\":2}}\n"
      "{\"metaData\":{\"id\":\"e60f8b9e-e09c-dcaf-bcab-c86155f6013b\",\"format\":{\"provider\":\"parquet\",\"options\":"
      "{}},"
      "\"schemaString\":\"{\\\"type\\\":\\\"struct\\\",\\\"fields\\\":["
      "{\\\"name\\\":\\\"ts\\\",\\\"type\\\":\\\"timestamp\\\",\\\"nullable\\\":true,\\\"metadata\\\":{}},"
      "{\\\"name\\\":\\\"source\\\",\\\"type\\\":\\\"string\\\",\\\"nullable\\\":true,\\\"metadata\\\":{}},"
      "{\\\"name\\\":\\\"body \\\\\\\"x\\\\\\\"\\\",\\\"type\\\":\\\"string\\\",\\\"nullable\\\":true,"
      "\\\"metadata\\\":{}},"
      "{\\\"name\\\":\\\"ok\\\",\\\"type\\\":\\\"boolean\\\",\\\"nullable\\\":true,\\\"metadata\\\":{}},"
      "{\\\"name\\\":\\\"at\\\",\\\"type\\\":\\\"long\\\",\\\"nullable\\\":true,\\\"metadata\\\":{}}]}\","
      "\"partitionColumns\":[\"source\",\"ok\"],\"configuration\":{\"tidemark.table\":\"1\"},"
      "\"createdTime\":1767225600000}}\n"
      "{\"add\":{\"path\":\"source=w%2525b/ok=1/00000000000000000000-00000000000000000010." LOG_ID
      ".parquet\",\"partitionValues\":{\"source\":\"w%b\",\"ok\":\"true\"},\"size\":1001,"
      "\"modificationTime\":1767225600000,\"dataChange\":true,\"stats\":\"{\\\"numRecords\\\":10}\"}}\n"
      "{\"txn\":{\"appId\":\"" LOG_ID "/archive/source=w%25b/ok=1/0\",\"version\":10,\"lastUpdated\":1767225600000}}\n";
  struct tide_target *target = memory();
  commit_batches(target, 1, 1);
  expect(target, log_name(0, ".json"), expected);
  ck_assert(!has(target, log_name(1, ".json")));
  tide_target_destroy(target);
}
END_TEST

START_TEST(the_next_commit_adds_to_it) {
  static const char expected[] = COMMIT_INFO
      "{\"add\":{\"path\":\"source=w%2525b/ok=1/00000000000000000010-00000000000000000020." LOG_ID
      ".parquet\",\"partitionValues\":{\"source\":\"w%b\",\"ok\":\"true\"},\"size\":1002,"
      "\"modificationTime\":1767225600000,\"dataChange\":true,"
      "\"stats\":\"{\\\"numRecords\\\":10,\\\"nullCount\\\":{}}\"}}\n"
      "{\"txn\":{\"appId\":\"" LOG_ID "/archive/source=w%25b/ok=1/0\",\"version\":20,\"lastUpdated\":1767225600000}}\n";
  struct tide_target *target = memory();
  commit_batches(target, 1, 1);
  struct tide_delta_add add = batch(2);
  add.stats = "{\"numRecords\":10,\"nullCount\":{}}";
  commit(target, &add);
  expect(target, log_name(1, ".json"), expected);
  tide_target_destroy(target);
}
END_TEST

START_TEST(a_batch_is_committed_once) {
  struct tide_target *target = memory();
  commit_batches(target, 1, 12);
  commit_batches(target, 12, 12);
  commit_batches(target, 3, 3);
  expect_batches_once(target, 12);
  tide_target_destroy(target);
}
END_TEST

START_TEST(sinks_partitions_and_logs_are_told_apart) {
  struct tide_target *target = memory();
  commit_batches(target, 1, 1);
  struct tide_delta_add add = batch(1);
  add.sink = "other";
  commit(target, &add);
  add = batch(1);
  add.partition = "source=x/ok=1";
  commit(target, &add);
  add = batch(1);
  add.object.log_id = "ffffffffffffffffffffffffffffffff";
  commit(target, &add);
  ck_assert(has(target, log_name(3, ".json")));
  tide_target_destroy(target);
}
END_TEST

START_TEST(a_generation_is_a_table_of_its_own) {
  struct tide_target *target = memory();
  commit_batches(target, 1, 2);
  struct tide_delta_add add = batch(1);
  char name[] = "logs.g1/source=w%25b/ok=1/a.parquet";
  add.object.name = name;
  add.generation = 1;
  commit(target, &add);
  ck_assert(!has(target, log_name(2, ".json")));
  struct tide_buf first = bytes_of(target, "logs.g1/_delta_log/00000000000000000000.json");
  ck_assert_ptr_nonnull(strstr((char *)first.data, "\"path\":\"source=w%2525b/ok=1/a.parquet\""));
  ck_assert_ptr_nonnull(strstr((char *)first.data, "/1\",\"version\":10,"));
  tide_buf_clear(&first);
  tide_target_destroy(target);
}
END_TEST

/* ---- partition values ---- */

static void expect_values(struct tide_val source, struct tide_val ok, bool altered, const char *expected) {
  struct tide_err err = {0};
  struct tide_target *target = memory();
  struct tide_val values[] = {source, ok};
  struct tide_delta_add add = batch(1);
  bool found = false;
  add.partition_values = values;
  ck_assert_int_eq(commit_alone(target, &add, &found, &err), 0);
  assert_ok(err);
  ck_assert(found == altered);
  struct tide_buf bytes = bytes_of(target, log_name(0, ".json"));
  ck_assert_msg(strstr((char *)bytes.data, expected) != NULL, "%s is not in %s", expected, (char *)bytes.data);
  tide_buf_clear(&bytes);
  tide_target_destroy(target);
}

START_TEST(partition_values_are_texts) {
  expect_values(tide_val_null(), tide_val_null(), false, "\"partitionValues\":{\"source\":null,\"ok\":null}");
  expect_values(tide_val_text("a\"/\xc3\xa9", 5), tide_val_int(0), false,
                "\"partitionValues\":{\"source\":\"a\\\"/\xc3\xa9\",\"ok\":\"false\"}");
  expect_values(tide_val_text("", 0), tide_val_int(1), true, "\"partitionValues\":{\"source\":null,\"ok\":\"true\"}");
  columns[SOURCE].type = TIDE_TYPE_INTEGER;
  expect_values(tide_val_int(INT64_MIN), tide_val_int(1), false, "{\"source\":\"-9223372036854775808\",");
  columns[SOURCE].type = TIDE_TYPE_TIMESTAMP_S;
  expect_values(tide_val_int(1767225600), tide_val_int(1), false, "{\"source\":\"2026-01-01T00:00:00.000000Z\",");
  columns[SOURCE].type = TIDE_TYPE_TIMESTAMP_US;
  expect_values(tide_val_int(-1), tide_val_int(1), false, "{\"source\":\"1969-12-31T23:59:59.999999Z\",");
  columns[SOURCE].type = TIDE_TYPE_TIMESTAMP_MS;
  expect_values(tide_val_int(INT64_MAX), tide_val_int(1), true, "{\"source\":null,");
  columns[SOURCE].type = TIDE_TYPE_TIMESTAMP_NS;
  expect_values(tide_val_int(5), tide_val_int(1), false, "{\"source\":\"5\",");
  columns[SOURCE].type = TIDE_TYPE_TEXT;
}
END_TEST

START_TEST(only_exported_columns_partition_and_not_all) {
  static const int one[] = {SOURCE, TS, TIDE_ENCODER_SINCE};
  static const int partition_only[] = {OK, SOURCE};
  struct tide_target *target = memory();
  struct tide_delta_add add = batch(1);
  add.columns = (struct tide_delta_columns){&spec, one, 3};
  commit(target, &add);
  struct tide_buf bytes = bytes_of(target, log_name(0, ".json"));
  ck_assert_ptr_nonnull(strstr((char *)bytes.data, "\"partitionColumns\":[\"source\"]"));
  ck_assert_ptr_nonnull(strstr((char *)bytes.data, "\"partitionValues\":{\"source\":\"w%b\"}"));
  ck_assert_ptr_nonnull(strstr((char *)bytes.data, "\\\"since\\\",\\\"type\\\":\\\"long\\\""));
  tide_buf_clear(&bytes);
  tide_target_destroy(target);
  target = memory();
  add.columns = (struct tide_delta_columns){&spec, partition_only, 2};
  commit(target, &add);
  bytes = bytes_of(target, log_name(0, ".json"));
  ck_assert_ptr_nonnull(strstr((char *)bytes.data, "\"partitionColumns\":[]"));
  ck_assert_ptr_nonnull(strstr((char *)bytes.data, "\"partitionValues\":{},"));
  tide_buf_clear(&bytes);
  tide_target_destroy(target);
}
END_TEST

/* ---- columns ---- */

START_TEST(a_new_column_widens_the_schema_and_none_is_dropped) {
  struct tide_target *target = memory();
  struct tide_delta_add add = batch(1);
  add.columns = (struct tide_delta_columns){&spec, two_columns, 2};
  commit(target, &add);
  commit_batches(target, 2, 2);
  struct tide_buf bytes = bytes_of(target, log_name(1, ".json"));
  const char *line = strstr((char *)bytes.data, "{\"metaData\":");
  ck_assert_ptr_nonnull(line);
  static const char *const names[] = {"ts", "source", "body", "ok", "at"};
  for (size_t i = 0; i < 5; i++) {
    char word[50];
    snprintf(word, sizeof word, "{\\\"name\\\":\\\"%s", names[i]);
    const char *next = strstr(line, word);
    ck_assert_msg(next != NULL, "%s", names[i]);
    line = next;
  }
  ck_assert_ptr_nonnull(strstr((char *)bytes.data, "\"partitionColumns\":[\"source\"]"));
  ck_assert_ptr_nonnull(strstr((char *)bytes.data, "\"partitionValues\":{\"source\":\"w%b\"}"));
  tide_buf_clear(&bytes);
  add = batch(3);
  add.columns = (struct tide_delta_columns){&spec, two_columns, 2};
  commit(target, &add);
  bytes = bytes_of(target, log_name(2, ".json"));
  ck_assert_ptr_null(strstr((char *)bytes.data, "metaData"));
  tide_buf_clear(&bytes);
  tide_target_destroy(target);
}
END_TEST

static void expect_refused(struct tide_target *target, const struct tide_delta_add *add, const char *message) {
  struct tide_err err = {0};
  bool altered = false;
  ck_assert_int_eq(commit_alone(target, add, &altered, &err), SQLITE_CONSTRAINT);
  ck_assert(strncmp(err.msg, "logs: ", 6) == 0);
  ck_assert_str_eq(err.msg + 6, message);
  ck_assert(!has(target, log_name(1, ".json")));
}

START_TEST(another_type_is_refused) {
  struct tide_target *target = memory();
  commit_batches(target, 1, 1);
  columns[BODY].type = TIDE_TYPE_REAL;
  struct tide_delta_add add = batch(2);
  expect_refused(target, &add, "column body \"x\" is \"string\" in the Delta table, and this sink writes double");
  columns[BODY].type = TIDE_TYPE_JSON;
  char upper[] = "TS";
  columns[TS].name = upper;
  expect_refused(target, &add, "the Delta table has a column ts, which would clash with TS");
  char lower[] = "ts";
  columns[TS].name = lower;
  tide_target_destroy(target);
}
END_TEST

#define PROTOCOL "{\"protocol\":{\"minReaderVersion\":1,\"minWriterVersion\":2}}\n"
#define META(configuration, fields)                                                                                    \
  "{\"metaData\":{\"id\":\"5fba94ed-9794-4965-ba6e-6ee3c0d22af9\",\"format\":{\"provider\":\"parquet\","               \
  "\"options\":{}},\"schemaString\":\"{\\\"type\\\":\\\"struct\\\",\\\"fields\\\":[" fields                            \
  "]}\",\"partitionColumns\":[],\"configuration\":{" configuration "}}}\n"
#define OURS "\"tidemark.table\":\"1\""
#define FIELD(rest) "{\\\"name\\\":\\\"ts\\\",\\\"type\\\":\\\"timestamp\\\"," rest "}"

static void expect_table_refused(const char *first_commit, const char *message) {
  struct tide_target *target = memory();
  const struct tide_delta_add add = batch(1);
  put(target, log_name(0, ".json"), first_commit);
  expect_refused(target, &add, message);
  expect(target, log_name(0, ".json"), first_commit);
  tide_target_destroy(target);
}

START_TEST(a_table_of_others_is_refused) {
  expect_table_refused(PROTOCOL META("", ""),
                       "there is a Delta table already that Tidemark did not make: give the sink another folder");
  expect_table_refused(
      "{\"protocol\":{\"minReaderVersion\":1,\"minWriterVersion\":4}}\n" META(OURS, ""),
      "the Delta table needs readers of version 1 and writers of version 4 : Tidemark writes to tables "
      "of versions 1 and 2");
  expect_table_refused("{\"protocol\":{\"minReaderVersion\":3,\"minWriterVersion\":7,\"readerFeatures\":"
                       "[\"deletionVectors\"],\"writerFeatures\":[\"deletionVectors\"]}}\n" META(OURS, ""),
                       "the Delta table needs readers of version 3 and writers of version 7 [\"deletionVectors\"]: "
                       "Tidemark writes to tables of versions 1 and 2");
  expect_table_refused(PROTOCOL META(OURS, FIELD("\\\"nullable\\\":false,\\\"metadata\\\":{}")),
                       "column ts is NOT NULL in the Delta table, which Tidemark does not look after");
  expect_table_refused(
      PROTOCOL META(OURS, FIELD("\\\"nullable\\\":true,\\\"metadata\\\":{\\\"delta.invariants\\\":\\\"x\\\"}")),
      "column ts has rules in the Delta table that Tidemark does not know");
}
END_TEST

START_TEST(a_table_with_features_that_ask_nothing_is_taken) {
  struct tide_target *target = memory();
  put(target, log_name(0, ".json"),
      "{\"protocol\":{\"minReaderVersion\":1,\"minWriterVersion\":7,\"writerFeatures\":[\"appendOnly\",\"invariants\"]}"
      "}"
      "\n" META(OURS, FIELD("\\\"nullable\\\":true,\\\"metadata\\\":{\\\"comment\\\":\\\"when\\\"}")));
  commit_batches(target, 1, 1);
  struct tide_buf bytes = bytes_of(target, log_name(1, ".json"));
  ck_assert_ptr_nonnull(strstr((char *)bytes.data, "\\\"metadata\\\":{\\\"comment\\\":\\\"when\\\"}},{\\\"name\\\":"
                                                   "\\\"source\\\""));
  tide_buf_clear(&bytes);
  tide_target_destroy(target);
}
END_TEST

/* ---- others ---- */

static int race_batch;

static void another_commits(struct shim_target *shim) {
  static struct tide_val values[2];
  struct tide_delta_add add = batch(race_batch);
  add.partition_values = values;
  commit(shim->real, &add);
}

START_TEST(whoever_comes_second_takes_the_next_version) {
  struct tide_target *target = memory();
  struct shim_target shim = shim_over(target);
  commit_batches(target, 1, 1);
  struct tide_delta_add add = batch(5);
  add.sink = "other";
  char name[300];
  strcpy(name, add.object.name);
  add.object.name = name;
  race_batch = 2;
  shim.before_begin = another_commits;
  commit(&shim.base, &add);
  struct tide_buf bytes = bytes_of(target, log_name(1, ".json"));
  ck_assert_ptr_nonnull(strstr((char *)bytes.data, "/archive/"));
  tide_buf_clear(&bytes);
  bytes = bytes_of(target, log_name(2, ".json"));
  ck_assert_ptr_nonnull(strstr((char *)bytes.data, "/other/"));
  tide_buf_clear(&bytes);
  ck_assert(!has(target, log_name(3, ".json")));
  tide_target_destroy(target);
}
END_TEST

/* Two owners of one batch: the one that was thought to be dead commits it first. */
START_TEST(a_batch_that_another_owner_commits_meanwhile_is_one_commit) {
  struct tide_target *target = memory();
  struct shim_target shim = shim_over(target);
  commit_batches(target, 1, 3);
  const struct tide_delta_add add = batch(4);
  race_batch = 4;
  shim.before_begin = another_commits;
  commit(&shim.base, &add);
  expect_batches_once(target, 4);
  tide_target_destroy(target);
}
END_TEST

static int commits_begun, checkpoints_begun;

static int begin_noting(struct tide_target *target, const struct tide_object *object, struct tide_err *err) {
  const bool is_commit = strstr(object->name, ".json") != NULL;
  commits_begun += is_commit;
  checkpoints_begun += strstr(object->name, ".checkpoint.parquet") != NULL;
  ck_assert_msg(object->exclusive == is_commit, "%s is%s exclusive", object->name, is_commit ? " not" : "");
  return shim_begin(target, object, err);
}

/* A commit in the place of another would lose that one's file; checkpoints of one version say the same. */
START_TEST(commits_are_exclusive_and_nothing_else_is) {
  struct tide_target *target = memory();
  struct shim_target shim = shim_over(target);
  struct tide_target_methods methods = *shim.base.methods;
  methods.begin = begin_noting;
  shim.base.methods = &methods;
  commit_batches(&shim.base, 1, 12);
  ck_assert_int_eq(commits_begun, 12);
  ck_assert_int_eq(checkpoints_begun, 1);
  tide_target_destroy(target);
}
END_TEST

static void expect_no_checkpoints_after(const char *commit) {
  struct tide_target *target = memory();
  commit_batches(target, 1, 5);
  put(target, log_name(5, ".json"), commit);
  for (int n = 6; n <= 25; n++)
    commit_batches(target, n, n);
  commit_batches(target, 25, 25);
  ck_assert(has(target, log_name(25, ".json")) && !has(target, log_name(26, ".json")));
  for (int version = 0; version <= 25; version++)
    ck_assert(!has(target, log_name(version, ".checkpoint.parquet")));
  ck_assert(!has(target, "logs/_delta_log/_last_checkpoint"));
  ck_assert(has(target, "logs/_delta_log/_tidemark"));
  tide_target_destroy(target);
}

START_TEST(what_others_remove_ends_our_checkpoints_and_not_our_commits) {
  expect_no_checkpoints_after(
      "{\"remove\":{\"path\":\"x.parquet\",\"dataChange\":true}}\n{\"txn\":{\"appId\":\"spark\",\"version\":7}}\n");
}
END_TEST

/* A checkpoint of ours would have the protocol without its features, which no reader takes. */
START_TEST(so_do_features_of_the_protocol) {
  expect_no_checkpoints_after("{\"protocol\":{\"minReaderVersion\":1,\"minWriterVersion\":7,\"writerFeatures\":["
                              "\"appendOnly\",\"invariants\"]}}\n");
}
END_TEST

/* A checkpoint of ours would have the file twice. */
START_TEST(so_does_a_file_that_is_described_anew) {
  expect_no_checkpoints_after("{\"add\":{\"path\":\"x.parquet\",\"partitionValues\":{},\"size\":1,"
                              "\"modificationTime\":1,\"dataChange\":false,\"stats\":\"{}\"}}\n");
}
END_TEST

START_TEST(a_log_with_a_gap_is_an_error) {
  struct tide_err err = {0};
  struct tide_target *target = memory();
  bool altered = false;
  commit_batches(target, 1, 2);
  put(target, log_name(3, ".json"), PROTOCOL);
  const struct tide_delta_add add = batch(3);
  ck_assert_int_eq(commit_alone(target, &add, &altered, &err), SQLITE_CORRUPT);
  ck_assert_str_eq(err.msg, "logs/_delta_log has 3 of the versions 0 to 3: somebody else has cleaned up the Delta "
                            "table's log, give the sink another folder");
  tide_target_destroy(target);
}
END_TEST

START_TEST(a_commit_that_is_no_json_is_an_error) {
  struct tide_err err = {0};
  struct tide_target *target = memory();
  bool altered = false;
  put(target, log_name(0, ".json"), "{\"protocol\":{}\n");
  const struct tide_delta_add add = batch(1);
  ck_assert_int_eq(commit_alone(target, &add, &altered, &err), SQLITE_CORRUPT);
  ck_assert_str_eq(err.msg, "logs/_delta_log/00000000000000000000.json: a line of the Delta table's log is no JSON "
                            "object");
  tide_target_destroy(target);
}
END_TEST

/* ---- checkpoints ---- */

START_TEST(the_tenth_commit_makes_a_checkpoint) {
  struct tide_target *target = memory();
  char expected[200];
  commit_batches(target, 1, 9);
  ck_assert(!has(target, log_name(8, ".checkpoint.parquet")));
  commit_batches(target, 10, 10);
  struct tide_buf parquet = bytes_of(target, log_name(9, ".checkpoint.parquet"));
  ck_assert_uint_gt(parquet.len, 9);
  ck_assert(memcmp(parquet.data, "PAR1", 4) == 0 && memcmp(parquet.data + parquet.len - 5, "PAR1", 4) == 0);
  snprintf(expected, sizeof expected, "{\"version\":9,\"size\":13,\"sizeInBytes\":%zu,\"numOfAddFiles\":10}",
           parquet.len - 1);
  expect(target, "logs/_delta_log/_last_checkpoint", expected);
  tide_buf_clear(&parquet);
  commit_batches(target, 11, 19);
  ck_assert(!has(target, log_name(18, ".checkpoint.parquet")));
  commit_batches(target, 20, 20);
  ck_assert(has(target, log_name(19, ".checkpoint.parquet")));
  tide_target_destroy(target);
}
END_TEST

/* A checkpoint made from the kept copy is the one made from the log alone. */
START_TEST(the_kept_copy_only_saves_work) {
  static const char *const ruins[] = {"", "no zstd", "\x28\xb5\x2f\xfd"};
  struct tide_target *target = memory();
  commit_batches(target, 1, 20);
  struct tide_buf whole = bytes_of(target, log_name(19, ".checkpoint.parquet"));
  for (size_t i = 0; i < sizeof ruins / sizeof *ruins; i++) {
    struct tide_target *other = memory();
    commit_batches(other, 1, 13);
    put(other, "logs/_delta_log/_tidemark", ruins[i]);
    commit_batches(other, 14, 14); /* reads the log from its start, and saves again */
    ck_assert(has(other, log_name(13, ".checkpoint.parquet")));
    commit_batches(other, 15, 24);
    expect_batches_once(other, 24);
    struct tide_buf kept = bytes_of(other, "logs/_delta_log/_tidemark");
    ck_assert_uint_gt(kept.len, 100);
    tide_buf_clear(&kept);
    tide_target_destroy(other);
  }
  struct tide_target *other = memory();
  commit_batches(other, 1, 9);
  commit_batches(other, 10, 19);
  put(other, "logs/_delta_log/_tidemark", "");
  commit_batches(other, 20, 20);
  struct tide_buf again = bytes_of(other, log_name(19, ".checkpoint.parquet"));
  ck_assert_uint_eq(again.len, whole.len);
  ck_assert_int_eq(memcmp(again.data, whole.data, whole.len), 0);
  tide_buf_clear(&again);
  tide_buf_clear(&whole);
  tide_target_destroy(other);
  tide_target_destroy(target);
}
END_TEST

/* The list of files at the end of the copy is cut off, where its beginning can be read. */
START_TEST(a_damaged_list_of_files_is_made_anew_from_the_log) {
  struct tide_err err = {0};
  struct tide_target *target = memory();
  commit_batches(target, 1, 19);
  struct tide_buf kept = bytes_of(target, "logs/_delta_log/_tidemark");
  const struct tide_object object = {.name = "logs/_delta_log/_tidemark", .log_id = LOG_ID, .token = 99};
  target->methods->replace(target, &object, kept.data, kept.len - 3, &err);
  assert_ok(err);
  tide_buf_clear(&kept);
  commit_batches(target, 20, 20);
  struct tide_buf pointer = bytes_of(target, "logs/_delta_log/_last_checkpoint");
  ck_assert_ptr_nonnull(strstr((char *)pointer.data, "\"version\":19,\"size\":23,"));
  ck_assert_ptr_nonnull(strstr((char *)pointer.data, "\"numOfAddFiles\":20}"));
  tide_buf_clear(&pointer);
  expect_batches_once(target, 20);
  tide_target_destroy(target);
}
END_TEST

/* ---- a tick of several batches ---- */

struct calls {
  struct shim_target shim;
  struct tide_target_methods methods;
  int opened; /* objects, whether they are there or not */
  int copies; /* the kept copy among them */
  int lists;
};

static int count_open_read(struct tide_target *target, const char *name, struct tide_err *err) {
  struct calls *calls = (struct calls *)target;
  calls->opened++;
  calls->copies += strcmp(name, "logs/_delta_log/_tidemark") == 0;
  return shim_open_read(target, name, err);
}

static int count_list(struct tide_target *target, const char *folder, const char *after,
                      bool (*each)(void *context, const char *name, int64_t size, struct tide_err *err), void *context,
                      struct tide_err *err) {
  ((struct calls *)target)->lists++;
  return shim_list(target, folder, after, each, context, err);
}

static void count_calls(struct calls *calls, struct tide_target *target) {
  *calls = (struct calls){.shim = shim_over(target)};
  calls->methods = *calls->shim.base.methods;
  calls->methods.open_read = count_open_read;
  calls->methods.list = count_list;
  calls->shim.base.methods = &calls->methods;
}

static void expect_calls(struct calls *calls, int copies, int opened, int lists) {
  ck_assert_int_eq(calls->copies, copies);
  ck_assert_int_eq(calls->opened, opened);
  ck_assert_int_eq(calls->lists, lists);
  calls->copies = calls->opened = calls->lists = 0;
}

/* The first batch reads the copy of version 9 and what came after, 10 and 11; the next asks whether the last version is
 * there and whether there is one behind it. */
START_TEST(the_next_batch_of_a_tick_reads_no_copy) {
  struct tide_target *target = memory();
  struct calls calls;
  commit_batches(target, 1, 12);
  count_calls(&calls, target);
  struct tide_delta *delta = tick_of(&calls.shim.base);
  commit_together(delta, 13, 13);
  expect_calls(&calls, 1, 1 + 1 + 2 + 1, 0);
  commit_together(delta, 14, 14);
  expect_calls(&calls, 0, 2, 0);
  commit_together(delta, 14, 14); /* which is committed already */
  expect_calls(&calls, 0, 2, 0);
  tide_delta_destroy(delta);
  expect_batches_once(target, 14);
  tide_target_destroy(target);
}
END_TEST

/* The only copy that is read is for the list of files of the second checkpoint. */
START_TEST(a_new_table_is_listed_once_in_a_tick) {
  struct tide_target *target = memory();
  struct calls calls;
  count_calls(&calls, target);
  struct tide_delta *delta = tick_of(&calls.shim.base);
  commit_together(delta, 1, 1);
  expect_calls(&calls, 1, 2, 1);
  commit_together(delta, 2, 20);
  expect_calls(&calls, 1, 19 * 2 + 1, 0);
  tide_delta_destroy(delta);
  tide_target_destroy(target);
}
END_TEST

/* Its checkpoints and copies are those that ticks of one batch make. */
START_TEST(a_tick_of_many_batches_saves_the_same) {
  static const char *const same[] = {"_last_checkpoint", "_tidemark", "00000000000000000019.checkpoint.parquet",
                                     "00000000000000000029.checkpoint.parquet"};
  struct tide_target *alone = memory();
  struct tide_target *target = memory();
  struct tide_delta *delta = tick_of(target);
  commit_batches(alone, 1, 35);
  commit_together(delta, 1, 35);
  tide_delta_destroy(delta);
  expect_batches_once(target, 35);
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    char name[100];
    snprintf(name, sizeof name, "logs/_delta_log/%s", same[i]);
    struct tide_buf expected = bytes_of(alone, name);
    struct tide_buf found = bytes_of(target, name);
    ck_assert_msg(expected.len > 0 && found.len == expected.len, "%s", name);
    ck_assert_msg(memcmp(found.data, expected.data, found.len) == 0, "%s", name);
    tide_buf_clear(&expected);
    tide_buf_clear(&found);
  }
  tide_target_destroy(target);
  tide_target_destroy(alone);
}
END_TEST

START_TEST(what_others_commit_between_two_batches_is_seen) {
  struct tide_target *target = memory();
  struct tide_delta *delta = tick_of(target);
  commit_together(delta, 1, 2);
  commit_batches(target, 3, 4); /* another owner of the same sink */
  commit_together(delta, 3, 5);
  expect_batches_once(target, 5);
  put(target, log_name(5, ".json"), "{\"protocol\":{\"minReaderVersion\":1,\"minWriterVersion\":4}}\n");
  struct tide_err err = {0};
  bool altered = false;
  const struct tide_delta_add add = batch(6);
  ck_assert_int_eq(tide_delta_commit(delta, &add, &altered, &err), SQLITE_CONSTRAINT);
  ck_assert(!has(target, log_name(6, ".json")));
  tide_delta_destroy(delta);
  tide_target_destroy(target);
}
END_TEST

/* Files in a copy that another has made meanwhile are not told from those that came since the one that is known:
 * nothing is saved then, and the new copy is read. */
START_TEST(a_copy_that_another_replaced_is_read_again) {
  struct tide_target *target = memory();
  struct calls calls;
  count_calls(&calls, target);
  struct tide_delta *delta = tick_of(&calls.shim.base);
  commit_together(delta, 1, 12);
  commit_batches(target, 13, 22); /* saves version 19 */
  commit_together(delta, 23, 23);
  ck_assert(!has(target, log_name(22, ".checkpoint.parquet")));
  calls.copies = 0;
  commit_together(delta, 24, 29);
  ck_assert_int_eq(calls.copies, 1);
  commit_together(delta, 30, 30);
  struct tide_buf pointer = bytes_of(target, "logs/_delta_log/_last_checkpoint");
  ck_assert_ptr_nonnull(strstr((char *)pointer.data, "\"version\":29,\"size\":33,"));
  ck_assert_ptr_nonnull(strstr((char *)pointer.data, "\"numOfAddFiles\":30}"));
  tide_buf_clear(&pointer);
  tide_delta_destroy(delta);
  expect_batches_once(target, 30);
  tide_target_destroy(target);
}
END_TEST

START_TEST(a_tick_tells_tables_apart) {
  struct tide_target *target = memory();
  struct tide_delta *delta = tick_of(target);
  for (int n = 1; n <= 4; n++) {
    struct tide_err err = {0};
    struct tide_delta_add add = batch(n);
    char name[] = "logs.g1/source=w%25b/ok=1/1.parquet";
    bool altered = false;
    commit_together(delta, n, n);
    name[strlen("logs.g1/source=w%25b/ok=1/")] = (char)('0' + n);
    add.object.name = name;
    add.generation = 1;
    ck_assert_int_eq(tide_delta_commit(delta, &add, &altered, &err), 0);
    assert_ok(err);
  }
  tide_delta_destroy(delta);
  expect_batches_once(target, 4);
  ck_assert(has(target, "logs.g1/_delta_log/00000000000000000003.json"));
  ck_assert(!has(target, "logs.g1/_delta_log/00000000000000000004.json"));
  tide_target_destroy(target);
}
END_TEST

/* ---- failures ---- */

/* Every call of the target fails in turn, before or after its effect, while the batches 9 to 11 are committed in one
 * tick; each failed batch is tried again in it. */
static void fail_everywhere(struct tide_target *(*make)(void), void (*unmake)(struct tide_target *target), long step,
                            bool after) {
  for (long call = 1;; call += step) {
    struct tide_err err = {0};
    struct tide_target *target = make();
    struct shim_target shim = shim_over(target);
    bool altered = false;
    commit_batches(target, 1, 8);
    struct tide_delta *delta = tick_of(&shim.base);
    shim.until = call;
    shim.after = after;
    for (int n = 9; n <= 11; n++) {
      struct tide_delta_add add = batch(n);
      if (tide_delta_commit(delta, &add, &altered, &err) == 0)
        continue;
      ck_assert(shim.failed);
      ck_assert_int_eq(err.rc, SQLITE_IOERR);
      tide_err_clear(&err);
      add.object.again = true;
      ck_assert_int_eq(tide_delta_commit(delta, &add, &altered, &err), 0);
      assert_ok(err);
    }
    tide_delta_destroy(delta);
    expect_batches_once(target, 11);
    ck_assert(has(target, log_name(9, ".checkpoint.parquet")) || has(target, log_name(10, ".checkpoint.parquet")));
    ck_assert(has(target, "logs/_delta_log/_last_checkpoint"));
    unmake(target);
    if (!shim.failed)
      break;
    ck_assert_int_lt(call, 1000);
  }
}

START_TEST(a_failed_call_is_made_good_by_the_next_try) {
  fail_everywhere(memory, tide_target_destroy, 1, false);
  fail_everywhere(memory, tide_target_destroy, 1, true);
}
END_TEST

static char root[] = "/tmp/tide_delta_XXXXXX";

static struct tide_target *folder(void) {
  struct tide_err err = {0};
  strcpy(root, "/tmp/tide_delta_XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(root));
  struct tide_target *target = tide_target_dir_open(root, &err);
  assert_ok(err);
  return target;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where) {
  (void)st, (void)type, (void)where;
  return remove(path);
}

static void remove_folder(struct tide_target *target) {
  tide_target_destroy(target);
  nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

START_TEST(so_it_is_in_a_folder) {
  const long folder_step = effort_is_long() ? 1 : 17; /* a sample: a folder syncs at each step */
  fail_everywhere(folder, remove_folder, folder_step, false);
  fail_everywhere(folder, remove_folder, folder_step, true);
}
END_TEST

START_TEST(a_log_that_was_taken_away_begins_anew) {
  struct tide_target *target = folder();
  char path[300];
  commit_batches(target, 1, 12);
  for (int version = 0; version < 12; version++) {
    snprintf(path, sizeof path, "%s/%s", root, log_name(version, ".json"));
    ck_assert_int_eq(unlink(path), 0);
  }
  commit_batches(target, 13, 13);
  struct tide_buf bytes = bytes_of(target, log_name(0, ".json"));
  ck_assert_ptr_nonnull(strstr((char *)bytes.data, "{\"protocol\":"));
  ck_assert_ptr_nonnull(strstr((char *)bytes.data, "\"version\":130,"));
  tide_buf_clear(&bytes);
  remove_folder(target);
}
END_TEST

START_TEST(so_does_one_that_goes_in_the_middle_of_a_tick) {
  struct tide_target *target = folder();
  char path[300];
  struct tide_delta *delta = tick_of(target);
  commit_together(delta, 1, 3);
  for (int version = 0; version < 3; version++) {
    snprintf(path, sizeof path, "%s/%s", root, log_name(version, ".json"));
    ck_assert_int_eq(unlink(path), 0);
  }
  commit_together(delta, 4, 4);
  struct tide_buf bytes = bytes_of(target, log_name(0, ".json"));
  ck_assert_ptr_nonnull(strstr((char *)bytes.data, "{\"protocol\":"));
  tide_buf_clear(&bytes);
  ck_assert(!has(target, log_name(3, ".json")));
  tide_delta_destroy(delta);
  remove_folder(target);
}
END_TEST

/* As others do when commits are old: the first ones go, and their checkpoint stands for them. */
START_TEST(a_log_that_others_have_cut_short_is_an_error) {
  struct tide_err err = {0};
  struct tide_target *target = folder();
  char path[300];
  bool altered = false;
  commit_batches(target, 1, 12);
  for (int version = 0; version < 10; version++) {
    snprintf(path, sizeof path, "%s/%s", root, log_name(version, ".json"));
    ck_assert_int_eq(unlink(path), 0);
  }
  const struct tide_delta_add add = batch(13);
  ck_assert_int_eq(commit_alone(target, &add, &altered, &err), SQLITE_CORRUPT);
  ck_assert_str_eq(err.msg, "logs/_delta_log has 2 of the versions 0 to 11: somebody else has cleaned up the Delta "
                            "table's log, give the sink another folder");
  ck_assert(!has(target, log_name(0, ".json")) && !has(target, log_name(12, ".json")));
  remove_folder(target);
}
END_TEST

START_TEST(every_failed_allocation_is_an_error_and_leaks_nothing) {
  oom_install();
  for (long n = 1;; n++) {
    struct tide_err err = {0};
    struct tide_target *target = memory();
    const long before = oom_live();
    bool altered = false;
    commit_batches(target, 1, 9);
    const struct tide_delta_add add = batch(10);
    oom_fail_at(n);
    struct tide_delta *delta = tide_delta_create(target, &err);
    const int rc = delta != NULL ? tide_delta_commit(delta, &add, &altered, &err) : err.rc;
    const bool failed = oom_has_failed();
    oom_fail_at(0);
    ck_assert_int_eq(rc, failed ? SQLITE_NOMEM : 0);
    if (delta == NULL)
      delta = tick_of(target);
    commit_together(delta, 10, 10);
    tide_delta_destroy(delta);
    expect_batches_once(target, 10);
    ck_assert_int_ge(oom_live(), before);
    tide_target_destroy(target);
    ck_assert_int_lt(oom_live(), before);
    if (!failed)
      break;
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {the_first_commit_makes_the_table,
                                the_next_commit_adds_to_it,
                                a_batch_is_committed_once,
                                sinks_partitions_and_logs_are_told_apart,
                                a_generation_is_a_table_of_its_own,
                                partition_values_are_texts,
                                only_exported_columns_partition_and_not_all,
                                a_new_column_widens_the_schema_and_none_is_dropped,
                                another_type_is_refused,
                                a_table_of_others_is_refused,
                                a_table_with_features_that_ask_nothing_is_taken,
                                whoever_comes_second_takes_the_next_version,
                                a_batch_that_another_owner_commits_meanwhile_is_one_commit,
                                commits_are_exclusive_and_nothing_else_is,
                                what_others_remove_ends_our_checkpoints_and_not_our_commits,
                                so_do_features_of_the_protocol,
                                so_does_a_file_that_is_described_anew,
                                a_log_with_a_gap_is_an_error,
                                a_commit_that_is_no_json_is_an_error,
                                the_tenth_commit_makes_a_checkpoint,
                                the_kept_copy_only_saves_work,
                                a_damaged_list_of_files_is_made_anew_from_the_log,
                                the_next_batch_of_a_tick_reads_no_copy,
                                a_new_table_is_listed_once_in_a_tick,
                                a_tick_of_many_batches_saves_the_same,
                                what_others_commit_between_two_batches_is_seen,
                                a_copy_that_another_replaced_is_read_again,
                                a_tick_tells_tables_apart,
                                a_failed_call_is_made_good_by_the_next_try,
                                so_it_is_in_a_folder,
                                a_log_that_was_taken_away_begins_anew,
                                so_does_one_that_goes_in_the_middle_of_a_tick,
                                a_log_that_others_have_cut_short_is_an_error,
                                every_failed_allocation_is_an_error_and_leaks_nothing,
                                NULL};
  return unit_main("delta", tests);
}
