#include "sink/delta_checkpoint.h"

#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/parquet_file.h"

enum { ZSTD_LEVEL = 3 };

/* ---- the schema ---- */

/* clang-format off */
#define GROUP(n, c) {.name = n, .children = c, .repetition = TIDE_PARQUET_OPTIONAL}
#define LEAF(n, t)  {.name = n, .type = t, .repetition = TIDE_PARQUET_OPTIONAL}
#define LONG(n)     LEAF(n, TIDE_PARQUET_INT64)
#define INT(n)      LEAF(n, TIDE_PARQUET_INT32)
#define BOOL(n)     LEAF(n, TIDE_PARQUET_BOOLEAN)
#define TEXT(n)     {.name = n, .type = TIDE_PARQUET_BYTE_ARRAY, .repetition = TIDE_PARQUET_OPTIONAL, \
                     .logical = TIDE_PARQUET_STRING}
#define KEY         {.name = "key", .type = TIDE_PARQUET_BYTE_ARRAY, .logical = TIDE_PARQUET_STRING}
#define MAP(n)      {.name = n, .children = 1, .repetition = TIDE_PARQUET_OPTIONAL, .logical = TIDE_PARQUET_MAP}, \
                    {.name = "key_value", .children = 2, .repetition = TIDE_PARQUET_REPEATED}, KEY, TEXT("value")
#define LIST(n)     {.name = n, .children = 1, .repetition = TIDE_PARQUET_OPTIONAL, .logical = TIDE_PARQUET_LIST}, \
                    {.name = "list", .children = 1, .repetition = TIDE_PARQUET_REPEATED}, TEXT("element")

static const struct tide_parquet_node nodes[] = {
  {.name = "spark_schema", .children = 5},
  GROUP("txn", 3), TEXT("appId"), LONG("version"), LONG("lastUpdated"),
  GROUP("add", 6), TEXT("path"), MAP("partitionValues"), LONG("size"), LONG("modificationTime"), BOOL("dataChange"),
    TEXT("stats"),
  GROUP("remove", 3), TEXT("path"), LONG("deletionTimestamp"), BOOL("dataChange"),
  GROUP("metaData", 8), TEXT("id"), TEXT("name"), TEXT("description"),
    GROUP("format", 2), TEXT("provider"), MAP("options"),
    TEXT("schemaString"), LIST("partitionColumns"), LONG("createdTime"), MAP("configuration"),
  GROUP("protocol", 2), INT("minReaderVersion"), INT("minWriterVersion"),
};
/* clang-format on */

/* The leaves, in the schema's order. A map has two: keys, then values. */
enum leaf {
  TXN_APP,
  TXN_VERSION,
  TXN_UPDATED,
  ADD_PATH,
  ADD_PARTITION_VALUES,
  ADD_SIZE = ADD_PARTITION_VALUES + 2,
  ADD_TIME,
  ADD_DATA_CHANGE,
  ADD_STATS,
  REMOVE_PATH,
  REMOVE_TIME,
  REMOVE_DATA_CHANGE,
  META_ID,
  META_NAME,
  META_DESCRIPTION,
  META_PROVIDER,
  META_OPTIONS,
  META_SCHEMA = META_OPTIONS + 2,
  META_PARTITION_COLUMNS,
  META_CREATED,
  META_CONFIGURATION,
  PROTOCOL_READER = META_CONFIGURATION + 2,
  PROTOCOL_WRITER,
  LEAVES
};

struct tide_delta_checkpoint {
  struct tide_parquet_file *file;
  int64_t rows;
  struct tide_buf text;
};

struct tide_delta_checkpoint *tide_delta_checkpoint_create(struct tide_err *err) {
  struct tide_delta_checkpoint *checkpoint = tide_alloc_zero(1, sizeof *checkpoint, err);
  if (checkpoint == NULL)
    return NULL;
  checkpoint->file = tide_parquet_file_create(nodes, sizeof nodes / sizeof *nodes,
                                              tide_parquet_layout_find(TIDE_PARQUET_LAYOUT_NEWEST), ZSTD_LEVEL, err);
  if (checkpoint->file != NULL)
    return checkpoint;
  tide_delta_checkpoint_destroy(checkpoint);
  return NULL;
}

void tide_delta_checkpoint_destroy(struct tide_delta_checkpoint *checkpoint) {
  if (checkpoint == NULL)
    return;
  tide_parquet_file_destroy(checkpoint->file);
  tide_buf_clear(&checkpoint->text);
  tide_free(checkpoint);
}

