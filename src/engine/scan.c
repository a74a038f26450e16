#include "engine/scan.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "engine/merge.h"
#include "engine/stream.h"

struct tide_scan {
  struct tide_scan_view view; /* first: who reads rows sees a scan as one */
  struct tide_stream_shared shared;
  int64_t *partitions; /* ids that may have rows in range, ascending */
  size_t npartitions;
  size_t partitions_cap;
  size_t next_partition;
  struct tide_stream *stream; /* one partition after another; NULL: none yet */
  struct tide_merge merge;    /* or several at once */
  bool merged;
  bool started; /* the merge */
  bool given;   /* a row was */
};

/* ---- which partitions ---- */

static void add_partition(struct tide_scan *scan, int64_t id, struct tide_err *err) {
  void *ids = scan->partitions;
  if (tide_grow(&ids, &scan->partitions_cap, scan->npartitions + 1, sizeof *scan->partitions, err) != 0)
    return;
  scan->partitions = ids;
  scan->partitions[scan->npartitions++] = id;
}

static int by_id(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a;
  const int64_t y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void sort_partitions(struct tide_scan *scan) {
  if (scan->npartitions == 0)
    return;
  qsort(scan->partitions, scan->npartitions, sizeof *scan->partitions, by_id);
  size_t kept = 1;
  for (size_t i = 1; i < scan->npartitions; i++) {
    if (scan->partitions[i] != scan->partitions[kept - 1])
      scan->partitions[kept++] = scan->partitions[i];
  }
  scan->npartitions = kept;
}

/* What is known of a partition, or else its row says; id 0: there is none. */
static struct tide_known_partition look_up(struct tide_dataset *ds, const char *text, size_t size,
                                           struct tide_err *err) {
  struct tide_partition_row row;
  const struct tide_known_partition *known = tide_known_find(&ds->known, text, size);
  if (known != NULL)
    return *known;
  tide_stmt_pool_hold_lasting(ds->pool);
  const bool there = tide_catalog_partition_look(ds->conn->db, tide_dataset_names(ds), text, size, &row, err);
  tide_stmt_pool_release_lasting(ds->pool);
  if (!there)
    return (struct tide_known_partition){.id = 0};
  const struct tide_known_partition found = {
      .id = row.id, .last_since = row.last_since, .pruned_upto = row.pruned_upto};
  tide_known_add(&ds->known, text, size, &found, err);
  return found;
}

static void find_partition(struct tide_scan *scan, const char *text, size_t size, struct tide_err *err) {
  struct tide_stream_shared *shared = &scan->shared;
  const struct tide_known_partition known = look_up(shared->ds, text, size, err);
  shared->known = known;
  tide_buf_reset(&shared->known_text);
  tide_buf_put(&shared->known_text, text, size, err);
  tide_stream_shared_look(shared, known.id != 0 ? known.id : -1, err); /* -1 is no partition */
  if (known.id != 0 && (known.last_since > shared->request.above || shared->ntail > 0))
    add_partition(scan, known.id, err);
}

/* Those with segments above the range's start, and those in the tail: as many as have new rows, not as many as there
 * are. */
static void find_all(struct tide_scan *scan, struct tide_err *err) {
  struct tide_stream_shared *shared = &scan->shared;
  const struct tide_names names = tide_dataset_names(shared->ds);
  tide_stream_shared_look(shared, 0, err);
  for (size_t i = 0; i < shared->ntail && !tide_err_is_set(err); i++) {
    if (i == 0 || shared->tail[i].partition != shared->tail[i - 1].partition)
      add_partition(scan, shared->tail[i].partition, err);
  }
  if (shared->request.above < shared->ds->config.sealed_since) {
    const struct tide_scan_request *request = &shared->request;
    sqlite3 *db = shared->ds->conn->db;
    sqlite3_stmt *stmt = request->upto < shared->ds->config.sealed_since
                             ? tide_catalog_partitions_between(db, names, request->above, request->upto, err)
                             : tide_catalog_partitions_above(db, names, request->above, err);
    while (tide_stmt_row(stmt, err))
      add_partition(scan, tide_catalog_partition_id(stmt, names, err), err);
    tide_stmt_pool_give(names.pool, stmt);
  }
  sort_partitions(scan);
}

static void find_partitions(struct tide_scan *scan, struct tide_err *err) {
  struct tide_stream_shared *shared = &scan->shared;
  const struct tide_scan_request *request = &shared->request;
  struct tide_buf text = {0};
  if (request->partition_id != 0) {
    tide_stream_shared_look(shared, request->partition_id, err);
    add_partition(scan, request->partition_id, err);
  } else if (request->partition != NULL) {
    find_partition(scan, request->partition, request->partition_size, err);
  } else if (tide_scan_request_one_partition(request, shared->spec, &text, err)) {
    find_partition(scan, (const char *)text.data, text.len, err);
  } else if (!tide_err_is_set(err)) {
    find_all(scan, err);
  }
  tide_buf_clear(&text);
}

/* ---- life ---- */

struct tide_scan *tide_scan_open(struct tide_dataset *ds, struct tide_scan_request *request, struct tide_err *err) {
  struct tide_scan *scan = tide_alloc_zero(1, sizeof *scan, err);
  if (scan == NULL) {
    tide_scan_request_clear(request);
    return NULL;
  }
  struct tide_stream_shared *shared = &scan->shared;
  tide_stream_shared_init(shared, ds, request);
  ds->scans++;
  tide_txn_flush(ds, err);
  tide_dataset_refresh(ds, err);
  const int64_t last = tide_dataset_last_since(ds);
  if (shared->request.upto > last)
    shared->request.upto = last; /* rows that come later are not this scan's */
  if (shared->request.above >= shared->request.upto)
    shared->request.empty = true;
  if (!shared->request.empty && !tide_err_is_set(err))
    find_partitions(scan, err);
  scan->merged = shared->request.order != TIDE_SCAN_BY_PARTITION && scan->npartitions > 1;
  shared->merged = scan->merged;
  scan->view.epoch_now = &ds->epoch;
  scan->view.spec = shared->spec;
  if (tide_err_is_set(err)) {
    tide_scan_close(scan);
    return NULL;
  }
  return scan;
}

static void free_stream(struct tide_stream *stream) {
  if (stream != NULL)
    tide_stream_clear(stream);
  tide_free(stream);
}

void tide_scan_close(struct tide_scan *scan) {
  if (scan == NULL)
    return;
  free_stream(scan->stream);
  tide_merge_clear(&scan->merge);
  tide_free(scan->partitions);
  scan->shared.ds->scans--;
  tide_stream_shared_clear(&scan->shared);
  tide_free(scan);
}

/* ---- one partition after another ---- */

static struct tide_stream *need_stream(struct tide_scan *scan, struct tide_err *err) {
  if (scan->stream != NULL)
    return scan->stream;
  struct tide_stream *stream = tide_alloc(sizeof *stream, err);
  if (stream != NULL && tide_stream_init(stream, &scan->shared, err) != 0) {
    free_stream(stream);
    return NULL;
  }
  scan->stream = stream;
  return stream;
}

static bool next_window(struct tide_scan *scan, struct tide_err *err) {
  struct tide_stream *stream = scan->npartitions > 0 || scan->stream != NULL ? need_stream(scan, err) : NULL;
  if (stream == NULL)
    return false;
  if (stream->partition != 0 && tide_stream_next(stream, err))
    return true;
  while (!tide_err_is_set(err) && scan->next_partition < scan->npartitions) {
    if (tide_stream_start(stream, scan->partitions[scan->next_partition++], err) && tide_stream_next(stream, err))
      return true;
    stream->above = stream->upto; /* done with it, should next_window be asked again */
  }
  return false;
}

static bool next_in_turn(struct tide_scan *scan, struct tide_err *err) {
  const bool downwards = scan->shared.request.order == TIDE_SCAN_DOWNWARDS;
  if (scan->stream != NULL && !tide_window_is_empty(&scan->stream->window) && tide_window_step(&scan->stream->window))
    return true;
  while (next_window(scan, err)) {
    if (tide_window_enter(&scan->stream->window, downwards))
      return true;
  }
  return false;
}

/* Of the partitions still to come, those that are there. */
static void keep_partitions(struct tide_scan *scan, struct tide_err *err) {
  int64_t *before = scan->partitions;
  const size_t nbefore = scan->npartitions;
  scan->partitions = NULL;
  scan->npartitions = scan->partitions_cap = 0;
  find_partitions(scan, err);
  size_t kept = 0;
  for (size_t i = 0, at = scan->next_partition; i < scan->npartitions; i++) {
    while (at < nbefore && before[at] < scan->partitions[i])
      at++;
    if (at < nbefore && before[at] == scan->partitions[i])
      scan->partitions[kept++] = scan->partitions[i];
  }
  scan->npartitions = kept;
  scan->next_partition = 0;
  tide_free(before);
}

/* Rows have moved: goes on behind what was read of the partition at hand. */
static void look_again(struct tide_scan *scan, enum tide_stream_from from, struct tide_err *err) {
  tide_txn_check(scan->shared.ds, err);
  tide_dataset_refresh(scan->shared.ds, err);
  keep_partitions(scan, err);
  if (scan->stream != NULL)
    tide_stream_again(scan->stream, from, err);
}

static bool has_moved(const struct tide_scan *scan) {
  return scan->shared.epoch != scan->shared.ds->epoch && !scan->shared.request.empty;
}

bool tide_scan_next_frame(struct tide_scan *scan, struct tide_scan_frame *ret_frame, struct tide_err *err) {
  if (has_moved(scan))
    look_again(scan, TIDE_STREAM_BEHIND_WINDOW, err);
  if (!next_window(scan, err))
    return false;
  struct tide_stream *stream = scan->stream;
  const uint8_t *live = tide_window_flags(&stream->window, err);
  if (live == NULL)
    return false;
  *ret_frame = (struct tide_scan_frame){.batch = &stream->window.batch,
                                        .first = stream->window.first,
                                        .end = stream->window.end,
                                        .live = live,
                                        .partition = stream->partition,
                                        .segment_last = stream->window.segment != NULL ? stream->segment_last : 0};
  return true;
}

/* ---- rows ---- */

static bool next_merged(struct tide_scan *scan, struct tide_err *err) {
  struct tide_stream_shared *shared = &scan->shared;
  if (!scan->started) {
    scan->started = true;
    tide_merge_start(&scan->merge, shared, scan->partitions, scan->npartitions, err);
  } else if (scan->merge.count > 0 && has_moved(scan)) {
    tide_txn_check(shared->ds, err);
    tide_dataset_refresh(shared->ds, err);
    tide_stream_shared_look(shared, 0, err);
    tide_merge_again(&scan->merge, err);
  } else if (scan->merge.count > 0) {
    tide_merge_next(&scan->merge, err);
  }
  return !tide_err_is_set(err) && scan->merge.count > 0;
}

static struct tide_stream *at_hand(const struct tide_scan *scan) {
  return scan->merged ? scan->merge.streams[0] : scan->stream;
}

/* A number is one row's: when it was found, the other partitions need not be looked through. */
static bool is_found(const struct tide_scan *scan) {
  return scan->given && scan->shared.request.upto - scan->shared.request.above == 1;
}

bool tide_scan_next(struct tide_scan *scan, struct tide_err *err) {
  struct tide_scan_view *view = &scan->view;
  view->alone = false;
  if (scan->shared.request.empty || is_found(scan))
    return false;
  if (has_moved(scan) && !scan->started)
    look_again(scan, TIDE_STREAM_BEHIND_ROW, err);
  if (scan->merged ? !next_merged(scan, err) : !next_in_turn(scan, err))
    return false;
  view->window = &at_hand(scan)->window;
  view->partition_values = at_hand(scan)->values;
  view->alone = !scan->merged;
  view->epoch = scan->shared.epoch;
  scan->given = true;
  return true;
}

/* ---- the row at hand ---- */

int64_t tide_scan_partition_id(const struct tide_scan *scan) {
  return at_hand(scan)->partition;
}

int tide_scan_number(struct tide_scan *scan, struct tide_err *err) {
  return tide_stream_number(at_hand(scan), err);
}

int64_t tide_scan_since(const struct tide_scan *scan) {
  const struct tide_window *window = &at_hand(scan)->window;
  assert(window->numbered);
  return window->batch.since[window->row];
}

int tide_scan_ingested_at(struct tide_scan *scan, int64_t *ret_ms, struct tide_err *err) {
  struct tide_stream *stream = at_hand(scan);
  if (tide_stream_decode(stream, scan->shared.spec->ncolumns, err) != 0)
    return err->rc;
  *ret_ms = stream->window.batch.ingested_at[stream->window.row];
  return 0;
}

int tide_scan_value(struct tide_scan *scan, size_t column, struct tide_val *ret_value, struct tide_err *err) {
  struct tide_stream *stream = at_hand(scan);
  const int at = scan->shared.spec->columns[column].partition_at;
  if (at >= 0) {
    *ret_value = stream->values[at];
    return 0;
  }
  if (tide_stream_decode(stream, column, err) != 0)
    return err->rc;
  *ret_value = tide_vec_get(&stream->window.batch.columns[column], stream->window.row);
  return 0;
}

const char *tide_scan_partition(const struct tide_scan *scan, size_t *ret_size) {
  const struct tide_buf *text = &at_hand(scan)->text;
  *ret_size = text->len;
  return text->len > 0 ? (const char *)text->data : "";
}

int tide_scan_decode(struct tide_scan *scan, size_t column, struct tide_err *err) {
  return tide_stream_decode(at_hand(scan), column, err);
}

