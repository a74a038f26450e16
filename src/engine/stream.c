#include "engine/stream.h"

#include "base/mem.h"
#include "base/stmt.h"
#include "store/deleted.h"

/* ---- life ---- */

int tide_stream_init(struct tide_stream *stream, struct tide_stream_shared *shared, struct tide_err *err) {
  *stream = (struct tide_stream){.shared = shared};
  tide_window_init(&stream->window, shared->spec, err);
  stream->window.sparing = shared->request.by_rows;
  return err->rc;
}

static void close_segment(struct tide_stream *stream) {
  tide_window_leave(&stream->window);
  tide_segment_close(stream->segment);
  stream->segment = NULL;
  tide_spec_unref(stream->segment_spec);
  stream->segment_spec = NULL;
}

void tide_stream_clear(struct tide_stream *stream) {
  close_segment(stream);
  tide_chunk_reader_close(&stream->reader);
  tide_window_clear(&stream->window);
  tide_buf_clear(&stream->text);
  tide_buf_clear(&stream->value_bytes);
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
  int64_t pruned_upto = shared->known.pruned_upto;
  tide_buf_reset(&stream->text);
  tide_buf_reset(&stream->value_bytes);
  if (partition == shared->known.id) {
    tide_buf_put(&stream->text, shared->known_text.data, shared->known_text.len, err);
  } else {
    sqlite3_stmt *stmt = tide_stream_shared_need(shared, &shared->text_stmt, tide_catalog_partition_by_id, err);
    pruned_upto = tide_catalog_partition_text(stmt, tide_dataset_names(shared->ds), partition, &stream->text, err);
  }
  if (pruned_upto > stream->above)
    stream->above = pruned_upto;
  if (tide_err_is_set(err))
    return;
  tide_catalog_partition_values(tide_dataset_names(shared->ds), shared->spec, (const char *)stream->text.data,
                                stream->text.len, stream->values, &stream->value_bytes, err);
}

bool tide_stream_start(struct tide_stream *stream, int64_t partition, struct tide_err *err) {
  close_segment(stream);
  stream->partition = partition;
  stream->above = stream->shared->request.above;
  stream->upto = stream->shared->request.upto;
  stream->turned = stream->tail_known = false;
  read_partition(stream, partition, err);
  return !tide_err_is_set(err) && values_may_match(stream);
}

/* ---- what is still to be read ---- */

static bool is_downwards(const struct tide_stream *stream) {
  return stream->shared->request.order == TIDE_SCAN_DOWNWARDS;
}

/* Rows from first to last, which are all there are between what was read and them, are not to be read any more. */
static void pass(struct tide_stream *stream, int64_t first, int64_t last) {
  if (!is_downwards(stream) && last > stream->above)
    stream->above = last;
  else if (is_downwards(stream) && first - 1 < stream->upto)
    stream->upto = first - 1;
}

/* Goes behind rows that the request's list does not have. */
static void skip_unlisted(struct tide_stream *stream) {
  const struct tide_scan_request *request = &stream->shared->request;
  if (request->list != NULL)
    stream->above = tide_scan_request_next(request, stream->above) - 1;
}

/* Whether the list has numbers from one to another, both among them. */
static bool may_be_listed(const struct tide_stream *stream, int64_t first, int64_t last) {
  return tide_scan_request_next(&stream->shared->request, first - 1) <= last;
}

/* ---- a window ---- */

static void drop_deleted(struct tide_stream *stream, struct tide_err *err) {
  struct tide_stream_shared *shared = stream->shared;
  sqlite3_stmt *stmt = tide_stream_shared_need(shared, &shared->deleted_stmt, tide_deleted_prepare, err);
  uint8_t *live = tide_window_flags(&stream->window, err);
  if (live != NULL)
    tide_deleted_mark(stmt, stream->partition, &stream->window.batch, live, err);
}

/* Narrows the window to the rows in range, takes these from what is still to be read, and drops those that are not
 * meant. false when none is left. */
static bool take_window(struct tide_stream *stream, bool may_have_deleted, struct tide_err *err) {
  const struct tide_scan_request *request = &stream->shared->request;
  struct tide_window *window = &stream->window;
  if (tide_window_number(window, err) != 0)
    return false;
  tide_window_trim(window, stream->above, stream->upto);
  if (tide_window_is_empty(window))
    return false;
  if (request->list != NULL)
    tide_window_keep_listed(window, request, err);
  if (may_have_deleted)
    drop_deleted(stream, err);
  pass(stream, window->batch.since[window->first], window->batch.since[window->end - 1]);
  tide_window_keep_matching(window, stream->shared->spec, request, err);
  return !tide_err_is_set(err) && !tide_window_is_empty(window);
}

