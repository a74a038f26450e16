#include "base/stmt_pool.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"

/* One that lasted is looked for among so many of the newest: behind more statements of the host than that, one that is
 * compiled anew, and with that the newest, is found sooner the next time. */
enum { LOOK_AT = 128 };

void tide_stmt_pool_hold(struct tide_stmt_pool *pool) {
  pool->holds++;
}

void tide_stmt_pool_hold_lasting(struct tide_stmt_pool *pool) {
  pool->holds++;
  pool->lasting++;
}

/* The statement of an item as the connection has it, looked for among the newest `most`; NULL: it is not there. What
 * the host finalized leaves its address to another one, so that the SQL must be the same too. */
static sqlite3_stmt *look(const struct tide_pooled_stmt *item, int most) {
  sqlite3_stmt *found = sqlite3_next_stmt(item->db, NULL);
  for (int i = 1; i < most && found != NULL && found != item->stmt; i++)
    found = sqlite3_next_stmt(item->db, found);
  const char *sql = found == item->stmt ? sqlite3_sql(found) : NULL;
  return sql != NULL && strcmp(sql, item->sql) == 0 ? found : NULL;
}

/* Finalizes the statement of an item that is not taken, unless it is not there any more. */
static void let_go(struct tide_pooled_stmt *item) {
  if (!item->taken)
    sqlite3_finalize(look(item, INT_MAX));
  tide_free(item->sql);
}

/* Lets go those that do not last, or all. */
static void take_out(struct tide_stmt_pool *pool, bool all) {
  size_t left = 0;
  for (size_t i = 0; i < pool->count; i++) {
    struct tide_pooled_stmt *item = &pool->items[i];
    if (!all && item->lasts && !item->taken && !pool->fleeting) {
      item->lasted = true;
      pool->items[left++] = *item;
    } else {
      let_go(item);
    }
  }
  pool->count = left;
  if (left > 0)
    return;
  tide_free(pool->items);
  *pool = (struct tide_stmt_pool){.fleeting = pool->fleeting, .holds = pool->holds, .lasting = pool->lasting};
}

void tide_stmt_pool_release(struct tide_stmt_pool *pool) {
  assert(pool->holds > 0);
  if (--pool->holds == 0)
    take_out(pool, false);
}

void tide_stmt_pool_release_lasting(struct tide_stmt_pool *pool) {
  assert(pool->lasting > 0);
  pool->lasting--;
  tide_stmt_pool_release(pool);
}

void tide_stmt_pool_clear(struct tide_stmt_pool *pool) {
  take_out(pool, true);
}

static void keep(struct tide_stmt_pool *pool, sqlite3 *db, const char *format, sqlite3_stmt *stmt,
                 struct tide_err *err) {
  void *items = pool->items;
  if (tide_grow(&items, &pool->cap, pool->count + 1, sizeof *pool->items, err) != 0)
    return;
  pool->items = items;
  char *sql = tide_copy_string(sqlite3_sql(stmt), err);
  if (sql != NULL)
    pool->items[pool->count++] = (struct tide_pooled_stmt){
        .db = db, .format = format, .stmt = stmt, .taken = true, .sql = sql, .lasts = pool->lasting > 0};
}

/* The kept statement of a format that is not taken; NULL: there is none. */
static struct tide_pooled_stmt *find_kept(struct tide_stmt_pool *pool, const char *format) {
  for (size_t i = 0; pool != NULL && i < pool->count; i++) {
    struct tide_pooled_stmt *item = &pool->items[i];
    if (item->format != format || item->taken)
      continue;
    if (!item->lasted || look(item, LOOK_AT) != NULL)
      return item;
    let_go(item);
    *item = pool->items[--pool->count];
    return NULL;
  }
  return NULL;
}

sqlite3_stmt *tide_stmt_pool_take(struct tide_stmt_pool *pool, sqlite3 *db, struct tide_err *err, const char *format,
                                  ...) {
  if (tide_err_is_set(err))
    return NULL;
  struct tide_pooled_stmt *item = find_kept(pool, format);
  if (item != NULL) {
    item->taken = true;
    item->lasted = false;
    item->lasts = item->lasts || pool->lasting > 0;
    return item->stmt;
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

/* One that is taken. Another item may have its address: of a statement that the host finalized. */
static struct tide_pooled_stmt *find_taken(struct tide_stmt_pool *pool, sqlite3_stmt *stmt) {
  for (size_t i = 0; pool != NULL && stmt != NULL && i < pool->count; i++) {
    if (pool->items[i].taken && pool->items[i].stmt == stmt)
      return &pool->items[i];
  }
  return NULL;
}

/* A reset may roll back, and with that empty the pool, so what is kept is looked for behind it. */
void tide_stmt_pool_give(struct tide_stmt_pool *pool, sqlite3_stmt *stmt) {
  sqlite3_reset(stmt);
  struct tide_pooled_stmt *item = find_taken(pool, stmt);
  if (item == NULL) {
    sqlite3_finalize(stmt);
    return;
  }
  sqlite3_clear_bindings(stmt);
  item->taken = false;
}

void tide_stmt_pool_last(struct tide_stmt_pool *pool, sqlite3_stmt *stmt) {
  struct tide_pooled_stmt *item = find_taken(pool, stmt);
  if (item != NULL)
    item->lasts = true;
}
