#include "store/catalog.h"

#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"

static const char *const create_sql[] = {
    "CREATE TABLE " TIDE_TABLE("config") "(key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID",
    "CREATE TABLE " TIDE_TABLE("column") "(ordinal INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,"
                                         " not_null INTEGER NOT NULL, partition_at INTEGER) STRICT",
    "CREATE TABLE " TIDE_TABLE("partition") "(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
                                            " written INTEGER NOT NULL DEFAULT 0, deleted INTEGER NOT NULL DEFAULT 0,"
                                            " last_since INTEGER NOT NULL DEFAULT 0, UNIQUE(last_since, id)) STRICT",
    "CREATE TABLE " TIDE_TABLE("segment") "(partition INTEGER NOT NULL, last_since INTEGER NOT NULL,"
                                          " first_since INTEGER NOT NULL, rows INTEGER NOT NULL,"
                                          " deleted INTEGER NOT NULL DEFAULT 0, revision INTEGER NOT NULL DEFAULT 0,"
                                          " chunk INTEGER NOT NULL, raw_bytes INTEGER NOT NULL,"
                                          " stored_bytes INTEGER NOT NULL, meta BLOB NOT NULL,"
                                          " PRIMARY KEY(partition, last_since)) STRICT, WITHOUT ROWID",
    "CREATE TABLE " TIDE_TABLE("chunk") "(id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT",
    "CREATE TABLE " TIDE_TABLE("deleted") "(since INTEGER PRIMARY KEY, partition INTEGER NOT NULL) STRICT",
    "CREATE TABLE " TIDE_TABLE(
        "tail") "(last_since INTEGER PRIMARY KEY, partition INTEGER NOT NULL,"
                " first_since INTEGER NOT NULL, rows INTEGER NOT NULL, data BLOB NOT NULL) STRICT",
    NULL};

static void create_columns(sqlite3 *db, struct tide_names names, const struct tide_spec *spec, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_prepare(db, err, "INSERT INTO " TIDE_TABLE("column") " VALUES(?1, ?2, ?3, ?4, ?5)",
                                         names.schema, names.dataset);
  for (size_t i = 0; i < spec->ncolumns && !tide_err_is_set(err); i++) {
    const struct tide_column *column = &spec->columns[i];
    sqlite3_bind_int64(stmt, 1, (int64_t)i);
    sqlite3_bind_text(stmt, 2, column->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 3, tide_spec_type_name(column->type), -1, SQLITE_STATIC);
    sqlite3_bind_int(stmt, 4, column->not_null);
    if (column->partition_at >= 0)
      sqlite3_bind_int(stmt, 5, column->partition_at);
    else
      sqlite3_bind_null(stmt, 5);
    tide_stmt_run(stmt, err);
  }
  sqlite3_finalize(stmt);
}

void tide_catalog_create(sqlite3 *db, struct tide_names names, const struct tide_spec *spec, const char *log_id,
                         struct tide_err *err) {
  for (size_t i = 0; create_sql[i] != NULL; i++)
    tide_stmt_exec(db, err, create_sql[i], names.schema, names.dataset);
  tide_stmt_exec(
      db, err,
      "INSERT INTO " TIDE_TABLE("config") "(key, value) VALUES('format', %d), ('log_id', %Q), ('sealed_since', 0),"
                                          " ('next_chunk', 1), ('seals', 0), ('segment_rows', %lld),"
                                          " ('zstd_level', %d), ('autoflush', %d)",
      names.schema, names.dataset, TIDE_CATALOG_FORMAT, log_id, (long long)spec->segment_rows, spec->zstd_level,
      spec->autoflush ? 1 : 0);
  create_columns(db, names, spec, err);
}

void tide_catalog_drop(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  for (size_t i = 0; tide_names_suffixes[i] != NULL; i++)
    tide_stmt_exec(db, err, "DROP TABLE IF EXISTS \"%w\".\"%w_%w\"", names.schema, names.dataset,
                   tide_names_suffixes[i]);
}

void tide_catalog_rename(sqlite3 *db, struct tide_names names, const char *new_name, struct tide_err *err) {
  for (size_t i = 0; tide_names_suffixes[i] != NULL; i++)
    tide_stmt_exec(db, err, "ALTER TABLE \"%w\".\"%w_%w\" RENAME TO \"%w_%w\"", names.schema, names.dataset,
                   tide_names_suffixes[i], new_name, tide_names_suffixes[i]);
}

/* ---- config ---- */

struct config_key {
  const char *name;
  int64_t *value;
  int64_t min;
  int64_t max;
};

