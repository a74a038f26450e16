#include "base/stmt_pool.h"

#include <assert.h>
#include <stdarg.h>

#include "base/mem.h"
#include "base/stmt.h"

void tide_stmt_pool_hold(struct tide_stmt_pool *pool) {
  pool->holds++;
}

void tide_stmt_pool_release(struct tide_stmt_pool *pool) {
  assert(pool->holds > 0);
  if (--pool->holds > 0)
    return;
  for (size_t i = 0; i < pool->count; i++) {
    if (!pool->items[i].taken)
      tide_stmt_release(pool->items[i].db, pool->items[i].stmt);
  }
  tide_free(pool->items);
  *pool = (struct tide_stmt_pool){0};
}

static void keep(struct tide_stmt_pool *pool, sqlite3 *db, const char *format, sqlite3_stmt *stmt,
                 struct tide_err *err) {
  void *items = pool->items;
  if (tide_grow(&items, &pool->cap, pool->count + 1, sizeof *pool->items, err) != 0)
    return;
  pool->items = items;
  pool->items[pool->count++] = (struct tide_pooled_stmt){.db = db, .format = format, .stmt = stmt, .taken = true};
}

sqlite3_stmt *tide_stmt_pool_take(struct tide_stmt_pool *pool, sqlite3 *db, struct tide_err *err, const char *format,
                                  ...) {
  if (tide_err_is_set(err))
    return NULL;
  for (size_t i = 0; pool != NULL && i < pool->count; i++) {
    struct tide_pooled_stmt *item = &pool->items[i];
    if (item->format == format && !item->taken) {
      item->taken = true;
      return item->stmt;
    }
  }
  va_list args;
  va_start(args, format);
  sqlite3_stmt *stmt = tide_stmt_vprepare(db, err, format, args);
  va_end(args);
  if (stmt != NULL && pool != NULL && pool->holds > 0)
    keep(pool, db, format, stmt, err);
  if (!tide_err_is_set(err))
    return stmt;
  sqlite3_finalize(stmt);
  return NULL;
}

/* A reset may roll back, and with that empty the pool, so what is kept is looked for behind it. */
void tide_stmt_pool_give(struct tide_stmt_pool *pool, sqlite3_stmt *stmt) {
  size_t i = 0;
  sqlite3_reset(stmt);
  while (pool != NULL && i < pool->count && pool->items[i].stmt != stmt)
    i++;
  if (pool == NULL || i == pool->count) {
    sqlite3_finalize(stmt);
    return;
  }
  sqlite3_clear_bindings(stmt);
  pool->items[i].taken = false;
}
