#include "sink/due.h"

#include "base/mem.h"
#include "store/durable.h"
#include "store/exportlog.h"
#include "store/sinks.h"

/* Whether the sink's log has the newest row that there is and no batch is open, of whichever sink. */
static bool has_all(struct tide_dataset *ds, const struct tide_sink *sink) {
  struct tide_err unknown = {0}; /* the tick meets the same error, and tells it */
  sqlite3 *db = ds->conn->db;
  tide_stmt_pool_hold_lasting(ds->pool);
  tide_dataset_refresh(ds, &unknown);
  const int64_t least = tide_watermark_least(db, tide_dataset_names(ds), sink, &unknown);
  const int64_t open = tide_batch_last(db, ds->schema, ds->pool, &unknown);
  tide_stmt_pool_release_lasting(ds->pool);
  return !tide_err_is_set(&unknown) && open == 0 && tide_dataset_last_since(ds) <= least;
}

static void find_idle(struct tide_conn *conn, const char *schema, struct tide_due *due, struct tide_err *err) {
  if (due->list.count > 0)
    due->idle = tide_alloc_zero(due->list.count, sizeof *due->idle, err);
  for (size_t i = 0; due->idle != NULL && i < due->list.count; i++) {
    const struct tide_sink *sink = &due->list.sinks[i];
    struct tide_dataset *ds = tide_dataset_find(conn, schema, sink->dataset);
    due->idle[i] = ds != NULL && has_all(ds, sink);
    tide_dataset_release(ds);
  }
}

void tide_due_read(struct tide_conn *conn, const char *schema, const char *sink, const char *dataset,
                   struct tide_due *ret_due, struct tide_err *err) {
  struct tide_stmt_pool *pool = tide_conn_pool(conn, schema);
  *ret_due = (struct tide_due){0};
  tide_conn_hold(conn);
  if (tide_sinks_has_any(conn->db, schema, pool, err)) {
    sqlite3_stmt *snapshot = tide_read_take(conn->db, schema, pool, err);
    tide_sink_list_read(conn->db, schema, pool, sink, dataset, &ret_due->list, err);
    find_idle(conn, schema, ret_due, err);
    tide_stmt_pool_give(pool, snapshot);
  }
  tide_conn_release(conn);
}

void tide_due_clear(struct tide_due *due) {
  tide_sink_list_clear(&due->list);
  tide_free(due->idle);
  *due = (struct tide_due){0};
}
