#include "engine/compact.h"

#include "base/mem.h"
#include "base/stmt.h"
#include "engine/packer.h"
#include "engine/pick.h"
#include "engine/scan.h"
#include "engine/seal.h"
#include "store/deleted.h"

enum {
  PIECE_BYTES = 4 << 20, /* stored bytes of runs that one transaction rewrites, when it is not one run */
  PIECE_RUNS = 1024,
  NEAR_LOOKS = 64
};

struct compact {
  struct tide_dataset *ds;
  struct tide_names names;
  const struct tide_compact_request *request;
  struct tide_compact_result *result;
  sqlite3_stmt *segments_stmt; /* at rest while something is written */
  int64_t partition;           /* the one at hand; 0: before the first */
  struct tide_buf text;
  int64_t pos;  /* this look at it has come to here */
  bool changed; /* and has rewritten something */
  bool at_end;  /* no partition is left */
  struct tide_pick pick;
};

/* ---- looking ---- */

static int64_t level_of(const struct tide_dataset *ds) {
  const int64_t level = ds->config.options.zstd_level;
  return level > TIDE_COMPACT_LEVEL ? level : TIDE_COMPACT_LEVEL;
}

/* The first run of the partition at hand that is due above pos, as the open transaction sees it. */
static bool pick_run(struct compact *compact, struct tide_pick_run *ret_run, struct tide_err *err) {
  struct tide_segment_row row;
  const struct tide_pick_rules rules = {.segment_rows = compact->ds->config.options.segment_rows,
                                        .segment_bytes = TIDE_PACKER_SEGMENT_BYTES,
                                        .level = level_of(compact->ds),
                                        .eager = compact->request->eager};
  bool found = false;
  tide_pick_init(&compact->pick, &rules);
  tide_catalog_segments_seek(compact->segments_stmt, compact->partition, compact->pos);
  while (!found && tide_catalog_segments_next(compact->segments_stmt, compact->names, &row, err))
    found = tide_pick_add(&compact->pick, &row, ret_run, err);
  if (!found && !tide_err_is_set(err))
    found = tide_pick_add(&compact->pick, NULL, ret_run, err);
  sqlite3_reset(compact->segments_stmt);
  return found;
}

static void next_partition(struct compact *compact, struct tide_err *err) {
  tide_buf_reset(&compact->text);
  compact->partition =
      tide_catalog_partition_next(compact->ds->conn->db, compact->names, compact->partition, &compact->text, err);
  compact->pos = 0;
  compact->changed = false;
  compact->at_end = compact->partition == 0;
}

/* What a run became may fit together with what lies around it, for it was weighed by estimate and a run is bounded: a
 * partition is left when a whole look at it finds nothing. */
static void look_on(struct compact *compact, struct tide_err *err) {
  if (!compact->changed) {
    next_partition(compact, err);
    return;
  }
  compact->changed = false;
  compact->pos = 0;
}

static const char *text_of(const struct compact *compact) {
  return compact->text.len > 0 ? (const char *)compact->text.data : "";
}

/* Enters damage of the partition at hand and goes behind it. */
static void take_failure(struct compact *compact, struct tide_err *err) {
  tide_failures_take(&compact->result->failures, text_of(compact), compact->text.len, err);
  compact->pos = INT64_MAX;
  compact->changed = false;
}

/* Moves to the next run that is due. */
static bool find_run(struct compact *compact, struct tide_pick_run *ret_run, struct tide_err *err) {
  bool found = false;
  sqlite3_stmt *snapshot = tide_read_begin(compact->ds->conn->db, compact->ds->schema, err);
  if (!tide_err_is_set(err))
    tide_dataset_refresh(compact->ds, err);
  while (!found && !compact->at_end && !tide_err_is_set(err)) {
    found = compact->partition != 0 && pick_run(compact, ret_run, err);
    if (compact->partition != 0 && tide_err_is_set(err))
      take_failure(compact, err);
    if (!found && !tide_err_is_set(err))
      look_on(compact, err);
  }
  sqlite3_finalize(snapshot);
  return found;
}