/* ---- values ---- */

static void put_null(struct tide_delta_checkpoint *checkpoint, enum leaf leaf, unsigned rep, unsigned def,
                     struct tide_err *err) {
  struct tide_parquet_leaf *to = tide_parquet_file_leaf(checkpoint->file, leaf);
  tide_parquet_leaf_reserve(to, 1, err);
  if (!tide_err_is_set(err))
    tide_parquet_put_null(to, rep, def);
}

static void put_number(struct tide_delta_checkpoint *checkpoint, enum leaf leaf, int64_t value, struct tide_err *err) {
  struct tide_parquet_leaf *to = tide_parquet_file_leaf(checkpoint->file, leaf);
  tide_parquet_leaf_reserve(to, 1, err);
  if (!tide_err_is_set(err))
    tide_parquet_put_number(to, 0, value);
}

static void put_bytes(struct tide_delta_checkpoint *checkpoint, enum leaf leaf, unsigned rep, const void *bytes,
                      size_t size, struct tide_err *err) {
  tide_parquet_put_bytes(tide_parquet_file_leaf(checkpoint->file, leaf), rep, bytes, size, err);
}

/* A JSON string; def is the level of what holds it, for one that is not there. */
static void put_string(struct tide_delta_checkpoint *checkpoint, enum leaf leaf, unsigned rep, unsigned def,
                       struct tide_json_slice string, struct tide_err *err) {
  if (!tide_json_is_string(string)) {
    put_null(checkpoint, leaf, rep, def, err);
    return;
  }
  tide_buf_reset(&checkpoint->text);
  tide_json_put_unescaped(&checkpoint->text, string, err);
  put_bytes(checkpoint, leaf, rep, checkpoint->text.data, checkpoint->text.len, err);
}

/* A JSON number; NULL when it is not there. */
static void put_long(struct tide_delta_checkpoint *checkpoint, enum leaf leaf, struct tide_json_slice number,
                     struct tide_err *err) {
  int64_t value = 0;
  if (tide_json_integer(number, &value))
    put_number(checkpoint, leaf, value, err);
  else
    put_null(checkpoint, leaf, 0, 1, err);
}

/* An object of strings as a map; def is the level of what holds it. */
static void put_map(struct tide_delta_checkpoint *checkpoint, enum leaf leaf, unsigned def,
                    struct tide_json_slice object, struct tide_err *err) {
  struct tide_json_walk walk = tide_json_walk_into(object);
  struct tide_json_slice name, value;
  unsigned rep = 0;
  for (; tide_json_walk_next(&walk, &name, &value) && !tide_err_is_set(err); rep = 1) {
    const struct tide_json_slice quoted = {name.at - 1, name.size + 2};
    put_string(checkpoint, leaf, rep, def, quoted, err);
    put_string(checkpoint, leaf + 1, rep, def + 2, value, err);
  }
  if (rep == 0) {
    put_null(checkpoint, leaf, 0, def + 1, err);
    put_null(checkpoint, leaf + 1, 0, def + 1, err);
  }
}

static void put_list(struct tide_delta_checkpoint *checkpoint, enum leaf leaf, unsigned def,
                     struct tide_json_slice array, struct tide_err *err) {
  struct tide_json_walk walk = tide_json_walk_into(array);
  struct tide_json_slice none, value;
  unsigned rep = 0;
  for (; tide_json_walk_next(&walk, &none, &value) && !tide_err_is_set(err); rep = 1)
    put_string(checkpoint, leaf, rep, def + 2, value, err);
  if (rep == 0)
    put_null(checkpoint, leaf, 0, def + 1, err);
}

/* ---- rows ---- */

/* Ends a row whose leaves from first to last - 1 have been put. */
static void end_row(struct tide_delta_checkpoint *checkpoint, enum leaf first, enum leaf last, struct tide_buf *out,
                    struct tide_err *err) {
  for (int leaf = 0; leaf < LEAVES; leaf++) {
    if (leaf < (int)first || leaf >= (int)last)
      put_null(checkpoint, (enum leaf)leaf, 0, 0, err);
  }
  checkpoint->rows++;
  if (!tide_err_is_set(err))
    tide_parquet_file_end_rows(checkpoint->file, out, err);
}

