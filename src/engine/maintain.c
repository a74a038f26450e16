#include "engine/maintain.h"

#include "base/mem.h"
#include "base/stmt.h"
#include "engine/caught_up.h"
#include "store/exportlog.h"

/* ---- sealing: the partitions of the tail, each by itself ---- */

/* Partitions of the tail as it is, each once, in the order of their oldest rows; at most as many as a call seals. */
struct tail_list {
  int64_t ids[TIDE_MAINTAIN_SEAL_PARTITIONS];
  size_t count;
  int64_t bytes;
  bool more;
};

static void list_tail(struct tide_dataset *ds, struct tail_list *list, struct tide_err *err) {
  sqlite3_stmt *snapshot = tide_read_begin(ds->conn->db, ds->schema, err);
  tide_txn_flush(ds, err);
  tide_dataset_refresh(ds, err);
  sqlite3_finalize(snapshot);
  for (size_t i = 0; i < ds->tail.end && !tide_err_is_set(err); i++) {
    const struct tide_tail_entry *entry = &ds->tail.entries[i];
    if (entry->rows == 0 || entry->before != 0)
      continue; /* gone, or not its partition's first */
    const int64_t bytes = tide_tail_index_find(&ds->tail, entry->partition)->partition_raw_bytes;
    if (list->count == TIDE_MAINTAIN_SEAL_PARTITIONS ||
        (list->count > 0 && bytes > TIDE_MAINTAIN_SEAL_BYTES - list->bytes)) {
      list->more = true;
      break;
    }
    list->ids[list->count++] = entry->partition;
    list->bytes += bytes;
  }
}

static void seal_tail(struct tide_dataset *ds, struct tide_maintain_result *result, struct tide_err *err) {
  struct tail_list *list = tide_alloc_zero(1, sizeof *list, err);
  if (list == NULL)
    return;
  list_tail(ds, list, err);
  result->more = result->more || list->more;
  if (!tide_err_is_set(err))
    tide_seal_pieces(ds, "tidemark_maintain", list->ids, list->count, &result->sealed, &result->failures, err);
  tide_free(list);
}

/* ---- the export log ---- */

static void trim_log(struct tide_dataset *ds, struct tide_maintain_result *result, struct tide_err *err) {
  struct tide_work work;
  const struct tide_names names = tide_dataset_names(ds);
  const int64_t before_ms = tide_dataset_now_ms(ds) - TIDE_MAINTAIN_LOG_AGE_MS;
  if (tide_exportlog_trimmable(ds->conn->db, names, before_ms, 1, err) == 0)
    return;
  tide_work_begin(ds, "tidemark_maintain", &work, err);
  if (!tide_err_is_set(err))
    result->trimmed = tide_exportlog_trim(ds->conn->db, names, before_ms, TIDE_MAINTAIN_TRIM_ROWS, err);
  tide_work_end(&work, err);
  result->more = result->more || result->trimmed == TIDE_MAINTAIN_TRIM_ROWS;
}

void tide_maintain(struct tide_dataset *ds, struct tide_maintain_result *result, struct tide_err *err) {
  const struct tide_prune_request prune = {.max_bytes = TIDE_MAINTAIN_PRUNE_BYTES};
  const struct tide_compact_request compact = {.max_bytes = TIDE_MAINTAIN_COMPACT_BYTES, .eager = false};
  tide_dataset_check_unread(ds, "tidemark_maintain", err);
  if (!tide_err_is_set(err))
    seal_tail(ds, result, err);
  if (!tide_err_is_set(err))
    tide_prune(ds, &prune, &result->pruned, err);
  if (!tide_err_is_set(err))
    tide_compact(ds, &compact, &result->compacted, err);
  if (!tide_err_is_set(err))
    trim_log(ds, result, err);
  if (!tide_err_is_set(err))
    tide_caught_up_note(ds, "tidemark_maintain", err);
  result->more = result->more || result->pruned.more || result->compacted.more;
}

void tide_maintain_result_clear(struct tide_maintain_result *result) {
  tide_prune_result_clear(&result->pruned);
  tide_failures_clear(&result->compacted.failures);
  tide_failures_clear(&result->failures);
}
