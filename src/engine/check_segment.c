#include "engine/check_segment.h"

#include "base/mem.h"
#include "base/stmt.h"
#include "engine/check_values.h"
#include "segment/segment.h"
#include "store/chunks.h"

/* The segment at hand. */
struct checking {
  struct tide_check *check;
  struct tide_check_partition *partition;
  struct tide_check_deleted *deleted;
  sqlite3_stmt *sizes;
  const struct tide_segment_row *row;
  struct tide_chunk_reader reader;
  struct tide_segment *segment;
};

/* ---- saying where ---- */

static void say(struct checking *at, struct tide_err *err, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *what = tide_err_is_set(err) ? NULL : sqlite3_vmprintf(format, args);
  va_end(args);
  if (what == NULL)
    tide_err_nomem(err);
  tide_check_report_add(at->check->report, err, "%s_segment (partition '%s', last_since %lld): %s",
                        at->check->names.dataset, at->partition->text, (long long)at->row->last_since, what);
  sqlite3_free(what);
}

static bool take(struct checking *at, struct tide_err *err) {
  if ((err->rc & 0xff) != SQLITE_CORRUPT)
    return false;
  const struct tide_err damage = *err;
  tide_err_clear(err);
  say(at, err, "%s", damage.msg);
  return true;
}

/* ---- the row ---- */

static void check_place(struct checking *at, struct tide_err *err) {
  const struct tide_segment_row *row = at->row;
  struct tide_check_partition *partition = at->partition;
  if (row->first_since <= partition->end)
    say(at, err, "it begins at %lld, not above %lld, where the segment before it ends", (long long)row->first_since,
        (long long)partition->end);
  if (partition->known && row->last_since > partition->last_since)
    say(at, err, "it ends above %lld, the last_since of its partition", (long long)partition->last_since);
  if (row->level < TIDE_OPTIONS_ZSTD_LEVEL_MIN || row->level > TIDE_OPTIONS_ZSTD_LEVEL_MAX)
    say(at, err, "its level is %lld, expected %d to %d", (long long)row->level, TIDE_OPTIONS_ZSTD_LEVEL_MIN,
        TIDE_OPTIONS_ZSTD_LEVEL_MAX);
  if (row->chunk + row->chunks > at->check->config.next_chunk)
    say(at, err, "it has chunk ids up to %lld, but the next one to be given is %lld",
        (long long)(row->chunk + row->chunks - 1), (long long)at->check->config.next_chunk);
  if (row->last_since > partition->end)
    partition->end = row->last_since;
}

/* ---- the description ---- */

static void open_segment(struct checking *at, struct tide_err *err) {
  const struct tide_segment_row *row = at->row;
  struct tide_check *check = at->check;
  at->reader = (struct tide_chunk_reader){.db = check->db, .names = check->names, .first_chunk = row->chunk};
  at->segment =
      tide_segment_open(check->spec, row->meta, row->meta_size, tide_chunk_reader_source(&at->reader), NULL, err);
  if (at->segment != NULL &&
      (tide_segment_first_since(at->segment) != row->first_since ||
       tide_segment_last_since(at->segment) != row->last_since || (int64_t)tide_segment_rows(at->segment) != row->rows))
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "its description does not fit its row");
  if (at->segment != NULL && (int64_t)tide_segment_columns(at->segment) != row->chunks)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "it has %lld chunk ids, its description needs %lld", (long long)row->chunks,
                 (long long)tide_segment_columns(at->segment));
  if (tide_err_is_set(err)) {
    tide_segment_close(at->segment);
    at->segment = NULL;
    take(at, err);
  }
}

static void check_stored_bytes(struct checking *at, struct tide_err *err) {
  int64_t bytes = (int64_t)at->row->meta_size;
  for (size_t column = 0; column < tide_segment_columns(at->segment); column++)
    bytes += (int64_t)tide_segment_chunk_size(at->segment, column);
  if (bytes != at->row->stored_bytes)
    say(at, err, "its stored_bytes are %lld, description and chunks have %lld", (long long)at->row->stored_bytes,
        (long long)bytes);
}

/* ---- chunks ---- */

static const char *column_name(const struct checking *at, size_t column) {
  if (column < TIDE_SEGMENT_COLUMN_FIRST)
    return tide_spec_hidden_name(column == TIDE_SEGMENT_COLUMN_SINCE ? TIDE_HIDDEN_SINCE : TIDE_HIDDEN_INGESTED_AT);
  return at->check->spec->columns[column - TIDE_SEGMENT_COLUMN_FIRST].name;
}

