#include "store/catalog.h"

#include <string.h>

#include "base/host.h"
#include "base/mem.h"
#include "base/stmt.h"
#include "base/stmt_pool.h"
#include "store/catalog_column.h"
#include "store/shadows.h"

static const char *const create_sql[] = {
    "CREATE TABLE " TIDE_TABLE("config") "(key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID",
    "CREATE TABLE " TIDE_TABLE("column") "(ordinal INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,"
                                         " not_null INTEGER NOT NULL, partition_at INTEGER,"
                                         " dflt_value ANY) STRICT",
    "CREATE TABLE " TIDE_TABLE(
        "partition") "(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
                     " written INTEGER NOT NULL DEFAULT 0, deleted INTEGER NOT NULL DEFAULT 0,"
                     " pruned INTEGER NOT NULL DEFAULT 0, pruned_upto INTEGER NOT NULL DEFAULT 0,"
                     " last_since INTEGER NOT NULL DEFAULT 0, UNIQUE(last_since, id)) STRICT",
    "CREATE TABLE " TIDE_TABLE("segment") "(partition INTEGER NOT NULL, last_since INTEGER NOT NULL,"
                                          " first_since INTEGER NOT NULL, rows INTEGER NOT NULL,"
                                          " deleted INTEGER NOT NULL DEFAULT 0, pruned INTEGER NOT NULL DEFAULT 0,"
                                          " revision INTEGER NOT NULL, level INTEGER NOT NULL, chunk INTEGER NOT NULL,"
                                          " chunks INTEGER NOT NULL, raw_bytes INTEGER NOT NULL,"
                                          " stored_bytes INTEGER NOT NULL, newest_at INTEGER NOT NULL,"
                                          " meta BLOB NOT NULL,"
                                          " PRIMARY KEY(partition, last_since)) STRICT, WITHOUT ROWID",
    "CREATE TABLE " TIDE_TABLE("chunk") "(id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT",
    "CREATE TABLE " TIDE_TABLE("deleted") "(since INTEGER PRIMARY KEY, partition INTEGER NOT NULL,"
                                          " UNIQUE(partition, since)) STRICT",
    "CREATE TABLE " TIDE_TABLE(
        "tail") "(last_since INTEGER PRIMARY KEY, partition INTEGER NOT NULL,"
                " first_since INTEGER NOT NULL, rows INTEGER NOT NULL, data BLOB NOT NULL) STRICT",
    NULL};

static const char create_unique_sql[] =
    "CREATE TABLE " TIDE_TABLE("unique") "(value ANY PRIMARY KEY, partition INTEGER NOT NULL, since INTEGER NOT NULL,"
                                         " UNIQUE(partition, since)) STRICT, WITHOUT ROWID";

static void create_options(sqlite3 *db, struct tide_names names, struct tide_options options, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_prepare(db, err, "INSERT INTO " TIDE_TABLE("config") "(key, value) VALUES(?1, ?2)",
                                         names.schema, names.dataset);
  for (int i = 0; i < TIDE_OPTIONS && !tide_err_is_set(err); i++) {
    sqlite3_bind_text(stmt, 1, tide_options_facts[i].name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 2, *tide_options_at(&options, &tide_options_facts[i]));
    tide_stmt_run(stmt, err);
  }
  sqlite3_finalize(stmt);
}

void tide_catalog_create(sqlite3 *db, struct tide_names names, const struct tide_spec *spec,
                         const struct tide_options *options, const char *log_id, struct tide_err *err) {
  for (size_t i = 0; create_sql[i] != NULL; i++)
    tide_stmt_exec(db, err, create_sql[i], names.schema, names.dataset);
  if (names.unique)
    tide_stmt_exec(db, err, create_unique_sql, names.schema, names.dataset);
  tide_stmt_exec(
      db, err,
      "INSERT INTO " TIDE_TABLE("config") "(key, value) VALUES('format', %d), ('log_id', %Q), ('sealed_since', 0),"
                                          " ('next_chunk', 1), ('seals', 0), ('columns', %d)",
      names.schema, names.dataset, TIDE_CATALOG_FORMAT, log_id, (int)spec->ncolumns);
  create_options(db, names, *options, err);
  tide_catalog_columns_create(db, names, spec, err);
}

