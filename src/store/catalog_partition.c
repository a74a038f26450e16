#include "store/catalog_partition.h"

#include "base/stmt.h"
#include "base/stmt_pool.h"
#include "model/partition.h"
#include "store/catalog.h"

int64_t tide_catalog_partition_id(sqlite3_stmt *stmt, struct tide_names names, struct tide_err *err) {
  const int64_t id = sqlite3_column_int64(stmt, 0);
  if (tide_stmt_are_ints(stmt, 0, 1) && id > 0)
    return id;
  tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_partition has an id that is none", names.dataset,
               names.dataset);
  return 0;
}

int64_t tide_catalog_partition_find(sqlite3 *db, struct tide_names names, const char *text, size_t size,
                                    struct tide_err *err) {
  int64_t id = 0;
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      names.pool, db, err, "SELECT id FROM " TIDE_TABLE("partition") " WHERE name = ?1", names.schema, names.dataset);
  if (stmt != NULL)
    sqlite3_bind_text64(stmt, 1, text, size, SQLITE_STATIC, SQLITE_UTF8);
  if (tide_stmt_row(stmt, err))
    id = tide_catalog_partition_id(stmt, names, err);
  tide_stmt_pool_give(names.pool, stmt);
  return id;
}

int64_t tide_catalog_partition_add(sqlite3 *db, struct tide_names names, const char *text, size_t size,
                                   struct tide_err *err) {
  int64_t id = tide_catalog_partition_find(db, names, text, size, err);
  if (id != 0 || tide_err_is_set(err))
    return id;
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      names.pool, db, err, "INSERT INTO " TIDE_TABLE("partition") "(name) VALUES(?1)", names.schema, names.dataset);
  if (stmt != NULL)
    sqlite3_bind_text64(stmt, 1, text, size, SQLITE_STATIC, SQLITE_UTF8);
  tide_stmt_run(stmt, err);
  tide_stmt_pool_give(names.pool, stmt);
  return tide_err_is_set(err) ? 0 : sqlite3_last_insert_rowid(db);
}

#define PARTITION_COLUMNS "SELECT id, name, written, deleted, pruned, pruned_upto, last_since FROM "

sqlite3_stmt *tide_catalog_partitions_above(sqlite3 *db, struct tide_names names, int64_t since, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      names.pool, db, err, PARTITION_COLUMNS TIDE_TABLE("partition") " WHERE last_since > ?1 ORDER BY last_since",
      names.schema, names.dataset);
  tide_stmt_bind_ints(stmt, &since, 1);
  return stmt;
}

sqlite3_stmt *tide_catalog_partitions_between(sqlite3 *db, struct tide_names names, int64_t above, int64_t upto,
                                              struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      names.pool, db, err,
      "SELECT id FROM " TIDE_TABLE(
          "partition") " p WHERE last_since > ?1 AND"
                       " (SELECT s.first_since <= ?2 OR s.first_since > s.last_since FROM " TIDE_TABLE(
                           "segment") " s"
                                      " WHERE s.partition = p.id AND s.last_since > ?1 ORDER BY s.last_since LIMIT 1)",
      names.schema, names.dataset, names.schema, names.dataset);
  tide_stmt_bind_ints(stmt, (const int64_t[]){above, upto}, 2);
  return stmt;
}

sqlite3_stmt *tide_catalog_partition_by_id(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_pool_take(names.pool, db, err, PARTITION_COLUMNS TIDE_TABLE("partition") " WHERE id = ?1",
                             names.schema, names.dataset);
}

sqlite3_stmt *tide_catalog_partitions_all(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_pool_take(names.pool, db, err, PARTITION_COLUMNS TIDE_TABLE("partition") " ORDER BY id",
                             names.schema, names.dataset);
}

bool tide_catalog_partition_row(sqlite3_stmt *stmt, struct tide_names names, struct tide_partition_row *ret_row,
                                struct tide_err *err) {
  if (!tide_stmt_row(stmt, err))
    return false;
  struct tide_partition_row row = {.id = sqlite3_column_int64(stmt, 0),
                                   .written = sqlite3_column_int64(stmt, 2),
                                   .deleted = sqlite3_column_int64(stmt, 3),
                                   .pruned = sqlite3_column_int64(stmt, 4),
                                   .pruned_upto = sqlite3_column_int64(stmt, 5),
                                   .last_since = sqlite3_column_int64(stmt, 6)};
  const bool typed =
      tide_stmt_are_ints(stmt, 0, 1) && tide_stmt_are_ints(stmt, 2, 5) && sqlite3_column_type(stmt, 1) == SQLITE_TEXT;
  row.text = tide_stmt_text(stmt, 1, &row.text_size, err);
  if (tide_err_is_set(err))
    return false;
  if (!typed || !tide_catalog_is_count(row.written) || !tide_catalog_is_count(row.deleted) ||
      !tide_catalog_is_count(row.pruned) || !tide_catalog_is_count(row.pruned_upto) ||
      !tide_catalog_is_count(row.last_since)) {
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_partition row (id %lld) contradicts itself", names.dataset,
                 names.dataset, (long long)row.id);
    return false;
  }
  *ret_row = row;
  return true;
}

