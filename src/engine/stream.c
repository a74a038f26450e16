#include "engine/stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "model/partition.h"
#include "store/deleted.h"

/* ---- shared ---- */

static int by_partition(const void *a, const void *b) {
  const struct tide_tail_entry *x = a;
  const struct tide_tail_entry *y = b;
  if (x->partition != y->partition)
    return x->partition < y->partition ? -1 : 1;
  return (x->last_since > y->last_since) - (x->last_since < y->last_since);
}

static void add_entry(struct tide_stream_shared *shared, const struct tide_tail_entry *entry, struct tide_err *err) {
  void *tail = shared->tail;
  if (entry->first_since > shared->request.upto ||
      tide_grow(&tail, &shared->tail_cap, shared->ntail + 1, sizeof *shared->tail, err) != 0)
    return;
  shared->tail = tail;
  shared->tail[shared->ntail++] = *entry;
}

void tide_stream_shared_look(struct tide_stream_shared *shared, int64_t partition, struct tide_err *err) {
  const struct tide_tail_index *index = &shared->ds->tail;
  const struct tide_scan_request *request = &shared->request;
  shared->epoch = shared->ds->epoch;
  shared->ntail = 0;
  if (partition != 0) {
    const struct tide_tail_entry *entry = tide_tail_index_find(index, partition);
    for (; entry != NULL && entry->last_since > request->above; entry = tide_tail_index_before(index, entry))
      add_entry(shared, entry, err);
  } else {
    for (size_t i = tide_tail_index_above(index, request->above); i < index->end; i++) {
      if (index->entries[i].rows > 0)
        add_entry(shared, &index->entries[i], err);
    }
  }
  if (shared->ntail > 1)
    qsort(shared->tail, shared->ntail, sizeof *shared->tail, by_partition);
}

void tide_stream_shared_clear(struct tide_stream_shared *shared) {
  struct tide_stmt_pool *pool = shared->ds->pool;
  tide_stmt_pool_give(pool, shared->segments_stmt);
  tide_stmt_pool_give(pool, shared->tail_stmt);
  tide_stmt_pool_give(pool, shared->deleted_stmt);
  tide_stmt_pool_give(pool, shared->text_stmt);
  tide_stmt_pool_release(pool);
  tide_free(shared->tail);
  tide_scan_request_clear(&shared->request);
  tide_spec_unref(shared->spec);
  tide_dataset_release(shared->ds);
}

/* A statement that is prepared at its first use. */
typedef sqlite3_stmt *prepare_function(sqlite3 *db, struct tide_names names, struct tide_err *err);

static sqlite3_stmt *need(struct tide_stream_shared *shared, sqlite3_stmt **stmt, prepare_function *prepare,
                          struct tide_err *err) {
  if (*stmt == NULL)
    *stmt = prepare(shared->ds->conn->db, tide_dataset_names(shared->ds), err);
  return *stmt;
}

/* ---- life ---- */

int tide_stream_init(struct tide_stream *stream, struct tide_stream_shared *shared, struct tide_err *err) {
  *stream = (struct tide_stream){.shared = shared};
  stream->decoded = tide_alloc_zero(shared->spec->ncolumns + 1, 1, err);
  if (stream->decoded == NULL)
    return err->rc;
  return tide_batch_init(&stream->batch, shared->spec->ncolumns, err);
}

static void close_segment(struct tide_stream *stream) {
  tide_segment_close(stream->segment);
  stream->segment = NULL;
  tide_spec_unref(stream->segment_spec);
  stream->segment_spec = NULL;
}

void tide_stream_clear(struct tide_stream *stream) {
  close_segment(stream);
  tide_chunk_reader_close(&stream->reader);
  tide_batch_clear(&stream->batch);
  tide_buf_clear(&stream->text);
  tide_buf_clear(&stream->value_bytes);
  tide_free(stream->live);
  tide_free(stream->decoded);
}

