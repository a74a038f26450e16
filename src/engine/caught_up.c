#include "engine/caught_up.h"

#include "base/mem.h"
#include "base/stmt.h"
#include "engine/stats.h"
#include "engine/work.h"
#include "store/exportlog.h"
#include "store/sink_row.h"

/* The sinks to note, as their rows were when it was found out. */
struct sinks {
  struct tide_sink *items;
  size_t count;
  size_t cap;
  int64_t newest;
};

static bool has_all(struct tide_dataset *ds, const struct tide_sink *sink, struct tide_err *err) {
  struct tide_stat stat;
  bool behind = false;
  sqlite3_stmt *stmt = tide_watermark_prepare(ds->conn->db, tide_dataset_names(ds), sink->sink, err);
  const int64_t least = tide_watermark_least(ds->conn->db, tide_dataset_names(ds), sink, err);
  struct tide_stats *stats = stmt != NULL ? tide_stats_open(ds, NULL, 0, least, err) : NULL;
  while (stats != NULL && !behind && tide_stats_next(stats, &stat, err))
    behind = tide_watermark_get(stmt, stat.text, stat.text_size, sink->start, err).since < stat.last_since;
  tide_stats_close(stats);
  tide_stmt_pool_give(ds->pool, stmt);
  return !behind && !tide_err_is_set(err);
}

static void look_at(struct tide_dataset *ds, struct sinks *sinks, struct tide_sink *sink, struct tide_err *err) {
  void *items = sinks->items;
  struct tide_err damage = {0};
  const bool noted = sink->caught_up >= sinks->newest;
  const bool all = !noted && has_all(ds, sink, &damage);
  if (tide_err_is_set(&damage) && (damage.rc & 0xff) != SQLITE_CORRUPT)
    tide_err_set(err, damage.rc, "%s", damage.msg);
  if (!all || tide_grow(&items, &sinks->cap, sinks->count + 1, sizeof *sinks->items, err) != 0) {
    tide_sink_clear(sink);
    return;
  }
  sinks->items = items;
  sinks->items[sinks->count++] = *sink;
}

static void find(struct tide_dataset *ds, struct sinks *sinks, struct tide_err *err) {
  struct tide_sink sink;
  sqlite3_stmt *snapshot = tide_read_begin(ds->conn->db, ds->schema, err);
  tide_txn_flush(ds, err);
  tide_dataset_refresh(ds, err);
  sinks->newest = tide_dataset_last_since(ds);
  sqlite3_stmt *stmt = tide_sink_prepare(ds->conn->db, ds->schema, NULL, ds->name, err);
  while (!tide_err_is_set(err) && tide_sink_next(stmt, &sink, err))
    look_at(ds, sinks, &sink, err);
  sqlite3_finalize(stmt);
  sqlite3_finalize(snapshot);
}

void tide_caught_up_note(struct tide_dataset *ds, const char *what, struct tide_err *err) {
  struct tide_work work;
  struct sinks sinks = {0};
  find(ds, &sinks, err);
  if (sinks.count > 0 && !tide_err_is_set(err)) {
    tide_work_begin(ds, what, &work, err);
    for (size_t i = 0; i < sinks.count && !tide_err_is_set(err); i++)
      tide_sink_set_caught_up(ds->conn->db, ds->schema, &sinks.items[i], sinks.newest, err);
    tide_work_end(&work, err);
  }
  for (size_t i = 0; i < sinks.count; i++)
    tide_sink_clear(&sinks.items[i]);
  tide_free(sinks.items);
}