void tide_catalog_drop(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  const char *const *suffixes = tide_names_suffixes(names);
  for (size_t i = 0; suffixes[i] != NULL; i++) {
    if (tide_shadows_has_table(db, names, suffixes[i], err)) /* a view of that name is not ours */
      tide_stmt_exec(db, err, "DROP TABLE \"%w\".\"%w_%w\"", names.schema, names.dataset, suffixes[i]);
  }
}

void tide_catalog_rename(sqlite3 *db, struct tide_names names, const char *new_name, struct tide_err *err) {
  const char *const *suffixes = tide_names_suffixes(names);
  for (size_t i = 0; suffixes[i] != NULL; i++)
    tide_stmt_exec(db, err, "ALTER TABLE \"%w\".\"%w_%w\" RENAME TO \"%w_%w\"", names.schema, names.dataset,
                   suffixes[i], new_name, suffixes[i]);
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

/* Each key's place in the config, which a value that cannot be marks as not read yet. */
enum { COUNTER_KEYS = 5, CONFIG_KEYS = COUNTER_KEYS + TIDE_OPTIONS };

static void list_config_keys(struct tide_config *config, struct config_key keys[CONFIG_KEYS]) {
  const struct config_key counters[COUNTER_KEYS] = {{"format", &config->format, 1, INT32_MAX},
                                                    {"sealed_since", &config->sealed_since, 0, TIDE_CATALOG_COUNT_MAX},
                                                    {"next_chunk", &config->next_chunk, 1, TIDE_CATALOG_COUNT_MAX},
                                                    {"seals", &config->seals, 0, TIDE_CATALOG_COUNT_MAX},
                                                    {"columns", &config->columns, 1, TIDE_SPEC_COLUMNS_MAX}};
  memcpy(keys, counters, sizeof counters);
  for (int i = 0; i < TIDE_OPTIONS; i++) {
    const struct tide_option_facts *facts = &tide_options_facts[i];
    keys[COUNTER_KEYS + i] =
        (struct config_key){facts->name, tide_options_at(&config->options, facts), facts->min, facts->max};
  }
  for (int i = 0; i < CONFIG_KEYS; i++)
    *keys[i].value = INT64_MIN;
}

void tide_catalog_config(sqlite3 *db, struct tide_names names, struct tide_config *ret_config, struct tide_err *err) {
  struct tide_config config = {.log_id = ""};
  struct config_key keys[CONFIG_KEYS];
  list_config_keys(&config, keys);
  sqlite3_stmt *stmt = tide_stmt_pool_take(names.pool, db, err, "SELECT key, value FROM " TIDE_TABLE("config"),
                                           names.schema, names.dataset);
  while (tide_stmt_row(stmt, err)) {
    const char *name = tide_stmt_text(stmt, 0, NULL, err);
    if (name == NULL || set_config_key(keys, CONFIG_KEYS, name, stmt) || strcmp(name, "log_id") != 0)
      continue;
    size_t size = 0;
    const char *text = tide_stmt_text(stmt, 1, &size, err);
    if (tide_host_is_id(text, size))
      memcpy(config.log_id, text, sizeof config.log_id);
  }
  tide_stmt_pool_give(names.pool, stmt);
  if (!tide_err_is_set(err) && config.format > TIDE_CATALOG_FORMAT)
    tide_err_set(err, SQLITE_ERROR, "dataset %s has format %lld, this Tidemark reads up to %d: load a newer one",
                 names.dataset, (long long)config.format, TIDE_CATALOG_FORMAT);
  for (int i = 0; i < CONFIG_KEYS; i++) {
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
  struct tide_catalog_summary summary = {0};
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      names.pool, db, err,
      "SELECT (SELECT max(since) FROM " TIDE_TABLE("deleted") "), (SELECT max(last_since) FROM " TIDE_TABLE(
          "partition") "), (SELECT count(*) FROM (SELECT 1 FROM " TIDE_TABLE("partition") " LIMIT %d))",
      names.schema, names.dataset, names.schema, names.dataset, names.schema, names.dataset,
      TIDE_CATALOG_PARTITIONS_COUNTED);
  if (tide_stmt_row(stmt, err))
    summary = (struct tide_catalog_summary){.deleted_max = sqlite3_column_int64(stmt, 0),
                                            .segments_last = sqlite3_column_int64(stmt, 1),
                                            .partitions = sqlite3_column_int64(stmt, 2)};
  tide_stmt_pool_give(names.pool, stmt);
  if (!tide_err_is_set(err))
    *ret_summary = summary;
}

void tide_catalog_totals(sqlite3 *db, struct tide_names names, struct tide_catalog_totals *ret_totals,
                         struct tide_err *err) {
  struct tide_catalog_totals totals = {0};
  sqlite3_stmt *stmt = tide_stmt_prepare(db, err,
                                         "SELECT (SELECT total(written - deleted - pruned) FROM " TIDE_TABLE(
                                             "partition") "),"
                                                          " count(*), total(raw_bytes), total(stored_bytes) FROM " TIDE_TABLE(
                                                              "segment"),
                                         names.schema, names.dataset, names.schema, names.dataset);
  if (tide_stmt_row(stmt, err))
    totals = (struct tide_catalog_totals){.rows = sqlite3_column_int64(stmt, 0),
                                          .segments = sqlite3_column_int64(stmt, 1),
                                          .raw_bytes = sqlite3_column_int64(stmt, 2),
                                          .stored_bytes = sqlite3_column_int64(stmt, 3)};
  sqlite3_finalize(stmt);
  if (totals.rows > TIDE_CATALOG_COUNT_MAX || totals.rows < -TIDE_CATALOG_COUNT_MAX ||
      !tide_catalog_is_count(totals.raw_bytes) || !tide_catalog_is_count(totals.stored_bytes))
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: sums over %s_partition and %s_segment cannot be", names.dataset,
                 names.dataset, names.dataset);
  if (!tide_err_is_set(err))
    *ret_totals = totals;
}