/* The same within a transaction, which does not stay open for a long search. */
static bool find_near(struct compact *compact, struct tide_pick_run *ret_run, struct tide_err *err) {
  bool found = false;
  for (int looks = 0; !found && !compact->at_end && looks < NEAR_LOOKS && !tide_err_is_set(err); looks++) {
    found = pick_run(compact, ret_run, err);
    if (!found && !tide_err_is_set(err))
      look_on(compact, err);
  }
  return found;
}

/* ---- rewriting ---- */

struct rewrite {
  struct compact *compact;
  const struct tide_pick_run *run;
  struct tide_packer *packer;
  int64_t taken;  /* the rows up to it are in the packer, or gone */
  size_t dropped; /* segments of the run */
};

static int64_t last_since(const struct tide_pick_run *run) {
  return run->segments[run->count - 1].last_since;
}

/* Takes away the segments whose rows are taken, so that a new one can have the place of the last of them. */
static void drop_taken(struct rewrite *rewrite, struct tide_err *err) {
  const struct tide_pick_run *run = rewrite->run;
  while (rewrite->dropped < run->count && run->segments[rewrite->dropped].last_since <= rewrite->taken)
    tide_catalog_segment_drop(rewrite->compact->ds->conn->db, rewrite->compact->names,
                              &run->segments[rewrite->dropped++], err);
}

static bool has_live(const struct tide_scan_frame *frame) {
  for (size_t row = frame->first; row < frame->end; row++) {
    if (frame->live[row])
      return true;
  }
  return false;
}

static void decode_all(const struct rewrite *rewrite, struct tide_scan *scan, struct tide_err *err) {
  const struct tide_spec *spec = rewrite->compact->ds->spec;
  for (size_t i = 0; i <= spec->ncolumns && !tide_err_is_set(err); i++) {
    if (i == spec->ncolumns || spec->columns[i].partition_at < 0)
      tide_scan_decode(scan, i, err);
  }
}

/* Fills the packer from the rows of a frame. True when it is full. */
static bool take_frame(struct rewrite *rewrite, struct tide_scan *scan, const struct tide_scan_frame *frame,
                       struct tide_err *err) {
  const struct compact *compact = rewrite->compact;
  size_t row = frame->first;
  if (frame->segment_last == 0)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_tail has rows of partition '%.*s' up to since %lld",
                 compact->ds->name, compact->ds->name, (int)compact->text.len, text_of(compact),
                 (long long)last_since(rewrite->run));
  bool full = false;
  if (has_live(frame)) {
    decode_all(rewrite, scan, err);
    full = !tide_err_is_set(err) && tide_packer_fill(rewrite->packer, frame->batch, frame->live, &row, frame->end, err);
  }
  rewrite->taken = full ? frame->batch->since[row - 1] : frame->batch->since[frame->end - 1];
  return full;
}

/* Fills the packer from the rows of the run above `taken`. True when it is full before their end. The scan is closed
 * before anything is written. */
static bool fill(struct rewrite *rewrite, struct tide_err *err) {
  struct compact *compact = rewrite->compact;
  struct tide_scan_request request;
  struct tide_scan_frame frame;
  bool full = false;
  tide_scan_request_init(&request);
  request.above = rewrite->taken;
  request.upto = last_since(rewrite->run);
  tide_scan_request_partition(&request, text_of(compact), compact->text.len, err);
  struct tide_scan *scan = tide_scan_open(compact->ds, &request, err);
  while (!full && scan != NULL && tide_scan_next_frame(scan, &frame, err))
    full = take_frame(rewrite, scan, &frame, err);
  tide_scan_close(scan);
  if (!full)
    rewrite->taken = last_since(rewrite->run);
  return full && !tide_err_is_set(err);
}

static void write_run(struct rewrite *rewrite, struct tide_err *err) {
  struct compact *compact = rewrite->compact;
  const struct tide_pick_run *run = rewrite->run;
  rewrite->taken = run->segments[0].first_since - 1;
  while (rewrite->taken < last_since(run) && fill(rewrite, err)) {
    drop_taken(rewrite, err);
    tide_packer_write(rewrite->packer, err);
  }
  if (!tide_err_is_set(err))
    drop_taken(rewrite, err);
  tide_packer_finish(rewrite->packer, err);
  if (!tide_err_is_set(err) && rewrite->packer->rows != run->live)
    tide_err_set(err, SQLITE_CORRUPT_VTAB,
                 "dataset %s: segments of partition '%.*s' from since %lld to %lld have %lld live rows, %s_segment says"
                 " %lld",
                 compact->ds->name, (int)compact->text.len, text_of(compact), (long long)run->segments[0].first_since,
                 (long long)last_since(run), (long long)rewrite->packer->rows, compact->ds->name, (long long)run->live);
}