bool tide_catalog_partition_look(sqlite3 *db, struct tide_names names, const char *text, size_t size,
                                 struct tide_partition_row *ret_row, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      names.pool, db, err, PARTITION_COLUMNS TIDE_TABLE("partition") " WHERE name = ?1", names.schema, names.dataset);
  if (stmt != NULL)
    sqlite3_bind_text64(stmt, 1, text, size, SQLITE_STATIC, SQLITE_UTF8);
  const bool found = tide_catalog_partition_row(stmt, names, ret_row, err);
  if (found)
    ret_row->text = text;
  tide_stmt_pool_give(names.pool, stmt);
  return found;
}

int tide_catalog_partition_values(struct tide_names names, const struct tide_spec *spec, const char *text, size_t size,
                                  struct tide_val *ret_values, struct tide_buf *ret_bytes, struct tide_err *err) {
  struct tide_err own = {0};
  if (tide_err_is_set(err) || tide_partition_decode(spec, text, size, ret_values, ret_bytes, &own) == 0)
    return err->rc;
  if (own.rc == SQLITE_ERROR) {
    own.rc = SQLITE_CORRUPT_VTAB;
    tide_err_prefix(&own, "dataset %s: %s_partition", names.dataset, names.dataset);
  }
  *err = own;
  return err->rc;
}

int64_t tide_catalog_partition_text(sqlite3_stmt *stmt, struct tide_names names, int64_t id, struct tide_buf *out,
                                    struct tide_err *err) {
  struct tide_partition_row row;
  if (tide_err_is_set(err))
    return 0;
  sqlite3_bind_int64(stmt, 1, id);
  if (!tide_catalog_partition_row(stmt, names, &row, err)) {
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_partition has no partition %lld", names.dataset,
                 names.dataset, (long long)id);
    return 0;
  }
  tide_buf_put(out, row.text, row.text_size, err);
  sqlite3_reset(stmt);
  return row.pruned_upto;
}

int64_t tide_catalog_partition_next(sqlite3 *db, struct tide_names names, int64_t above, struct tide_buf *out,
                                    struct tide_err *err) {
  int64_t id = 0;
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      names.pool, db, err, "SELECT id, name FROM " TIDE_TABLE("partition") " WHERE id > ?1 ORDER BY id LIMIT 1",
      names.schema, names.dataset);
  tide_stmt_bind_ints(stmt, &above, 1);
  if (tide_stmt_row(stmt, err)) {
    size_t size = 0;
    const char *text = tide_stmt_text(stmt, 1, &size, err);
    tide_buf_put(out, text, size, err);
    id = tide_catalog_partition_id(stmt, names, err);
    if (text == NULL)
      tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_partition row (id %lld) contradicts itself", names.dataset,
                   names.dataset, (long long)id);
  }
  tide_stmt_pool_give(names.pool, stmt);
  return tide_err_is_set(err) ? 0 : id;
}

void tide_catalog_partition_change(sqlite3 *db, struct tide_names names, int64_t partition,
                                   const struct tide_partition_change *change, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      names.pool, db, err,
      "UPDATE " TIDE_TABLE("partition") " SET written = written + ?1, deleted = deleted + ?2, pruned = pruned + ?3,"
                                        " pruned_upto = max(pruned_upto, ?4), last_since = max(last_since, ?5)"
                                        " WHERE id = ?6 AND written <= ?7 - ?1 AND deleted <= ?7 - ?2"
                                        " AND pruned <= ?7 - ?3",
      names.schema, names.dataset);
  tide_stmt_bind_ints(stmt,
                      (const int64_t[]){change->written, change->deleted, change->pruned, change->pruned_upto,
                                        change->last_since, partition, TIDE_CATALOG_COUNT_MAX},
                      7);
  tide_stmt_run(stmt, err);
  tide_stmt_pool_give(names.pool, stmt);
  if (!tide_err_is_set(err) && sqlite3_changes(db) == 0)
    tide_err_set(err, SQLITE_CORRUPT_VTAB,
                 "dataset %s: %s_partition (id %lld) is missing, or counts more rows than there can be", names.dataset,
                 names.dataset, (long long)partition);
}