/* One key a statement: an UPDATE of several rows that calls a function opens a savepoint, which SQLite tells the
 * dataset in the middle of its flush. */
static void raise_counter(sqlite3 *db, struct tide_names names, const char *key, int64_t value, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      names.pool, db, err, "UPDATE " TIDE_TABLE("config") " SET value = ?1 WHERE key = ?2 AND value < ?1", names.schema,
      names.dataset);
  if (stmt != NULL) {
    sqlite3_bind_int64(stmt, 1, value);
    sqlite3_bind_text(stmt, 2, key, -1, SQLITE_STATIC);
  }
  tide_stmt_run(stmt, err);
  tide_stmt_pool_give(names.pool, stmt);
}

void tide_catalog_raise_format(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  raise_counter(db, names, "format", TIDE_CATALOG_FORMAT, err);
}

void tide_catalog_store_counters(sqlite3 *db, struct tide_names names, const struct tide_config *config,
                                 struct tide_err *err) {
  const struct {
    const char *key;
    int64_t value;
  } counters[] = {
      {"sealed_since", config->sealed_since}, {"next_chunk", config->next_chunk}, {"seals", config->seals}};
  for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
    if (!tide_catalog_is_count(counters[i].value))
      tide_err_set(err, SQLITE_FULL, "dataset %s: %s in %s_config would pass %lld, the highest there can be",
                   names.dataset, counters[i].key, names.dataset, (long long)TIDE_CATALOG_COUNT_MAX);
    raise_counter(db, names, counters[i].key, counters[i].value, err);
  }
}

void tide_catalog_store_option(sqlite3 *db, struct tide_names names, struct tide_config *config,
                               const struct tide_option_facts *facts, struct tide_err *err) {
  tide_stmt_exec(db, err, "UPDATE " TIDE_TABLE("config") " SET value = %lld WHERE key = %Q", names.schema,
                 names.dataset, (long long)*tide_options_at(&config->options, facts), facts->name);
}

/* A CAST to BLOB gives text's bytes as the databases have them. PRAGMA encoding would look at main, and find its schema
 * changed by others perhaps, on which SQLite forgets the schema of temp: with a table there that is being created. */
bool tide_catalog_is_utf16(sqlite3 *db, struct tide_err *err) {
  return tide_stmt_int(db, 1, err, "SELECT length(CAST('a' AS BLOB))") != 1;
}

/* ---- the connection ---- */

void tide_catalog_connect(sqlite3 *db, struct tide_names names) {
  struct tide_err unable = {0};
  sqlite3_finalize(tide_stmt_prepare(db, &unable, "SELECT 1 FROM \"%w\".\"%w\"", names.schema, names.dataset));
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
