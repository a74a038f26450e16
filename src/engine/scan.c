#include "engine/scan.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "engine/stream.h"

struct tide_scan {
  struct tide_stream_shared shared;
  int64_t *partitions; /* ids that may have rows in range, ascending */
  size_t npartitions;
  size_t partitions_cap;
  size_t next_partition;
  struct tide_stream **streams; /* unordered: one; ordered: a heap of those with rows left, the lowest since on top */
  size_t nstreams;
  size_t row; /* of streams[0]'s frame: the row at hand (in turn); each merged stream keeps its own in `first` */
  bool merged;
  bool started; /* the merge */
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

static void find_partition(struct tide_scan *scan, const char *text, size_t size, struct tide_err *err) {
  struct tide_stream_shared *shared = &scan->shared;
  const int64_t id = tide_catalog_partition_find(shared->ds->conn->db, tide_dataset_names(shared->ds), text, size, err);
  tide_stream_shared_look(shared, id != 0 ? id : -1, err); /* -1 is no partition */
  if (id != 0)
    add_partition(scan, id, err);
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
    sqlite3_stmt *stmt = tide_catalog_partitions_above(shared->ds->conn->db, names, shared->request.above, err);
    while (tide_stmt_row(stmt, err))
      add_partition(scan, sqlite3_column_int64(stmt, 0), err);
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
  shared->ds = tide_dataset_ref(ds);
  tide_stmt_pool_hold(ds->pool);
  ds->scans++;
  shared->spec = tide_spec_ref(ds->spec);
  shared->request = *request;
  *request = (struct tide_scan_request){.empty = true};
  tide_txn_flush(ds, err);
  tide_dataset_refresh(ds, err);
  const int64_t last = tide_dataset_last_since(ds);
  if (shared->request.upto > last)
    shared->request.upto = last; /* rows that come later are not this scan's */
  if (shared->request.above >= shared->request.upto)
    shared->request.empty = true;
  if (!shared->request.empty && !tide_err_is_set(err))
    find_partitions(scan, err);
  scan->merged = shared->request.ordered && scan->npartitions > 1;
  if (tide_err_is_set(err)) {
    tide_scan_close(scan);
    return NULL;
  }
  return scan;
}

void tide_scan_close(struct tide_scan *scan) {
  if (scan == NULL)
    return;
  for (size_t i = 0; i < scan->nstreams; i++) {
    tide_stream_clear(scan->streams[i]);
    tide_free(scan->streams[i]);
  }
  tide_free(scan->streams);
  tide_free(scan->partitions);
  scan->shared.ds->scans--;
  tide_stream_shared_clear(&scan->shared);
  tide_free(scan);
}

static struct tide_stream *add_stream(struct tide_scan *scan, struct tide_err *err) {
  struct tide_stream **streams = tide_realloc(scan->streams, scan->nstreams + 1, sizeof *streams, err);
  if (streams == NULL)
    return NULL;
  scan->streams = streams;
  struct tide_stream *stream = tide_alloc(sizeof *stream, err);
  if (stream == NULL)
    return NULL;
  if (tide_stream_init(stream, &scan->shared, err) != 0) {
    tide_stream_clear(stream);
    tide_free(stream);
    return NULL;
  }
  streams[scan->nstreams++] = stream;
  return stream;
}

/* ---- one partition after another ---- */

static bool next_frame(struct tide_scan *scan, struct tide_err *err) {
  if (scan->nstreams == 0 && (scan->npartitions == 0 || add_stream(scan, err) == NULL))
    return false;
  struct tide_stream *stream = scan->streams[0];
  if (stream->partition != 0 && tide_stream_next_frame(stream, err))
    return true;
  while (!tide_err_is_set(err) && scan->next_partition < scan->npartitions) {
    if (tide_stream_start(stream, scan->partitions[scan->next_partition++], err) && tide_stream_next_frame(stream, err))
      return true;
    stream->pos = INT64_MAX; /* done with it, should next_frame be asked again */
  }
  return false;
}

static bool next_in_turn(struct tide_scan *scan, struct tide_err *err) {
  if (scan->nstreams > 0)
    scan->row++;
  for (;;) {
    if (scan->nstreams > 0) {
      const struct tide_stream *stream = scan->streams[0];
      while (scan->row < stream->end) {
        if (stream->live[scan->row])
          return true;
        scan->row++;
      }
    }
    if (!next_frame(scan, err))
      return false;
    scan->row = scan->streams[0]->first;
  }
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

/* In turn: goes on behind `pos` of the partition at hand. */
static void look_again(struct tide_scan *scan, int64_t pos, struct tide_err *err) {
  tide_dataset_refresh(scan->shared.ds, err);
  keep_partitions(scan, err);
  if (scan->nstreams > 0)
    tide_stream_again(scan->streams[0], pos, err);
}

static bool has_moved(const struct tide_scan *scan) {
  return scan->shared.epoch != scan->shared.ds->epoch && !scan->shared.request.empty;
}

bool tide_scan_next_frame(struct tide_scan *scan, struct tide_scan_frame *ret_frame, struct tide_err *err) {
  if (has_moved(scan))
    look_again(scan, scan->nstreams > 0 ? scan->streams[0]->pos : 0, err);
  if (!next_frame(scan, err))
    return false;
  const struct tide_stream *stream = scan->streams[0];
  *ret_frame = (struct tide_scan_frame){.batch = &stream->batch,
                                        .first = stream->first,
                                        .end = stream->end,
                                        .live = stream->live,
                                        .partition = stream->partition,
                                        .segment_last = stream->segment_last};
  return true;
}

/* ---- merged: each stream's row at hand is its `first` ---- */

static int64_t top_since(const struct tide_stream *stream) {
  return stream->batch.since[stream->first];
}

/* Moves a stream to its next row that is not deleted, from `first` on. false when it has none. */
static bool settle(struct tide_stream *stream, struct tide_err *err) {
  for (;;) {
    while (stream->first < stream->end) {
      if (stream->live[stream->first])
        return true;
      stream->first++;
    }
    if (!tide_stream_next_frame(stream, err))
      return false;
  }
}

static void sift_down(struct tide_scan *scan, size_t at) {
  for (;;) {
    size_t least = at;
    for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < scan->nstreams; child++) {
      if (top_since(scan->streams[child]) < top_since(scan->streams[least]))
        least = child;
    }
    if (least == at)
      return;
    struct tide_stream *swapped = scan->streams[at];
    scan->streams[at] = scan->streams[least];
    scan->streams[least] = swapped;
    at = least;
  }
}

static bool heapify(struct tide_scan *scan, struct tide_err *err) {
  for (size_t i = scan->nstreams / 2; i > 0 && !tide_err_is_set(err); i--)
    sift_down(scan, i - 1);
  return !tide_err_is_set(err) && scan->nstreams > 0;
}

static void drop_stream(struct tide_scan *scan, size_t at) {
  tide_stream_clear(scan->streams[at]);
  tide_free(scan->streams[at]);
  scan->streams[at] = scan->streams[--scan->nstreams];
}

static void start_merge(struct tide_scan *scan, struct tide_err *err) {
  for (size_t i = 0; i < scan->npartitions && !tide_err_is_set(err); i++) {
    struct tide_stream *stream = add_stream(scan, err);
    if (stream != NULL && (!tide_stream_start(stream, scan->partitions[i], err) || !settle(stream, err)))
      drop_stream(scan, scan->nstreams - 1);
  }
  heapify(scan, err);
}

static bool next_merged(struct tide_scan *scan, struct tide_err *err) {
  if (!scan->started) {
    scan->started = true;
    start_merge(scan, err);
  } else if (scan->nstreams > 0) {
    scan->streams[0]->first++;
    if (!settle(scan->streams[0], err)) {
      if (tide_err_is_set(err))
        return false;
      drop_stream(scan, 0);
    }
    if (scan->nstreams > 1)
      sift_down(scan, 0);
  }
  return !tide_err_is_set(err) && scan->nstreams > 0;
}

/* Merged: the top stream goes on behind its row, which was given; the others with theirs, which were not. */
static bool merge_again(struct tide_scan *scan, struct tide_err *err) {
  struct tide_stream_shared *shared = &scan->shared;
  tide_dataset_refresh(shared->ds, err);
  tide_stream_shared_look(shared, 0, err);
  for (size_t i = scan->nstreams; i > 0 && !tide_err_is_set(err); i--) {
    struct tide_stream *stream = scan->streams[i - 1];
    tide_stream_again(stream, top_since(stream) - (i > 1), err);
    if (!settle(stream, err))
      drop_stream(scan, i - 1);
  }
  return heapify(scan, err);
}

static int64_t since_at_hand(const struct tide_scan *scan) {
  const struct tide_stream *stream = scan->streams[0];
  return scan->row < stream->end ? stream->batch.since[scan->row] : stream->pos;
}

bool tide_scan_next(struct tide_scan *scan, struct tide_err *err) {
  if (scan->shared.request.empty)
    return false;
  if (has_moved(scan) && scan->started)
    return merge_again(scan, err);
  if (has_moved(scan))
    look_again(scan, scan->nstreams > 0 ? since_at_hand(scan) : 0, err);
  return scan->merged ? next_merged(scan, err) : next_in_turn(scan, err);
}

/* ---- the row at hand ---- */

static size_t row_at_hand(const struct tide_scan *scan) {
  return scan->started ? scan->streams[0]->first : scan->row;
}

int64_t tide_scan_partition_id(const struct tide_scan *scan) {
  return scan->streams[0]->partition;
}

int64_t tide_scan_since(const struct tide_scan *scan) {
  return scan->streams[0]->batch.since[row_at_hand(scan)];
}

int tide_scan_ingested_at(struct tide_scan *scan, int64_t *ret_ms, struct tide_err *err) {
  struct tide_stream *stream = scan->streams[0];
  if (tide_stream_decode(stream, scan->shared.spec->ncolumns, err) != 0)
    return err->rc;
  *ret_ms = stream->batch.ingested_at[row_at_hand(scan)];
  return 0;
}

int tide_scan_value(struct tide_scan *scan, size_t column, struct tide_val *ret_value, struct tide_err *err) {
  struct tide_stream *stream = scan->streams[0];
  const int at = scan->shared.spec->columns[column].partition_at;
  if (at >= 0) {
    *ret_value = stream->values[at];
    return 0;
  }
  if (tide_stream_decode(stream, column, err) != 0)
    return err->rc;
  *ret_value = tide_vec_get(&stream->batch.columns[column], row_at_hand(scan));
  return 0;
}

const char *tide_scan_partition(const struct tide_scan *scan, size_t *ret_size) {
  const struct tide_buf *text = &scan->streams[0]->text;
  *ret_size = text->len;
  return text->len > 0 ? (const char *)text->data : "";
}

int tide_scan_decode(struct tide_scan *scan, size_t column, struct tide_err *err) {
  return tide_stream_decode(scan->streams[0], column, err);
}

const struct tide_val *tide_scan_partition_values(const struct tide_scan *scan) {
  return scan->streams[0]->values;
}