/* Whether the partition's own values leave a chance to every predicate on a partition column. */
static bool values_may_match(const struct tide_stream *stream) {
  const struct tide_spec *spec = stream->shared->spec;
  const struct tide_scan_request *request = &stream->shared->request;
  for (size_t i = 0; i < request->npreds; i++) {
    const struct tide_column *column = &spec->columns[request->preds[i].column];
    if (column->partition_at < 0)
      continue;
    const struct tide_val *value = &stream->values[column->partition_at];
    const struct tide_zone zone = {
        .types = (uint8_t)(1u << value->type), .bounded = value->type != TIDE_VAL_NULL, .min = *value, .max = *value};
    if (!tide_pred_may_match(&request->preds[i], column->type, &zone))
      return false;
  }
  return true;
}

/* Reads the partition's text and values, and goes behind what retention took of it. */
static void read_partition(struct tide_stream *stream, int64_t partition, struct tide_err *err) {
  struct tide_stream_shared *shared = stream->shared;
  sqlite3_stmt *stmt = need(shared, &shared->text_stmt, tide_catalog_partition_by_id, err);
  tide_buf_reset(&stream->text);
  tide_buf_reset(&stream->value_bytes);
  const int64_t pruned_upto =
      tide_catalog_partition_text(stmt, tide_dataset_names(shared->ds), partition, &stream->text, err);
  if (pruned_upto > stream->pos)
    stream->pos = pruned_upto;
  if (tide_err_is_set(err))
    return;
  tide_partition_decode(shared->spec, (const char *)stream->text.data, stream->text.len, stream->values,
                        &stream->value_bytes, err);
  if (err->rc == SQLITE_ERROR)
    err->rc = SQLITE_CORRUPT_VTAB; /* our own table holds it */
}

bool tide_stream_start(struct tide_stream *stream, int64_t partition, struct tide_err *err) {
  close_segment(stream);
  stream->partition = partition;
  stream->pos = stream->shared->request.above;
  stream->in_tail = false;
  stream->first = stream->end = 0;
  read_partition(stream, partition, err);
  return !tide_err_is_set(err) && values_may_match(stream);
}

/* ---- frames ---- */