static void put_protocol(struct tide_delta_checkpoint *checkpoint, struct tide_json_slice protocol,
                         struct tide_buf *out, struct tide_err *err) {
  put_long(checkpoint, PROTOCOL_READER, tide_json_member(protocol, "minReaderVersion"), err);
  put_long(checkpoint, PROTOCOL_WRITER, tide_json_member(protocol, "minWriterVersion"), err);
  end_row(checkpoint, PROTOCOL_READER, LEAVES, out, err);
}

static void put_meta(struct tide_delta_checkpoint *checkpoint, struct tide_json_slice meta, struct tide_buf *out,
                     struct tide_err *err) {
  const struct tide_json_slice format = tide_json_member(meta, "format");
  put_string(checkpoint, META_ID, 0, 1, tide_json_member(meta, "id"), err);
  put_string(checkpoint, META_NAME, 0, 1, tide_json_member(meta, "name"), err);
  put_string(checkpoint, META_DESCRIPTION, 0, 1, tide_json_member(meta, "description"), err);
  put_string(checkpoint, META_PROVIDER, 0, 2, tide_json_member(format, "provider"), err);
  put_map(checkpoint, META_OPTIONS, 2, tide_json_member(format, "options"), err);
  put_string(checkpoint, META_SCHEMA, 0, 1, tide_json_member(meta, "schemaString"), err);
  put_list(checkpoint, META_PARTITION_COLUMNS, 1, tide_json_member(meta, "partitionColumns"), err);
  put_long(checkpoint, META_CREATED, tide_json_member(meta, "createdTime"), err);
  put_map(checkpoint, META_CONFIGURATION, 1, tide_json_member(meta, "configuration"), err);
  end_row(checkpoint, META_ID, PROTOCOL_READER, out, err);
}

static void put_txn(struct tide_delta_checkpoint *checkpoint, const struct tide_delta_txn *txn, struct tide_buf *out,
                    struct tide_err *err) {
  put_bytes(checkpoint, TXN_APP, 0, txn->app, strlen(txn->app), err);
  put_number(checkpoint, TXN_VERSION, txn->version, err);
  if (txn->updated_ms >= 0)
    put_number(checkpoint, TXN_UPDATED, txn->updated_ms, err);
  else
    put_null(checkpoint, TXN_UPDATED, 0, 1, err);
  end_row(checkpoint, TXN_APP, ADD_PATH, out, err);
}

void tide_delta_checkpoint_put_head(struct tide_delta_checkpoint *checkpoint, const struct tide_delta_table *table,
                                    struct tide_buf *out, struct tide_err *err) {
  put_protocol(checkpoint, tide_delta_slice(&table->protocol), out, err);
  put_meta(checkpoint, tide_delta_slice(&table->meta), out, err);
  for (size_t i = 0; i < table->txns.count && !tide_err_is_set(err); i++)
    put_txn(checkpoint, &table->txns.all[i], out, err);
}

void tide_delta_checkpoint_put_add(struct tide_delta_checkpoint *checkpoint, struct tide_json_slice add,
                                   struct tide_buf *out, struct tide_err *err) {
  const struct tide_json_slice path = tide_json_member(add, "path");
  int64_t size = 0;
  if (!tide_json_is_string(path) || !tide_json_integer(tide_json_member(add, "size"), &size))
    tide_err_set(err, SQLITE_CORRUPT, "a file of the Delta table has no path and size");
  put_string(checkpoint, ADD_PATH, 0, 1, path, err);
  put_map(checkpoint, ADD_PARTITION_VALUES, 1, tide_json_member(add, "partitionValues"), err);
  put_number(checkpoint, ADD_SIZE, size, err);
  put_long(checkpoint, ADD_TIME, tide_json_member(add, "modificationTime"), err);
  put_number(checkpoint, ADD_DATA_CHANGE, tide_json_slice_is(tide_json_member(add, "dataChange"), "true"), err);
  put_string(checkpoint, ADD_STATS, 0, 1, tide_json_member(add, "stats"), err);
  end_row(checkpoint, ADD_PATH, REMOVE_PATH, out, err);
}

int64_t tide_delta_checkpoint_finish(struct tide_delta_checkpoint *checkpoint, struct tide_buf *out,
                                     struct tide_err *err) {
  char hash[TIDE_HASH_DIGITS_SIZE];
  if (!tide_err_is_set(err))
    tide_parquet_file_finish(checkpoint->file, NULL, 0, out, hash, err);
  return checkpoint->rows;
}