static bool set_config_key(struct config_key *keys, size_t nkeys, const char *name, sqlite3_stmt *stmt) {
  for (size_t i = 0; i < nkeys; i++) {
    if (strcmp(name, keys[i].name) == 0 && sqlite3_column_type(stmt, 1) == SQLITE_INTEGER) {
      *keys[i].value = sqlite3_column_int64(stmt, 1);
      return true;
    }
  }
  return false;
}

void tide_catalog_config(sqlite3 *db, struct tide_names names, struct tide_config *ret_config, struct tide_err *err) {
  struct tide_config config = {.format = -1,
                               .sealed_since = -1,
                               .next_chunk = -1,
                               .seals = -1,
                               .segment_rows = -1,
                               .zstd_level = -1,
                               .autoflush = -1};
  struct config_key keys[] = {
      {"format", &config.format, 1, INT32_MAX},
      {"sealed_since", &config.sealed_since, 0, INT64_MAX},
      {"next_chunk", &config.next_chunk, 1, TIDE_CATALOG_COUNT_MAX},
      {"seals", &config.seals, 0, TIDE_CATALOG_COUNT_MAX},
      {"segment_rows", &config.segment_rows, TIDE_SPEC_SEGMENT_ROWS_MIN, TIDE_SPEC_SEGMENT_ROWS_MAX},
      {"zstd_level", &config.zstd_level, TIDE_SPEC_ZSTD_LEVEL_MIN, TIDE_SPEC_ZSTD_LEVEL_MAX},
      {"autoflush", &config.autoflush, 0, 1}};
  const size_t nkeys = sizeof keys / sizeof *keys;
  sqlite3_stmt *stmt =
      tide_stmt_prepare(db, err, "SELECT key, value FROM " TIDE_TABLE("config"), names.schema, names.dataset);
  while (tide_stmt_row(stmt, err)) {
    const char *name = (const char *)sqlite3_column_text(stmt, 0);
    if (name == NULL || set_config_key(keys, nkeys, name, stmt) || strcmp(name, "log_id") != 0)
      continue;
    const char *text = (const char *)sqlite3_column_text(stmt, 1);
    if (text != NULL && sqlite3_column_bytes(stmt, 1) == (int)sizeof config.log_id - 1 &&
        strspn(text, "0123456789abcdef") == sizeof config.log_id - 1)
      memcpy(config.log_id, text, sizeof config.log_id);
  }
  sqlite3_finalize(stmt);
  if (!tide_err_is_set(err) && config.format > TIDE_CATALOG_FORMAT)
    tide_err_set(err, SQLITE_ERROR, "dataset %s has format %lld, this Tidemark reads up to %d: load a newer one",
                 names.dataset, (long long)config.format, TIDE_CATALOG_FORMAT);
  for (size_t i = 0; i < nkeys; i++) {
    if (*keys[i].value < keys[i].min || *keys[i].value > keys[i].max)
      tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_config has no valid %s", names.dataset, names.dataset,
                   keys[i].name);
  }
  if (config.log_id[0] == '\0')
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_config has no valid log_id", names.dataset, names.dataset);
  if (!tide_err_is_set(err))
    *ret_config = config;
}

void tide_catalog_summary(sqlite3 *db, struct tide_names names, struct tide_catalog_summary *ret_summary,
                          struct tide_err *err) {
  const struct tide_catalog_summary summary = {
      .deleted_max =
          tide_stmt_int(db, 0, err, "SELECT max(since) FROM " TIDE_TABLE("deleted"), names.schema, names.dataset),
      .segments_last = tide_stmt_int(db, 0, err, "SELECT max(last_since) FROM " TIDE_TABLE("partition"), names.schema,
                                     names.dataset),
      .partitions =
          tide_stmt_int(db, 0, err, "SELECT count(*) FROM (SELECT 1 FROM " TIDE_TABLE("partition") " LIMIT %d)",
                        names.schema, names.dataset, TIDE_CATALOG_PARTITIONS_COUNTED)};
  if (!tide_err_is_set(err))
    *ret_summary = summary;
}

void tide_catalog_sealed(sqlite3 *db, struct tide_names names, int64_t partition, int64_t written, int64_t last_since,
                         const struct tide_config *config, struct tide_err *err) {
  tide_stmt_exec(db, err,
                 "UPDATE " TIDE_TABLE("partition") " SET written = written + %lld, last_since = %lld WHERE id = %lld",
                 names.schema, names.dataset, (long long)written, (long long)last_since, (long long)partition);
  tide_stmt_exec(
      db, err,
      "UPDATE " TIDE_TABLE("config") " SET value = CASE key WHEN 'sealed_since' THEN %lld WHEN 'next_chunk' THEN %lld"
                                     " ELSE %lld END WHERE key IN ('sealed_since', 'next_chunk', 'seals')",
      names.schema, names.dataset, (long long)config->sealed_since, (long long)config->next_chunk,
      (long long)config->seals);
}