/* -1: there is none. */
static int64_t chunk_size(struct checking *at, int64_t id, struct tide_err *err) {
  int64_t size = -1;
  if (!tide_err_is_set(err))
    sqlite3_bind_int64(at->sizes, 1, id);
  if (tide_stmt_row(at->sizes, err))
    size = sqlite3_column_int64(at->sizes, 0);
  sqlite3_reset(at->sizes);
  return size;
}

/* Whether a segment column's chunk is there, with the size that the description says, so that it may be decoded. */
static bool check_chunk(struct checking *at, size_t column, struct tide_err *err) {
  const int64_t id = at->row->chunk + (int64_t)column;
  const uint64_t expected = tide_segment_chunk_size(at->segment, column);
  const int64_t size = chunk_size(at, id, err);
  if (take(at, err) || tide_err_is_set(err))
    return false;
  if ((size < 0 && expected == 0) || size == (int64_t)expected)
    return true;
  if (size < 0)
    say(at, err, "column %s: %s_chunk has no chunk %lld", column_name(at, column), at->check->names.dataset,
        (long long)id);
  else if (expected == 0)
    say(at, err, "column %s: it is not stored, yet %s_chunk has chunk %lld", column_name(at, column),
        at->check->names.dataset, (long long)id);
  else
    say(at, err, "column %s: chunk %lld has %lld bytes, expected %llu", column_name(at, column), (long long)id,
        (long long)size, (unsigned long long)expected);
  return false;
}

/* ---- rows ---- */

/* Rows by what became of them. */
struct fates {
  int64_t deleted;
  int64_t pruned;
};

static void count_frame(struct checking *at, struct fates *fates, struct tide_err *err) {
  const struct tide_batch *batch = &at->check->batch;
  for (size_t row = 0; row < batch->rows && !tide_err_is_set(err); row++) {
    if (tide_check_deleted_meet(at->deleted, at->check, at->partition->id, batch->since[row], err))
      fates->deleted++;
    else if (batch->since[row] <= at->partition->pruned_upto)
      fates->pruned++;
  }
}

static bool read_since(struct checking *at, struct fates *fates, struct tide_err *err) {
  for (size_t frame = 0; frame < tide_segment_frames(at->segment) && !tide_err_is_set(err); frame++) {
    tide_batch_reset(&at->check->batch);
    if (tide_segment_read_since(at->segment, frame, &at->check->batch, err) == 0)
      count_frame(at, fates, err);
  }
  return !take(at, err) && !tide_err_is_set(err);
}

/* What can be said of a segment whose since is not read: every deleted row in its range is taken for one of it, and
 * which ones were pruned is known only where all or none were. */
static void guess_fates(struct checking *at, struct fates *fates, struct tide_err *err) {
  const struct tide_segment_row *row = at->row;
  fates->deleted += tide_check_deleted_skip(at->deleted, at->check, at->partition->id, row->last_since, err);
  fates->pruned = row->pruned;
  if (at->partition->pruned_upto < row->first_since)
    fates->pruned = 0;
  else if (at->partition->pruned_upto >= row->last_since)
    fates->pruned = row->rows - fates->deleted;
}

static void check_rows(struct checking *at, struct tide_err *err) {
  const struct tide_segment_row *row = at->row;
  struct fates fates = {0};
  tide_check_deleted_pass(at->deleted, at->check, at->partition->id, row->first_since, err);
  const bool there = at->segment != NULL && check_chunk(at, TIDE_SEGMENT_COLUMN_SINCE, err);
  const bool read = there && !at->check->quick && read_since(at, &fates, err);
  if (!read)
    guess_fates(at, &fates, err);
  if (!there || (!read && !at->check->quick)) {
    at->partition->counted = false;
    return;
  }
  at->partition->live += row->rows - fates.deleted - fates.pruned;
  if (!at->partition->known)
    fates.pruned = row->pruned;
  if (fates.deleted != row->deleted)
    say(at, err, "its deleted are %lld, %s_deleted has %lld of its rows", (long long)row->deleted,
        at->check->names.dataset, (long long)fates.deleted);
  if (fates.pruned != row->pruned)
    say(at, err, "its pruned are %lld, %lld of its rows are at or below pruned_upto and not deleted",
        (long long)row->pruned, (long long)fates.pruned);
  if (fates.deleted != row->deleted || fates.pruned != row->pruned)
    at->check->miscounted = true;
}