/* The first row of the batch whose since is above `since`. */
static size_t row_above(const struct tide_batch *batch, int64_t since) {
  size_t low = 0;
  size_t high = batch->rows;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (batch->since[middle] > since)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* Empties the batch for a frame that comes whole (from the tail) or column by column. */
static void start_frame(struct tide_stream *stream, bool whole) {
  tide_batch_reset(&stream->batch);
  memset(stream->decoded, whole ? 1 : 0, stream->shared->spec->ncolumns + 1);
}

/* Goes behind rows that the request's list does not have. */
static void skip_unlisted(struct tide_stream *stream) {
  const struct tide_scan_request *request = &stream->shared->request;
  if (request->list != NULL)
    stream->pos = tide_scan_request_next(request, stream->pos) - 1;
}

/* Of the frame's rows in range, those that the request's list has are live. */
static void keep_listed(struct tide_stream *stream) {
  const struct tide_batch *batch = &stream->batch;
  memset(stream->live, 0, batch->rows);
  for (size_t row = stream->first; row < stream->end;) {
    const int64_t next = tide_scan_request_next(&stream->shared->request, batch->since[row] - 1);
    while (row < stream->end && batch->since[row] < next)
      row++;
    if (row < stream->end && batch->since[row] == next)
      stream->live[row++] = 1;
  }
}

/* Whether the list has numbers from one to another, both among them. */
static bool may_be_listed(const struct tide_stream *stream, int64_t first, int64_t last) {
  return tide_scan_request_next(&stream->shared->request, first - 1) <= last;
}

/* Trims the decoded batch to the range and marks deleted rows. false when no row is left. */
static bool take_frame(struct tide_stream *stream, bool may_have_deleted, struct tide_err *err) {
  struct tide_stream_shared *shared = stream->shared;
  struct tide_batch *batch = &stream->batch;
  stream->first = row_above(batch, stream->pos);
  stream->end = row_above(batch, shared->request.upto);
  if (stream->first >= stream->end)
    return false;
  void *live = stream->live;
  if (tide_grow(&live, &stream->live_cap, batch->rows, 1, err) != 0)
    return false;
  stream->live = live;
  memset(stream->live, 1, batch->rows);
  if (shared->request.list != NULL)
    keep_listed(stream);
  stream->pos = batch->since[stream->end - 1];
  if (!may_have_deleted)
    return true;
  sqlite3_stmt *stmt = need(shared, &shared->deleted_stmt, tide_deleted_prepare, err);
  tide_deleted_mark(stmt, stream->partition, batch, stream->live, err);
  return !tide_err_is_set(err);
}

static void name_damage(const struct tide_stream *stream, struct tide_err *err) {
  if (err->rc == SQLITE_CORRUPT_VTAB)
    tide_err_prefix(err, "dataset %s, segment of partition '%.*s' up to since %lld", stream->shared->ds->name,
                    (int)stream->text.len, (const char *)stream->text.data, (long long)stream->segment_last);
}

static bool zones_may_match(const struct tide_stream *stream) {
  const struct tide_stream_shared *shared = stream->shared;
  for (size_t i = 0; i < shared->request.npreds; i++) {
    const struct tide_pred *pred = &shared->request.preds[i];
    struct tide_zone zone;
    if (shared->spec->columns[pred->column].partition_at >= 0)
      continue;
    tide_segment_zone(stream->segment, (size_t)pred->column, &zone);
    if (!tide_pred_may_match(pred, shared->spec->columns[pred->column].type, &zone))
      return false;
  }
  return true;
}

static bool row_is_plausible(const struct tide_segment *segment, const struct tide_segment_row *row) {
  return tide_segment_first_since(segment) == row->first_since && tide_segment_last_since(segment) == row->last_since &&
         (int64_t)tide_segment_rows(segment) == row->rows;
}

/* A column may have been added since the scan began, and the rows it has still to read sealed with it: the segment is
 * opened with all columns, of which the scan reads its own. One that was rolled back is in the scan's spec only. */
static struct tide_spec *spec_of_segments(const struct tide_stream_shared *shared) {
  return shared->ds->spec->ncolumns > shared->spec->ncolumns ? shared->ds->spec : shared->spec;
}

/* Opens the next segment above pos that may have rows for us. false when there is none. */
static bool open_segment(struct tide_stream *stream, struct tide_err *err) {
  struct tide_stream_shared *shared = stream->shared;
  struct tide_segment_row row;
  sqlite3_stmt *stmt = need(shared, &shared->segments_stmt, tide_catalog_segments_prepare, err);
  if (stmt == NULL)
    return false;
  bool found = false;
  skip_unlisted(stream);
  tide_catalog_segments_seek(stmt, stream->partition, stream->pos);
  while (!found && tide_catalog_segments_next(stmt, tide_dataset_names(shared->ds), &row, err) &&
         row.first_since <= shared->request.upto) {
    if (!may_be_listed(stream, row.first_since, row.last_since)) {
      stream->pos = row.last_since;
      skip_unlisted(stream);
      tide_catalog_segments_seek(stmt, stream->partition, stream->pos);
      continue;
    }
    stream->segment_last = row.last_since;
    stream->segment_deletes = row.deleted > 0;
    stream->reader.db = shared->ds->conn->db;
    stream->reader.names = tide_dataset_names(shared->ds);
    stream->reader.first_chunk = row.chunk;
    stream->segment_spec = tide_spec_ref(spec_of_segments(shared));
    stream->segment = tide_segment_open(stream->segment_spec, row.meta, row.meta_size,
                                        tide_chunk_reader_source(&stream->reader), err);
    if (stream->segment != NULL && !row_is_plausible(stream->segment, &row))
      tide_err_set(err, SQLITE_CORRUPT_VTAB, "its description does not fit its row");
    found = stream->segment != NULL && !tide_err_is_set(err) && zones_may_match(stream) &&
            tide_segment_seek(stream->segment, stream->pos, &stream->frame, err) == 0;
    if (!found) {
      close_segment(stream);
      stream->pos = row.last_since;
    }
    name_damage(stream, err);
  }
  sqlite3_reset(stmt);
  return found;
}

/* Whether the open segment has another frame for us: with a list, the next that has one of its numbers. */
static bool go_to_frame(struct tide_stream *stream, struct tide_err *err) {
  if (stream->shared->request.list != NULL) {
    size_t frame = 0;
    skip_unlisted(stream);
    if (stream->pos >= stream->segment_last || tide_segment_seek(stream->segment, stream->pos, &frame, err) != 0)
      return false;
    if (frame > stream->frame)
      stream->frame = frame;
  }
  return stream->frame < tide_segment_frames(stream->segment);
}

static bool next_segment_frame(struct tide_stream *stream, struct tide_err *err) {
  while (!tide_err_is_set(err) && (stream->segment != NULL || open_segment(stream, err))) {
    while (go_to_frame(stream, err)) {
      start_frame(stream, false);
      if (tide_segment_read_since(stream->segment, stream->frame++, &stream->batch, err) != 0) {
        name_damage(stream, err);
        return false;
      }
      if (take_frame(stream, stream->segment_deletes, err))
        return true;
      if (tide_err_is_set(err))
        return false;
    }
    name_damage(stream, err);
    if (stream->segment_last > stream->pos)
      stream->pos = stream->segment_last;
    close_segment(stream);
  }
  return false;
}

/* The place in the shared tail of the partition's first entry above pos. */
static size_t tail_place(const struct tide_stream *stream) {
  const struct tide_stream_shared *shared = stream->shared;
  const struct tide_tail_entry wanted = {.partition = stream->partition, .last_since = stream->pos};
  size_t low = 0;
  size_t high = shared->ntail;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (by_partition(&shared->tail[middle], &wanted) > 0)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static bool next_tail_frame(struct tide_stream *stream, struct tide_err *err) {
  struct tide_stream_shared *shared = stream->shared;
  if (!stream->in_tail) {
    stream->in_tail = true;
    stream->tail_at = tail_place(stream);
  }
  stream->segment_last = 0;
  while (stream->tail_at < shared->ntail && shared->tail[stream->tail_at].partition == stream->partition) {
    const struct tide_tail_entry *entry = &shared->tail[stream->tail_at++];
    if (!may_be_listed(stream, entry->first_since, entry->last_since))
      continue;
    sqlite3_stmt *stmt = need(shared, &shared->tail_stmt, tide_tail_prepare, err);
    start_frame(stream, true);
    if (!tide_tail_read(stmt, tide_dataset_names(shared->ds), shared->spec, entry, &stream->batch, err)) {
      tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_tail row %lld is missing", shared->ds->name,
                   shared->ds->name, (long long)entry->last_since);
      return false;
    }
    if (take_frame(stream, entry->first_since <= shared->ds->deleted_max, err))
      return true;
    if (tide_err_is_set(err))
      return false;
  }
  return false;
}

void tide_stream_again(struct tide_stream *stream, int64_t pos, struct tide_err *err) {
  const struct tide_stream_shared *shared = stream->shared;
  close_segment(stream);
  tide_chunk_reader_close(&stream->reader);
  stream->in_tail = false;
  stream->first = stream->end = 0;
  const int64_t id =
      tide_catalog_partition_find(shared->ds->conn->db, tide_dataset_names(shared->ds),
                                  stream->text.len > 0 ? (const char *)stream->text.data : "", stream->text.len, err);
  stream->pos = id == stream->partition ? pos : INT64_MAX;
}

bool tide_stream_next_frame(struct tide_stream *stream, struct tide_err *err) {
  if (tide_err_is_set(err) || stream->pos >= stream->shared->request.upto)
    return false;
  if (!stream->in_tail && next_segment_frame(stream, err))
    return true;
  return !tide_err_is_set(err) && next_tail_frame(stream, err);
}

int tide_stream_decode(struct tide_stream *stream, size_t column, struct tide_err *err) {
  if (stream->decoded[column])
    return 0;
  if (column == stream->shared->spec->ncolumns)
    tide_segment_read_ingested(stream->segment, stream->frame - 1, &stream->batch, err);
  else
    tide_segment_read_column(stream->segment, stream->frame - 1, column, &stream->batch, err);
  stream->decoded[column] = !tide_err_is_set(err);
  name_damage(stream, err);
  return err->rc;
}