/* The same of a frame whose rows all lie in range, and of which none is deleted. */
static bool take_whole(struct tide_stream *stream, struct tide_err *err) {
  const struct tide_scan_request *request = &stream->shared->request;
  struct tide_window *window = &stream->window;
  tide_window_keep_matching(window, stream->shared->spec, request, err);
  if (tide_err_is_set(err) || tide_window_is_empty(window))
    return false;
  if (request->by_rows && !stream->shared->merged && stream->segment_stays)
    return true;
  if (tide_window_number(window, err) == 0)
    pass(stream, window->batch.since[0], window->batch.since[window->batch.rows - 1]);
  return !tide_err_is_set(err);
}

/* ---- segments ---- */

static void name_damage(const struct tide_stream *stream, struct tide_err *err) {
  if (err->rc == SQLITE_CORRUPT_VTAB)
    tide_err_prefix(err, "dataset %s, segment of partition '%.*s' up to since %lld", stream->shared->ds->name,
                    (int)stream->text.len, (const char *)stream->text.data, (long long)stream->segment_last);
}

/* Whether the segment's zones leave a chance to every predicate. */
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

/* The same of one frame's zones. */
static bool frame_may_match(const struct tide_stream *stream, size_t frame, struct tide_err *err) {
  const struct tide_stream_shared *shared = stream->shared;
  for (size_t i = 0; i < shared->request.npreds; i++) {
    const struct tide_pred *pred = &shared->request.preds[i];
    const struct tide_column *column = &shared->spec->columns[pred->column];
    struct tide_zone zone;
    if (column->partition_at < 0 &&
        (tide_segment_frame_zone(stream->segment, frame, (size_t)pred->column, &zone, err) != 0 ||
         !tide_pred_may_match(pred, column->type, &zone)))
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

/* Which frames may have rows in range, and which of them have no others. */
static void find_frames(struct tide_stream *stream, struct tide_err *err) {
  const bool begins = stream->segment_start > stream->above;
  const bool ends = stream->segment_last <= stream->upto;
  size_t first = 0;
  size_t last = tide_segment_frames(stream->segment) - 1;
  if (!begins)
    tide_segment_seek(stream->segment, stream->above, &first, err);
  if (!ends)
    tide_segment_seek(stream->segment, stream->upto - 1, &last, err);
  stream->frame_first = first;
  stream->frame_end = last + 1;
  stream->whole_first = begins ? first : first + 1;
  stream->whole_end = ends ? last + 1 : last;
  if (stream->shared->request.list != NULL || stream->segment_deletes)
    stream->whole_end = 0;
}

static void open_row(struct tide_stream *stream, const struct tide_segment_row *row, struct tide_err *err) {
  struct tide_stream_shared *shared = stream->shared;
  stream->segment_start = row->first_since;
  stream->segment_last = row->last_since;
  stream->segment_deletes = row->deleted > 0;
  stream->segment_stays = !shared->ds->txn.open;
  stream->reader.db = shared->ds->conn->db;
  stream->reader.names = tide_dataset_names(shared->ds);
  stream->reader.first_chunk = row->chunk;
  stream->segment_spec = tide_spec_ref(spec_of_segments(shared));
  stream->segment =
      tide_segment_open(stream->segment_spec, row->meta, row->meta_size, tide_chunk_reader_source(&stream->reader),
                        tide_stream_shared_decoder(shared, err), err);
  if (stream->segment != NULL && !row_is_plausible(stream->segment, row))
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "its description does not fit its row");
}

/* Opens the segment of a row of the table. false when it has no rows for us, and on error. */
static bool try_segment(struct tide_stream *stream, const struct tide_segment_row *row, struct tide_err *err) {
  open_row(stream, row, err);
  const bool matches = !tide_err_is_set(err) && zones_may_match(stream);
  if (matches)
    find_frames(stream, err);
  name_damage(stream, err);
  if (matches && !tide_err_is_set(err))
    return true;
  close_segment(stream);
  pass(stream, row->first_since, row->last_since);
  return false;
}

/* Opens the next segment that may have rows for us. false when there is none. */
static bool open_segment(struct tide_stream *stream, struct tide_err *err) {
  struct tide_stream_shared *shared = stream->shared;
  struct tide_segment_row row;
  const bool downwards = is_downwards(stream);
  sqlite3_stmt *stmt =
      tide_stream_shared_need(shared, &shared->segments_stmt,
                              downwards ? tide_catalog_segments_down_prepare : tide_catalog_segments_prepare, err);
  if (stmt == NULL)
    return false;
  bool found = false;
  skip_unlisted(stream);
  tide_catalog_segments_seek(stmt, stream->partition, stream->above);
  if (downwards)
    tide_catalog_segments_seek_upto(stmt, stream->upto);
  while (!found && tide_catalog_segments_next(stmt, tide_dataset_names(shared->ds), &row, err) &&
         (downwards || row.first_since <= stream->upto)) {
    if (row.first_since > stream->upto)
      continue;
    if (may_be_listed(stream, row.first_since, row.last_since)) {
      found = try_segment(stream, &row, err);
      continue;
    }
    stream->above = row.last_since;
    skip_unlisted(stream);
    tide_catalog_segments_seek(stmt, stream->partition, stream->above);
  }
  sqlite3_reset(stmt);
  return found;
}

/* Whether the open segment has another frame for us: with a list, the next that has one of its numbers. */
static bool go_to_frame(struct tide_stream *stream, struct tide_err *err) {
  if (stream->shared->request.list != NULL) {
    size_t frame = 0;
    skip_unlisted(stream);
    if (stream->above >= stream->segment_last || tide_segment_seek(stream->segment, stream->above, &frame, err) != 0)
      return false;
    if (frame > stream->frame_first)
      stream->frame_first = frame;
  }
  return !tide_err_is_set(err) && stream->frame_first < stream->frame_end;
}

static bool next_of_segments(struct tide_stream *stream, struct tide_err *err) {
  while (!tide_err_is_set(err) && stream->above < stream->upto &&
         (stream->segment != NULL || open_segment(stream, err))) {
    while (go_to_frame(stream, err)) {
      const size_t frame = is_downwards(stream) ? --stream->frame_end : stream->frame_first++;
      const bool whole = frame >= stream->whole_first && frame < stream->whole_end;
      if (!frame_may_match(stream, frame, err))
        continue;
      tide_window_start(&stream->window, stream->shared->spec, stream->segment, frame);
      if (whole ? take_whole(stream, err) : take_window(stream, stream->segment_deletes, err))
        return true;
    }
    name_damage(stream, err);
    pass(stream, stream->segment_start, stream->segment_last);
    close_segment(stream);
  }
  return false;
}

/* ---- the tail ---- */

static bool next_of_tail(struct tide_stream *stream, struct tide_err *err) {
  struct tide_stream_shared *shared = stream->shared;
  if (!stream->tail_known)
    tide_stream_shared_tail(shared, stream->partition, stream->above, stream->upto, &stream->tail_first,
                            &stream->tail_end);
  stream->tail_known = true;
  while (stream->tail_first < stream->tail_end && !tide_err_is_set(err)) {
    const struct tide_tail_entry *entry =
        &shared->tail[is_downwards(stream) ? --stream->tail_end : stream->tail_first++];
    if (!may_be_listed(stream, entry->first_since, entry->last_since))
      continue;
    sqlite3_stmt *stmt = tide_stream_shared_need(shared, &shared->tail_stmt, tide_tail_prepare, err);
    tide_window_start_tail(&stream->window, shared->spec);
    const struct tide_tail_part part = {entry, stream->above, stream->upto};
    if (!tide_tail_read(stmt, tide_dataset_names(shared->ds), shared->spec, &part, &stream->window.batch, err)) {
      tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_tail row %lld is missing", shared->ds->name,
                   shared->ds->name, (long long)entry->last_since);
      return false;
    }
    tide_window_filled(&stream->window);
    if (take_window(stream, entry->first_since <= shared->ds->deleted_max, err))
      return true;
  }
  return false;
}