static void check_ingested(struct checking *at, struct tide_err *err) {
  int64_t newest = INT64_MIN;
  if (!check_chunk(at, TIDE_SEGMENT_COLUMN_INGESTED, err) || at->check->quick)
    return;
  for (size_t frame = 0; frame < tide_segment_frames(at->segment) && !tide_err_is_set(err); frame++) {
    tide_batch_reset(&at->check->batch);
    if (tide_segment_read_ingested(at->segment, frame, &at->check->batch, err) != 0)
      break;
    for (size_t row = 0; row < tide_segment_frame_rows(at->segment, frame); row++) {
      if (at->check->batch.ingested_at[row] > newest)
        newest = at->check->batch.ingested_at[row];
    }
  }
  if (!take(at, err) && !tide_err_is_set(err) && newest != at->row->newest_at)
    say(at, err, "its newest_at is %lld, the highest ingested_at is %lld", (long long)at->row->newest_at,
        (long long)newest);
}

/* ---- values ---- */

/* What was seen of a column, held against the segment's zone, and of each frame against its own. */
struct values {
  struct tide_check_seen seen;
  struct tide_check_seen of_frames;
  size_t frame; /* the first one whose zone leaves out a value, if any does */
};

static void look_at_frame(struct checking *at, size_t column, size_t frame, struct values *values,
                          struct tide_err *err) {
  const struct tide_vec *vec = &at->check->batch.columns[column];
  const size_t rows = tide_segment_frame_rows(at->segment, frame);
  struct tide_zone whole, zone;
  tide_segment_zone(at->segment, column, &whole);
  if (tide_segment_frame_zone(at->segment, frame, column, &zone, err) != 0)
    return;
  tide_check_values_look(vec, rows, &whole, &values->seen);
  if (values->of_frames.left_out)
    return;
  tide_check_values_look(vec, rows, &zone, &values->of_frames);
  values->frame = frame;
}

static bool read_values(struct checking *at, size_t column, struct values *values, struct tide_err *err) {
  for (size_t frame = 0; frame < tide_segment_frames(at->segment) && !tide_err_is_set(err); frame++) {
    tide_batch_reset(&at->check->batch);
    if (tide_segment_read_column(at->segment, frame, column, NULL, &at->check->batch, err) == 0)
      look_at_frame(at, column, frame, values, err);
  }
  tide_vec_clear(&at->check->batch.columns[column]); /* a thousand columns are not kept at once */
  return !take(at, err) && !tide_err_is_set(err);
}

static void check_column(struct checking *at, size_t i, struct tide_err *err) {
  const struct tide_column *column = &at->check->spec->columns[i];
  struct values values = {0};
  if (!check_chunk(at, TIDE_SEGMENT_COLUMN_FIRST + i, err) || at->check->quick || column->partition_at >= 0)
    return;
  if (!read_values(at, i, &values, err))
    return;
  const char *foreign = tide_check_values_foreign(column, values.seen.types);
  if (foreign != NULL)
    say(at, err, "column %s: it is %s%s and holds %s", column->name, tide_spec_type_name(column->type),
        column->not_null ? " NOT NULL" : "", foreign);
  if (values.seen.left_out)
    say(at, err, "column %s: its zone leaves out a value that is there", column->name);
  else if (values.of_frames.left_out)
    say(at, err, "column %s, frame %lld: its zone leaves out a value that is there", column->name,
        (long long)values.frame);
}

void tide_check_segment(struct tide_check *check, struct tide_check_partition *partition,
                        struct tide_check_deleted *deleted, sqlite3_stmt *sizes, const struct tide_segment_row *row,
                        struct tide_err *err) {
  struct checking at = {.check = check, .partition = partition, .deleted = deleted, .sizes = sizes, .row = row};
  check_place(&at, err);
  open_segment(&at, err);
  check_rows(&at, err);
  if (at.segment != NULL && !tide_err_is_set(err)) {
    check_stored_bytes(&at, err);
    check_ingested(&at, err);
    for (size_t i = 0; i < tide_segment_columns(at.segment) - TIDE_SEGMENT_COLUMN_FIRST && !tide_err_is_set(err); i++)
      check_column(&at, i, err);
  }
  tide_segment_close(at.segment);
  tide_chunk_reader_close(&at.reader);
}