bool tide_catalog_is_utf16(sqlite3 *db, struct tide_err *err) {
  return tide_stmt_int(db, 0, err, "SELECT encoding <> 'UTF-8' FROM pragma_encoding") != 0;
}

/* ---- spec ---- */

static void read_column(sqlite3_stmt *stmt, struct tide_spec *spec, size_t *cap, const char *dataset,
                        struct tide_err *err) {
  void *columns = spec->columns;
  if (tide_grow(&columns, cap, spec->ncolumns + 1, sizeof *spec->columns, err) != 0)
    return;
  spec->columns = columns;
  struct tide_column column = {.partition_at = -1};
  const char *name = (const char *)sqlite3_column_text(stmt, 0);
  const char *type = (const char *)sqlite3_column_text(stmt, 1);
  if (name == NULL || type == NULL || !tide_spec_type_of(type, strlen(type), &column.type)) {
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_column row %d is not a column", dataset, dataset,
                 (int)spec->ncolumns);
    return;
  }
  column.not_null = sqlite3_column_int(stmt, 2) != 0;
  if (sqlite3_column_type(stmt, 3) != SQLITE_NULL) {
    column.partition_at = sqlite3_column_int(stmt, 3);
    spec->npartition++;
  }
  column.name = tide_copy_string(name, err);
  if (column.name != NULL)
    spec->columns[spec->ncolumns++] = column;
}

static void place_partition_columns(struct tide_spec *spec, const char *dataset, struct tide_err *err) {
  if (spec->npartition > TIDE_SPEC_PARTITION_MAX) {
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_column has more than %d partition columns", dataset, dataset,
                 TIDE_SPEC_PARTITION_MAX);
    return;
  }
  spec->partition = tide_alloc_zero(spec->npartition, sizeof *spec->partition, err);
  if (spec->partition == NULL)
    return;
  size_t placed = 0;
  for (size_t at = 0; at < spec->npartition; at++) {
    for (size_t i = 0; i < spec->ncolumns; i++) {
      if (spec->columns[i].partition_at == (int)at) {
        spec->partition[at] = i;
        placed++;
      }
    }
  }
  if (placed != spec->npartition)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_column names the partition columns twice or not at all",
                 dataset, dataset);
}

struct tide_spec *tide_catalog_spec(sqlite3 *db, struct tide_names names, const struct tide_config *config,
                                    struct tide_err *err) {
  struct tide_spec *spec = tide_err_is_set(err) ? NULL : tide_alloc_zero(1, sizeof *spec, err);
  if (spec == NULL)
    return NULL;
  spec->refs = 1;
  spec->segment_rows = config->segment_rows;
  spec->zstd_level = (int)config->zstd_level;
  spec->autoflush = config->autoflush != 0;
  size_t cap = 0;
  sqlite3_stmt *stmt = tide_stmt_prepare(
      db, err, "SELECT name, type, not_null, partition_at FROM " TIDE_TABLE("column") " ORDER BY ordinal LIMIT %d",
      names.schema, names.dataset, TIDE_SPEC_COLUMNS_MAX);
  while (tide_stmt_row(stmt, err))
    read_column(stmt, spec, &cap, names.dataset, err);
  sqlite3_finalize(stmt);
  if (!tide_err_is_set(err) && spec->ncolumns == 0)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_column is empty", names.dataset, names.dataset);
  if (!tide_err_is_set(err))
    place_partition_columns(spec, names.dataset, err);
  if (tide_err_is_set(err)) {
    tide_spec_unref(spec);
    return NULL;
  }
  return spec;
}

/* ---- partitions ---- */

int64_t tide_catalog_partition_find(sqlite3 *db, struct tide_names names, const char *text, size_t size,
                                    struct tide_err *err) {
  int64_t id = 0;
  sqlite3_stmt *stmt = tide_stmt_prepare(db, err, "SELECT id FROM " TIDE_TABLE("partition") " WHERE name = ?1",
                                         names.schema, names.dataset);
  if (stmt != NULL)
    sqlite3_bind_text64(stmt, 1, text, size, SQLITE_STATIC, SQLITE_UTF8);
  if (tide_stmt_row(stmt, err))
    id = sqlite3_column_int64(stmt, 0);
  sqlite3_finalize(stmt);
  return id;
}