static void rewrite_run(struct rewrite *rewrite, struct tide_err *err) {
  struct compact *compact = rewrite->compact;
  const struct tide_pick_run *run = rewrite->run;
  struct tide_dataset *ds = compact->ds;
  tide_dataset_touched(ds);
  tide_progress_expect(&ds->conn->progress, run->live);
  tide_packer_start(rewrite->packer, compact->partition, run->revision + 1);
  write_run(rewrite, err);
  if (!tide_err_is_set(err))
    tide_deleted_forget(ds->conn->db, compact->names, compact->partition, run->segments[0].first_since - 1,
                        last_since(run), err);
  ds->epoch++;
}

static void add_up(const struct rewrite *rewrite, struct tide_compact_result *result) {
  const struct tide_pick_run *run = rewrite->run;
  result->runs++;
  result->segments_in += (int64_t)run->count;
  result->segments_out += rewrite->packer->segments;
  result->rows += run->live;
  for (size_t i = 0; i < run->count; i++)
    result->dropped += run->segments[i].rows;
  result->dropped -= run->live;
  result->stored_in += run->stored_bytes;
  result->stored_out += rewrite->packer->stored_bytes;
}

/* ---- the call ---- */

static bool budget_has(const struct compact *compact, int64_t stored_bytes) {
  return compact->result->runs == 0 || stored_bytes <= compact->request->max_bytes - compact->result->stored_in;
}

/* Does runs within a transaction, from the one on that is due first above pos, for another connection may have done the
 * one that was found. Gives how many were tried. */
static size_t rewrite_runs(struct compact *compact, size_t max_runs, struct tide_err *err) {
  struct tide_pick_run run;
  struct tide_packer packer;
  struct tide_compact_result *result = compact->result;
  struct rewrite rewrite = {.compact = compact, .run = &run, .packer = &packer};
  const int64_t stored_before = result->stored_in;
  size_t tried = 0;
  tide_packer_init(&packer, compact->ds, level_of(compact->ds), err);
  while (tried < max_runs && result->stored_in - stored_before < PIECE_BYTES && find_near(compact, &run, err) &&
         budget_has(compact, run.stored_bytes)) {
    tried++;
    rewrite.taken = 0;
    rewrite.dropped = 0;
    rewrite_run(&rewrite, err);
    if (tide_err_is_set(err))
      break;
    add_up(&rewrite, result);
    compact->pos = last_since(&run);
    compact->changed = true;
  }
  if (tried > 0)
    tide_catalog_store_counters(compact->ds->conn->db, compact->names, &compact->ds->config, err);
  tide_packer_clear(&packer);
  return tried;
}

/* Goes back to where the call was. */
static void return_to(struct compact *compact, int64_t partition, int64_t pos, bool changed) {
  struct tide_err none = {0}; /* the name is for errors, and next_partition says what it met */
  compact->partition = partition - 1;
  next_partition(compact, &none);
  compact->partition = partition;
  compact->pos = pos;
  compact->changed = changed;
  compact->at_end = false;
}

/* Does runs in one transaction. After an error all of them are undone, and when they were several the call stands where
 * it stood. Gives how many were tried. */
static size_t work_piece(struct compact *compact, size_t max_runs, struct tide_err *err) {
  struct tide_work work;
  const struct tide_compact_result before = *compact->result;
  const int64_t partition = compact->partition;
  const int64_t pos = compact->pos;
  const bool changed = compact->changed;
  size_t tried = 0;
  tide_work_begin(compact->ds, "tidemark_compact", &work, err);
  if (!tide_err_is_set(err))
    tried = rewrite_runs(compact, max_runs, err);
  tide_work_end(&work, err);
  if (!tide_err_is_set(err))
    return tried;
  *compact->result = before;
  if (max_runs > 1)
    return_to(compact, partition, pos, changed);
  return tried;
}