/* ---- windows ---- */

bool tide_stream_next(struct tide_stream *stream, struct tide_err *err) {
  if (!tide_err_is_set(err) && stream->above < stream->upto) {
    const bool downwards = is_downwards(stream);
    if (!stream->turned && (downwards ? next_of_tail : next_of_segments)(stream, err))
      return true;
    stream->turned = true;
    if (!tide_err_is_set(err) && (downwards ? next_of_segments : next_of_tail)(stream, err))
      return true;
  }
  tide_window_leave(&stream->window);
  stream->above = stream->upto;
  return false;
}

void tide_stream_again(struct tide_stream *stream, enum tide_stream_from from, struct tide_err *err) {
  const struct tide_stream_shared *shared = stream->shared;
  const struct tide_window *window = &stream->window;
  tide_chunk_reader_close(&stream->reader);
  if (!tide_window_is_empty(window) && tide_stream_number(stream, err) == 0) {
    const int64_t *since = window->batch.since;
    const bool all = from == TIDE_STREAM_BEHIND_WINDOW;
    const int64_t at_hand = from == TIDE_STREAM_AT_ROW; /* that row is still to be read */
    if (is_downwards(stream))
      stream->upto = since[all ? window->first : window->row] - 1 + at_hand;
    else
      stream->above = since[all ? window->end - 1 : window->row] - at_hand;
  }
  close_segment(stream);
  tide_chunk_reader_close(&stream->reader);
  stream->turned = stream->tail_known = false;
  const int64_t id =
      tide_catalog_partition_find(shared->ds->conn->db, tide_dataset_names(shared->ds),
                                  stream->text.len > 0 ? (const char *)stream->text.data : "", stream->text.len, err);
  if (id != stream->partition)
    stream->above = stream->upto;
}

/* ---- decoding ---- */

int tide_stream_number(struct tide_stream *stream, struct tide_err *err) {
  if (tide_window_number(&stream->window, err) != 0)
    name_damage(stream, err);
  return err->rc;
}

int tide_stream_decode(struct tide_stream *stream, size_t column, struct tide_err *err) {
  if (tide_window_decode(&stream->window, column, err) != 0)
    name_damage(stream, err);
  return err->rc;
}