int64_t tide_catalog_partition_add(sqlite3 *db, struct tide_names names, const char *text, size_t size,
                                   struct tide_err *err) {
  int64_t id = tide_catalog_partition_find(db, names, text, size, err);
  if (id != 0 || tide_err_is_set(err))
    return id;
  sqlite3_stmt *stmt = tide_stmt_prepare(db, err, "INSERT INTO " TIDE_TABLE("partition") "(name) VALUES(?1)",
                                         names.schema, names.dataset);
  if (stmt != NULL)
    sqlite3_bind_text64(stmt, 1, text, size, SQLITE_STATIC, SQLITE_UTF8);
  tide_stmt_run(stmt, err);
  sqlite3_finalize(stmt);
  return tide_err_is_set(err) ? 0 : sqlite3_last_insert_rowid(db);
}

sqlite3_stmt *tide_catalog_partition_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_prepare(db, err, "SELECT name FROM " TIDE_TABLE("partition") " WHERE id = ?1", names.schema,
                           names.dataset);
}

void tide_catalog_partition_text(sqlite3_stmt *stmt, struct tide_names names, int64_t id, struct tide_buf *out,
                                 struct tide_err *err) {
  if (tide_err_is_set(err))
    return;
  sqlite3_bind_int64(stmt, 1, id);
  if (tide_stmt_row(stmt, err)) {
    const void *text = sqlite3_column_text(stmt, 0);
    tide_buf_put(out, text, (size_t)sqlite3_column_bytes(stmt, 0), err);
    sqlite3_reset(stmt);
  } else {
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_partition has no partition %lld", names.dataset,
                 names.dataset, (long long)id);
  }
}

sqlite3_stmt *tide_catalog_partitions_above(sqlite3 *db, struct tide_names names, int64_t since, struct tide_err *err) {
  return tide_stmt_prepare(db, err,
                           "SELECT id, name, written, deleted, last_since FROM " TIDE_TABLE(
                               "partition") " WHERE last_since > %lld ORDER BY last_since",
                           names.schema, names.dataset, (long long)since);
}

sqlite3_stmt *tide_catalog_partition_by_id(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_prepare(
      db, err, "SELECT id, name, written, deleted, last_since FROM " TIDE_TABLE("partition") " WHERE id = ?1",
      names.schema, names.dataset);
}

bool tide_catalog_partition_row(sqlite3_stmt *stmt, struct tide_names names, struct tide_partition_row *ret_row,
                                struct tide_err *err) {
  if (!tide_stmt_row(stmt, err))
    return false;
  struct tide_partition_row row = {.id = sqlite3_column_int64(stmt, 0),
                                   .text = (const char *)sqlite3_column_text(stmt, 1),
                                   .written = sqlite3_column_int64(stmt, 2),
                                   .deleted = sqlite3_column_int64(stmt, 3),
                                   .last_since = sqlite3_column_int64(stmt, 4)};
  row.text_size = (size_t)sqlite3_column_bytes(stmt, 1);
  if (!tide_catalog_is_count(row.written) || !tide_catalog_is_count(row.deleted) ||
      !tide_catalog_is_count(row.last_since)) {
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_partition row (id %lld) contradicts itself", names.dataset,
                 names.dataset, (long long)row.id);
    return false;
  }
  *ret_row = row;
  return true;
}

/* ---- segments ---- */

sqlite3_stmt *tide_catalog_segments_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_prepare(
      db, err,
      "SELECT partition, last_since, first_since, rows, deleted, chunk, raw_bytes, meta"
      " FROM " TIDE_TABLE("segment") " WHERE partition = ?1 AND last_since > ?2 ORDER BY last_since",
      names.schema, names.dataset);
}

void tide_catalog_segments_seek(sqlite3_stmt *stmt, int64_t partition, int64_t since) {
  sqlite3_reset(stmt);
  sqlite3_bind_int64(stmt, 1, partition);
  sqlite3_bind_int64(stmt, 2, since);
}

static bool segment_is_plausible(const struct tide_segment_row *row) {
  return row->first_since >= 1 && row->first_since <= row->last_since && row->rows >= 1 &&
         row->rows <= TIDE_SPEC_SEGMENT_ROWS_MAX && row->rows - 1 <= row->last_since - row->first_since &&
         row->deleted >= 0 && row->deleted <= row->rows && row->chunk >= 1 && tide_catalog_is_count(row->chunk) &&
         tide_catalog_is_count(row->raw_bytes);
}

