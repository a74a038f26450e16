#include "store/frozen.h"

#include <string.h>

#include "base/host.h"
#include "base/mem.h"
#include "base/stmt.h"
#include "base/stmt_pool.h"

enum { FROZEN_TEXTS = 7 };

static void texts_of(struct tide_frozen *frozen, char **ret_texts[FROZEN_TEXTS]) {
  ret_texts[0] = &frozen->target;
  ret_texts[1] = &frozen->format;
  ret_texts[2] = &frozen->columns;
  ret_texts[3] = &frozen->filter;
  ret_texts[4] = &frozen->options;
  ret_texts[5] = &frozen->dataset;
  ret_texts[6] = &frozen->log_id;
}

char *tide_frozen_write(sqlite3 *db, struct tide_stmt_pool *pool, const struct tide_frozen *frozen,
                        struct tide_err *err) {
  const char *views[FROZEN_TEXTS];
  char *config = NULL;
  struct tide_frozen view = *frozen;
  char **texts[FROZEN_TEXTS];
  texts_of(&view, texts);
  sqlite3_stmt *stmt =
      tide_stmt_pool_take(pool, db, err,
                          "SELECT json_object('target', ?3, 'format', ?4, 'columns', json(?5), 'filter', ?6, 'options',"
                          " json(?7), 'dataset', ?8, 'log_id', ?9, 'schema_version', ?1, 'layout', ?2)");
  for (int i = 0; i < FROZEN_TEXTS; i++)
    views[i] = *texts[i];
  tide_stmt_bind_ints(stmt, (const int64_t[]){frozen->schema_version, frozen->layout}, 2);
  tide_stmt_bind_texts(stmt, 3, views, FROZEN_TEXTS, err);
  if (tide_stmt_row(stmt, err))
    config = tide_stmt_copy_text(stmt, 0, err);
  tide_stmt_pool_give(pool, stmt);
  return config;
}

int tide_frozen_read(sqlite3 *db, const char *config, struct tide_frozen *ret_frozen, struct tide_err *err) {
  struct tide_frozen frozen = {0};
  char **texts[FROZEN_TEXTS];
  texts_of(&frozen, texts);
  sqlite3_stmt *stmt = tide_stmt_prepare(
      db, err,
      "SELECT ?1 ->> '$.target', ?1 ->> '$.format', ?1 ->> '$.columns', ?1 ->> '$.filter',"
      " ?1 ->> '$.options', ?1 ->> '$.dataset', ?1 ->> '$.log_id', ?1 ->> '$.schema_version', ?1 ->> '$.layout'");
  if (stmt != NULL)
    sqlite3_bind_text(stmt, 1, config, -1, SQLITE_STATIC);
  if (tide_stmt_row(stmt, err)) {
    for (int i = 0; i < FROZEN_TEXTS; i++)
      *texts[i] = tide_stmt_copy_text(stmt, i, err);
    frozen.schema_version = sqlite3_column_int64(stmt, FROZEN_TEXTS);
    frozen.layout = sqlite3_column_int64(stmt, FROZEN_TEXTS + 1);
  }
  sqlite3_finalize(stmt);
  if (frozen.log_id != NULL && !tide_host_is_id(frozen.log_id, strlen(frozen.log_id)))
    tide_err_set(err, SQLITE_CORRUPT, "tidemark_batch is damaged: the config of a batch has no valid log_id");
  if (tide_err_is_set(err))
    tide_frozen_clear(&frozen);
  else
    *ret_frozen = frozen;
  return err->rc;
}

void tide_frozen_clear(struct tide_frozen *frozen) {
  char **texts[FROZEN_TEXTS];
  texts_of(frozen, texts);
  for (int i = 0; i < FROZEN_TEXTS; i++)
    tide_free(*texts[i]);
  *frozen = (struct tide_frozen){0};
}

char *tide_frozen_options(sqlite3 *db, const char *options, const char *name, int64_t value, struct tide_err *err) {
  char *set = NULL;
  sqlite3_stmt *stmt =
      tide_stmt_prepare(db, err, "SELECT json_set(coalesce(%Q, '{}'), '$.%q', %lld)", options, name, (long long)value);
  if (tide_stmt_row(stmt, err))
    set = tide_stmt_copy_text(stmt, 0, err);
  sqlite3_finalize(stmt);
  return set;
}
