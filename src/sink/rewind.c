#include "sink/rewind.h"

#include <string.h>

#include "engine/stats.h"
#include "engine/work.h"
#include "store/holds.h"

/* Up to where the partition's rows are gone. */
static int64_t find_floor(struct tide_dataset *ds, const char *partition, struct tide_err *err) {
  struct tide_stat stat = {0};
  if (!tide_stats_one(ds, partition, strlen(partition), &stat, err))
    tide_err_set(err, SQLITE_ERROR, "dataset %s has no partition %Q: see tidemark_stat", ds->name, partition);
  return stat.pruned_upto;
}

/* Where the sink stands, unless a batch is open, which began there. */
static int64_t check_sink(const struct tide_hold *hold, const struct tide_rewind *rewind, const char *dataset,
                          struct tide_err *err) {
  if (hold == NULL || !hold->registered) {
    tide_err_set(err, SQLITE_ERROR, "no such sink of dataset %s: %s (see tidemark_sink)", dataset, rewind->sink);
    return 0;
  }
  if (hold->batch != 0)
    tide_err_set(err, SQLITE_ERROR,
                 "sink %s has batch %lld of partition %Q open: have it shipped (tidemark_export) or acked"
                 " (tidemark_ack), or give it up (DELETE FROM tidemark_batch WHERE batch = %lld), then rewind",
                 rewind->sink, (long long)hold->batch, rewind->partition, (long long)hold->batch);
  return hold->watermark;
}

static int64_t find_watermark(struct tide_dataset *ds, const struct tide_rewind *rewind, struct tide_err *err) {
  struct tide_holds holds = {0};
  const struct tide_hold *found = NULL;
  sqlite3_stmt *stmt = tide_holds_prepare(ds->conn->db, tide_dataset_names(ds), err);
  tide_holds_read(stmt, rewind->partition, strlen(rewind->partition), &holds, err);
  for (size_t i = 0; i < holds.count && found == NULL; i++) {
    if (strcmp(holds.items[i].sink, rewind->sink) == 0)
      found = &holds.items[i];
  }
  const int64_t watermark = tide_err_is_set(err) ? 0 : check_sink(found, rewind, ds->name, err);
  tide_holds_clear(&holds);
  tide_stmt_pool_give(ds->pool, stmt);
  return watermark;
}

/* The range to give back. */
struct plan {
  int64_t since;
  int64_t until;
};

/* Whether the rewind was done before, as the log's last row says. */
static bool was_done(struct tide_dataset *ds, const struct tide_rewind *rewind, int64_t until,
                     struct tide_rewind_row *row, struct tide_err *err) {
  if (!tide_exportlog_last_rewind(ds->conn->db, tide_dataset_names(ds), rewind->sink, rewind->partition, row, err))
    return false;
  if (row->until == until && strcmp(row->reason, rewind->reason) == 0)
    return true;
  tide_rewind_row_clear(row);
  return false;
}

/* Checks all that the call asks for. false when there is nothing to write: the rewind was done, or refused. */
static bool plan_rewind(struct tide_dataset *ds, const struct tide_rewind *rewind, struct plan *plan,
                        struct tide_rewound *rewound, struct tide_err *err) {
  const int64_t since = find_watermark(ds, rewind, err);
  const int64_t pruned_upto = tide_err_is_set(err) ? 0 : find_floor(ds, rewind->partition, err);
  const int64_t until = rewind->since > pruned_upto ? rewind->since : pruned_upto;
  if (tide_err_is_set(err))
    return false;
  rewound->pruned_upto = pruned_upto;
  rewound->stopped = rewind->since < pruned_upto;
  if (was_done(ds, rewind, until, &rewound->row, err) || tide_err_is_set(err))
    return false;
  if (rewind->since >= since)
    tide_err_set(err, SQLITE_ERROR,
                 "sink %s stands at since %lld in partition %Q: a rewind goes below that, not to %lld", rewind->sink,
                 (long long)since, rewind->partition, (long long)rewind->since);
  else if (until >= since)
    tide_err_set(
        err, SQLITE_ERROR,
        "sink %s stands at since %lld in partition %Q, and rows up to %lld are gone: none is left to rewind to",
        rewind->sink, (long long)since, rewind->partition, (long long)pruned_upto);
  *plan = (struct plan){since, until};
  return !tide_err_is_set(err);
}

static void write_rewind(struct tide_dataset *ds, const struct tide_rewind *rewind, struct tide_rewound *rewound,
                         struct tide_err *err) {
  struct plan plan;
  sqlite3 *db = ds->conn->db;
  const struct tide_names names = tide_dataset_names(ds);
  if (tide_err_is_set(err) || !plan_rewind(ds, rewind, &plan, rewound, err))
    return;
  tide_exportlog_rewind(db, names, rewind->sink, rewind->partition, plan.since, plan.until, rewind->reason, err);
  tide_exportlog_last_rewind(db, names, rewind->sink, rewind->partition, &rewound->row, err);
}

/* The first look takes no lock; what it found is looked at again under the lock. */
void tide_rewind(struct tide_dataset *ds, const struct tide_rewind *rewind, struct tide_rewound *ret_rewound,
                 struct tide_err *err) {
  struct plan plan;
  struct tide_work work;
  struct tide_rewound rewound = {0};
  sqlite3_stmt *snapshot = tide_read_begin(ds->conn->db, ds->schema, err);
  const bool open = !tide_err_is_set(err) && plan_rewind(ds, rewind, &plan, &rewound, err);
  sqlite3_finalize(snapshot);
  if (open) {
    tide_work_begin(ds, "tidemark_rewind", &work, err);
    write_rewind(ds, rewind, &rewound, err);
    tide_work_end(&work, err);
  }
  if (tide_err_is_set(err))
    tide_rewind_row_clear(&rewound.row);
  else
    *ret_rewound = rewound;
}