bool tide_catalog_segments_next(sqlite3_stmt *stmt, struct tide_names names, struct tide_segment_row *ret_row,
                                struct tide_err *err) {
  if (!tide_stmt_row(stmt, err))
    return false;
  struct tide_segment_row row = {.partition = sqlite3_column_int64(stmt, 0),
                                 .last_since = sqlite3_column_int64(stmt, 1),
                                 .first_since = sqlite3_column_int64(stmt, 2),
                                 .rows = sqlite3_column_int64(stmt, 3),
                                 .deleted = sqlite3_column_int64(stmt, 4),
                                 .chunk = sqlite3_column_int64(stmt, 5),
                                 .raw_bytes = sqlite3_column_int64(stmt, 6),
                                 .meta = sqlite3_column_blob(stmt, 7)};
  row.meta_size = (size_t)sqlite3_column_bytes(stmt, 7);
  if (!segment_is_plausible(&row)) {
    tide_err_set(err, SQLITE_CORRUPT_VTAB,
                 "dataset %s: %s_segment row (partition %lld, last_since %lld) contradicts itself", names.dataset,
                 names.dataset, (long long)row.partition, (long long)row.last_since);
    return false;
  }
  *ret_row = row;
  return true;
}

sqlite3_stmt *tide_catalog_all_segments(sqlite3 *db, struct tide_names names, const char *partition,
                                        struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_prepare(
      db, err,
      "SELECT p.name, s.first_since, s.last_since, s.rows, s.deleted, s.revision, s.raw_bytes, s.stored_bytes"
      " FROM " TIDE_TABLE("partition") " p JOIN " TIDE_TABLE(
          "segment") " s ON s.partition = p.id"
                     " WHERE ?1 IS NULL OR p.name = ?1 ORDER BY p.id, s.last_since",
      names.schema, names.dataset, names.schema, names.dataset);
  if (stmt != NULL)
    sqlite3_bind_text(stmt, 1, partition, -1, SQLITE_TRANSIENT);
  return stmt;
}

void tide_catalog_segment_totals(sqlite3 *db, struct tide_names names, int64_t partition,
                                 struct tide_segment_totals *ret_totals, struct tide_err *err) {
  sqlite3_stmt *stmt =
      tide_stmt_prepare(db, err,
                        "SELECT count(*), total(raw_bytes), total(stored_bytes), min(first_since) FROM " TIDE_TABLE(
                            "segment") " WHERE partition = %lld",
                        names.schema, names.dataset, (long long)partition);
  struct tide_segment_totals totals = {0};
  if (tide_stmt_row(stmt, err))
    totals = (struct tide_segment_totals){.segments = sqlite3_column_int64(stmt, 0),
                                          .raw_bytes = sqlite3_column_int64(stmt, 1),
                                          .stored_bytes = sqlite3_column_int64(stmt, 2),
                                          .first_since = sqlite3_column_int64(stmt, 3)};
  sqlite3_finalize(stmt);
  if (!tide_catalog_is_count(totals.raw_bytes) || !tide_catalog_is_count(totals.stored_bytes) || totals.first_since < 0)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_segment rows of partition %lld contradict themselves",
                 names.dataset, names.dataset, (long long)partition);
  if (!tide_err_is_set(err))
    *ret_totals = totals;
}

void tide_catalog_count_deleted(sqlite3 *db, struct tide_names names, int64_t partition, int64_t segment_last,
                                int64_t n, struct tide_err *err) {
  tide_stmt_exec(db, err, "UPDATE " TIDE_TABLE("partition") " SET deleted = deleted + %lld WHERE id = %lld",
                 names.schema, names.dataset, (long long)n, (long long)partition);
  if (segment_last != 0)
    tide_stmt_exec(db, err,
                   "UPDATE " TIDE_TABLE("segment") " SET deleted = deleted + %lld WHERE partition = %lld"
                                                   " AND last_since = %lld",
                   names.schema, names.dataset, (long long)n, (long long)partition, (long long)segment_last);
}

void tide_catalog_restore_changes(sqlite3 *db, struct tide_names names, int64_t n, struct tide_err *err) {
  tide_stmt_exec(db, err,
                 "WITH RECURSIVE n(i) AS (SELECT 1 WHERE %lld > 0 UNION ALL SELECT i + 1 FROM n WHERE i < %lld)"
                 " INSERT INTO " TIDE_TABLE("config") "(key, value) SELECT 'format', %d FROM n WHERE true"
                                                      " ON CONFLICT(key) DO UPDATE SET value = value",
                 (long long)n, (long long)n, names.schema, names.dataset, TIDE_CATALOG_FORMAT);
}

void tide_catalog_join_transaction(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  tide_stmt_exec(db, err, "DELETE FROM \"%w\".\"%w\" WHERE false", names.schema, names.dataset);
}
