#include "sink/rows.h"

#include <string.h>

#include "base/mem.h"
#include "model/partition.h"
#include "store/durable.h"
#include "store/interrupt.h"

static void open_filter(struct tide_rows *rows, struct tide_err *err) {
  rows->interrupt = tide_interrupt_prepare(rows->ds->conn->db, err);
  if (rows->interrupt != NULL)
    rows->filter = tide_filter_create(rows->spec, rows->config->filter, err);
  if (rows->filter != NULL)
    tide_filter_heed(rows->filter, rows->interrupt);
}

/* The text is one of ours: that it is no partition is damage. */
static void decode_partition(struct tide_rows *rows, struct tide_err *err) {
  struct tide_err own = {0};
  if (tide_partition_decode(rows->spec, rows->partition, strlen(rows->partition), rows->values, &rows->value_bytes,
                            &own) == 0)
    return;
  if (own.rc == SQLITE_ERROR) {
    own.rc = SQLITE_CORRUPT_VTAB;
    tide_err_prefix(&own, "dataset %s: tidemark_batch or %s_partition", rows->ds->name, rows->ds->name);
  }
  tide_err_set(err, own.rc, "%s", own.msg);
}

int tide_rows_open(struct tide_rows *rows, struct tide_dataset *ds, const struct tide_sink_config *config,
                   const char *partition, int64_t above, int64_t upto, struct tide_err *err) {
  *rows = (struct tide_rows){.ds = ds, .config = config, .partition = partition, .at = above, .upto = upto};
  rows->spec = tide_spec_ref(ds->spec);
  decode_partition(rows, err);
  if (config->filter != NULL && !tide_err_is_set(err))
    open_filter(rows, err);
  return err->rc;
}

void tide_rows_pause(struct tide_rows *rows) {
  tide_scan_close(rows->scan);
  rows->scan = NULL;
  sqlite3_finalize(rows->snapshot);
  rows->snapshot = NULL;
}

void tide_rows_clear(struct tide_rows *rows) {
  tide_rows_pause(rows);
  tide_filter_destroy(rows->filter);
  sqlite3_finalize(rows->interrupt);
  tide_buf_clear(&rows->value_bytes);
  tide_free(rows->keep);
  tide_spec_unref(rows->spec);
  *rows = (struct tide_rows){0};
}

static void resume(struct tide_rows *rows, struct tide_err *err) {
  struct tide_scan_request request;
  rows->snapshot = tide_read_begin(rows->ds->conn->db, rows->ds->schema, err);
  if (rows->snapshot == NULL)
    return;
  tide_scan_request_init(&request);
  request.above = rows->at;
  request.upto = rows->upto;
  if (tide_scan_request_partition(&request, rows->partition, strlen(rows->partition), err) == 0)
    rows->scan = tide_scan_open(rows->ds, &request, err);
  else
    tide_scan_request_clear(&request);
}

static void decode(struct tide_rows *rows, struct tide_err *err) {
  const struct tide_spec *spec = rows->spec;
  const struct tide_sink_config *config = rows->config;
  bool ingested_at = rows->filter != NULL;
  for (size_t i = 0; i < config->ncolumns && !tide_err_is_set(err); i++) {
    const int column = config->columns[i];
    if (column == TIDE_ENCODER_INGESTED_AT)
      ingested_at = true;
    else if (column >= 0 && spec->columns[column].partition_at < 0)
      tide_scan_decode(rows->scan, (size_t)column, err);
  }
  for (size_t i = 0; i < spec->ncolumns && rows->filter != NULL && !tide_err_is_set(err); i++) {
    if (spec->columns[i].partition_at < 0 && tide_filter_reads(rows->filter, i))
      tide_scan_decode(rows->scan, i, err);
  }
  if (ingested_at && !tide_err_is_set(err))
    tide_scan_decode(rows->scan, spec->ncolumns, err);
}

static int64_t count(const uint8_t *marks, size_t first, size_t end) {
  int64_t sum = 0;
  for (size_t row = first; row < end; row++)
    sum += marks[row];
  return sum;
}

/* keep[row] is 1 for live rows of the range, then for those of them that pass the filter. */
static void apply_filter(struct tide_rows *rows, const struct tide_scan_frame *frame, struct tide_rows_slice *slice,
                         struct tide_err *err) {
  void *keep = rows->keep;
  if (tide_grow(&keep, &rows->keep_cap, frame->batch->rows, 1, err) != 0)
    return;
  rows->keep = keep;
  memset(rows->keep, 0, frame->batch->rows);
  memcpy(rows->keep + frame->first, frame->live + frame->first, frame->end - frame->first);
  slice->live = count(rows->keep, frame->first, frame->end);
  if (rows->filter != NULL)
    tide_filter_run(rows->filter, frame->batch, rows->partition, rows->values, rows->keep, err);
  slice->kept = count(rows->keep, frame->first, frame->end);
  slice->keep = rows->keep;
}

bool tide_rows_next(struct tide_rows *rows, struct tide_rows_slice *ret_slice, struct tide_err *err) {
  struct tide_scan_frame frame;
  if (rows->scan == NULL && rows->at < rows->upto)
    resume(rows, err);
  if (tide_err_is_set(err) || rows->scan == NULL || !tide_scan_next_frame(rows->scan, &frame, err))
    return false;
  *ret_slice = (struct tide_rows_slice){.batch = frame.batch, .first = frame.first, .end = frame.end};
  decode(rows, err);
  if (!tide_err_is_set(err))
    apply_filter(rows, &frame, ret_slice, err);
  rows->at = frame.batch->since[frame.end - 1];
  return !tide_err_is_set(err);
}