/* Partitions to seal. */
struct seal_list {
  int64_t *ids;
  size_t count;
  size_t cap;
  int64_t bytes; /* of their tails */
};

static void list_partition(struct seal_list *list, const struct tide_tail_entry *newest, struct tide_err *err) {
  void *ids = list->ids;
  if (tide_grow(&ids, &list->cap, list->count + 1, sizeof *list->ids, err) != 0)
    return;
  list->ids = ids;
  list->ids[list->count++] = newest->partition;
  list->bytes += newest->partition_bytes;
}

/* The partitions of whose tail DELETE took rows, as many as the call may do. */
static void list_deleted(struct compact *compact, struct seal_list *list, struct tide_err *err) {
  struct tide_dataset *ds = compact->ds;
  const struct tide_tail_index *tail = &ds->tail;
  sqlite3_stmt *snapshot = tide_read_begin(ds->conn->db, ds->schema, err);
  sqlite3_stmt *stmt = tide_deleted_has_prepare(ds->conn->db, compact->names, err);
  tide_txn_flush(ds, err);
  tide_dataset_refresh(ds, err);
  for (size_t i = 0; i < tail->end && !compact->result->more && !tide_err_is_set(err); i++) {
    const struct tide_tail_entry *first = &tail->entries[i];
    if (first->rows == 0 || first->before != 0 || first->first_since > ds->deleted_max)
      continue;
    const struct tide_tail_entry *newest = tide_tail_index_find(tail, first->partition);
    if (!tide_deleted_has(stmt, first->partition, first->first_since, newest->last_since, err))
      continue;
    if (list->count == 0 || newest->partition_bytes <= compact->request->max_bytes - list->bytes)
      list_partition(list, newest, err);
    else
      compact->result->more = true;
  }
  tide_stmt_pool_give(compact->names.pool, stmt);
  sqlite3_finalize(snapshot);
}

/* Seals the partitions that have deleted rows in the tail. */
static void seal_deleted(struct compact *compact, struct tide_err *err) {
  struct seal_list list = {0};
  struct tide_compact_result *result = compact->result;
  struct tide_seal_result sealed = {0};
  list_deleted(compact, &list, err);
  if (!tide_err_is_set(err) && list.count > 0)
    tide_seal_pieces(compact->ds, "tidemark_compact", list.ids, list.count, &sealed, &result->failures, err);
  tide_free(list.ids);
  result->runs += sealed.partitions;
  result->segments_out += sealed.segments;
  result->rows += sealed.rows;
  result->dropped += sealed.dropped;
  result->stored_in += sealed.partitions > 0 ? list.bytes : 0;
  result->stored_out += sealed.stored_bytes;
}

static void compact_all(struct compact *compact, struct tide_err *err) {
  struct tide_pick_run run;
  size_t alone = 0; /* so many runs, each by itself: one of them is damaged */
  while (!compact->result->more && find_run(compact, &run, err)) {
    if (!budget_has(compact, run.stored_bytes)) {
      compact->result->more = true;
      continue;
    }
    const size_t tried = work_piece(compact, alone > 0 ? 1 : PIECE_RUNS, err);
    if (alone > 0) {
      alone--;
      if (tide_err_is_set(err))
        take_failure(compact, err);
    } else if ((err->rc & 0xff) == SQLITE_CORRUPT) {
      alone = tried + 1;
      tide_err_clear(err);
    }
  }
}

void tide_compact(struct tide_dataset *ds, const struct tide_compact_request *request,
                  struct tide_compact_result *result, struct tide_err *err) {
  struct compact compact = {.ds = ds, .names = tide_dataset_names(ds), .request = request, .result = result};
  tide_stmt_pool_hold(ds->pool);
  tide_dataset_check_unread(ds, "tidemark_compact", err);
  compact.segments_stmt = tide_catalog_segments_prepare(ds->conn->db, compact.names, err);
  if (request->eager && !tide_err_is_set(err))
    seal_deleted(&compact, err);
  if (!tide_err_is_set(err))
    compact_all(&compact, err);
  tide_stmt_pool_give(ds->pool, compact.segments_stmt);
  tide_stmt_pool_release(ds->pool);
  tide_buf_clear(&compact.text);
  tide_pick_clear(&compact.pick);
}
