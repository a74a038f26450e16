#include "sink/dead_rows.h"

#include <string.h>

#include "base/mem.h"
#include "sink/rows.h"

struct collecting {
  struct tide_dead_rows *into;
  const struct tide_refused_row *refused;
  size_t nrefused;
  struct tide_dataset *ds;
  struct tide_frozen frozen;
  struct tide_sink_config config;
  struct tide_rows rows;
  int64_t kept; /* rows that the filter let through before this slice */
};

void tide_dead_rows_clear(struct tide_dead_rows *rows) {
  for (size_t i = 0; i < rows->count; i++)
    tide_dead_row_clear(&rows->list[i]);
  tide_free(rows->list);
  *rows = (struct tide_dead_rows){0};
}

/* One row as a plain line of its format. */
static char *encode_one(struct collecting *collecting, const struct tide_rows_slice *slice, size_t row,
                        struct tide_err *err) {
  struct tide_buf line = {0};
  struct tide_encoder *encoder = tide_ship_encoder(&collecting->config, &collecting->rows, NULL, NULL, err);
  if (encoder != NULL)
    encoder->methods->rows(encoder, slice->batch, row, 1, slice->keep, &line, err);
  tide_encoder_destroy(encoder);
  while (line.len > 0 && (line.data[line.len - 1] == '\n' || line.data[line.len - 1] == '\r'))
    line.len--;
  char *text = tide_err_is_set(err) ? NULL : tide_copy_text((const char *)line.data, line.len, err);
  tide_buf_clear(&line);
  return text;
}

static void collect_slice(struct collecting *collecting, const struct tide_rows_slice *slice, struct tide_err *err) {
  struct tide_dead_rows *into = collecting->into;
  for (size_t row = slice->first; row < slice->end && !tide_err_is_set(err); row++) {
    if (!slice->keep[row])
      continue;
    const int64_t number = collecting->kept++;
    if (into->count == collecting->nrefused || collecting->refused[into->count].row != number)
      continue;
    struct tide_dead_row *dead = &into->list[into->count];
    dead->reason = tide_copy_string(collecting->refused[into->count].reason, err);
    dead->payload = encode_one(collecting, slice, row, err);
    dead->since = slice->batch->since[row];
    into->count++;
  }
}

/* The batch's own configuration, in its format's plain form. */
static void open_batch(struct collecting *collecting, struct tide_runner *runner, const struct tide_batch_row *batch,
                       struct tide_err *err) {
  collecting->ds = tide_dataset_acquire(runner->conn, runner->schema, batch->dataset, err);
  if (collecting->ds == NULL || tide_frozen_read(runner->conn->db, batch->config, &collecting->frozen, err) != 0)
    return;
  const struct tide_sink_words words = tide_sink_words_of(&collecting->frozen);
  if (tide_sink_config_parse(runner->schemes, collecting->ds->spec, &words, &collecting->config, err) != 0)
    return;
  collecting->config.format = &tide_format_ndjson;
  tide_rows_open(&collecting->rows, collecting->ds, &collecting->config, batch->partition, batch->since, batch->until,
                 err);
}

int tide_dead_rows_collect(struct tide_dead_rows *ret_rows, struct tide_runner *runner,
                           const struct tide_batch_row *batch, const struct tide_refused_row *refused, size_t nrefused,
                           struct tide_err *err) {
  struct tide_rows_slice slice;
  struct collecting collecting = {.into = ret_rows, .refused = refused, .nrefused = nrefused};
  *ret_rows = (struct tide_dead_rows){.list = tide_alloc_zero(nrefused, sizeof *ret_rows->list, err)};
  if (ret_rows->list != NULL)
    open_batch(&collecting, runner, batch, err);
  while (!tide_err_is_set(err) && tide_rows_next(&collecting.rows, &slice, err))
    collect_slice(&collecting, &slice, err);
  if (ret_rows->count < nrefused)
    tide_err_set(err, SQLITE_IOERR, "the receiver refused row %lld of batch %lld, which has %lld",
                 (long long)refused[ret_rows->count].row + 1, (long long)batch->batch, (long long)collecting.kept);
  tide_rows_clear(&collecting.rows);
  tide_sink_config_clear(&collecting.config);
  tide_frozen_clear(&collecting.frozen);
  tide_dataset_release(collecting.ds);
  return err->rc;
}

void tide_dead_rows_insert(const struct tide_dead_rows *rows, struct tide_runner *runner,
                           const struct tide_batch_row *batch, int64_t now_ms, struct tide_err *err) {
  for (size_t i = 0; i < rows->count && !tide_err_is_set(err); i++) {
    struct tide_dead_row row = rows->list[i];
    row.sink = batch->sink;
    row.dataset = batch->dataset;
    row.partition = batch->partition;
    tide_dead_insert(runner->conn->db, runner->schema, &row, now_ms, err);
  }
}
