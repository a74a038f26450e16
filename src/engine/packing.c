#include "engine/packing.h"

#include "engine/dataset.h"
#include "engine/packer.h"
#include "engine/seal.h"

enum { WORTH_BYTES = 128 << 10 }; /* of encoded rows: a segment with fewer is not made for their memory's sake */

bool tide_packing_is_due(const struct tide_dataset *ds, const struct tide_run *run) {
  const int64_t rows = run->rows.rows;
  const size_t bytes = run->rows.bytes.len;
  if (rows == 0)
    return false;
  if (bytes >= TIDE_PACKING_BYTES_MAX || tide_seal_is_due(ds, rows, (int64_t)bytes))
    return true;
  return rows % TIDE_SEGMENT_FRAME_ROWS == 0 && (run->writer != NULL || bytes >= TIDE_PACKING_FROM);
}

/* ---- writing ---- */

/* What is encoded of a run becomes a segment. */
static void write_packed(struct tide_dataset *ds, struct tide_run *run, struct tide_err *err) {
  struct tide_sealer *sealer = tide_sealer_open(ds, err);
  tide_sealer_packed(sealer, run, err);
  tide_sealer_close(sealer, err);
  if (!tide_err_is_set(err))
    tide_runs_packed_went_out(&ds->txn.runs, run);
}

static void seal_with_tail(struct tide_dataset *ds, struct tide_run *run, struct tide_err *err) {
  tide_seal_partition(ds, run->rows.partition, run, err);
  if (!tide_err_is_set(err))
    tide_runs_went_out(&ds->txn.runs, run);
}

void tide_packing_shrink(struct tide_dataset *ds, size_t bytes, struct tide_err *err) {
  while (ds->txn.runs.bytes > bytes && !tide_err_is_set(err)) {
    struct tide_run *largest = NULL;
    for (struct tide_run *run = ds->txn.runs.all; run != NULL; run = run->next_of_all) {
      if (run->writer_memory >= WORTH_BYTES && (largest == NULL || run->writer_memory > largest->writer_memory))
        largest = run;
    }
    if (largest == NULL)
      return;
    write_packed(ds, largest, err);
  }
}

/* ---- encoding ---- */

static int make_writer(struct tide_dataset *ds, struct tide_run *run, struct tide_err *err) {
  struct tide_packing *packing = &ds->txn.packing;
  const int64_t level = ds->config.options.zstd_level;
  if (packing->encoder != NULL && packing->level != level) { /* who changed it has flushed: no writer has it any more */
    tide_frame_encoder_destroy(packing->encoder);
    packing->encoder = NULL;
  }
  if (packing->encoder == NULL)
    packing->encoder = tide_frame_encoder_create((int)level, err);
  packing->level = level;
  if (run->writer == NULL && packing->encoder != NULL)
    run->writer = tide_segment_writer_create(ds->spec, packing->encoder, err);
  return err->rc;
}

/* Encodes the rows that are decoded. */
static void add_rows(struct tide_dataset *ds, struct tide_run *run, struct tide_err *err) {
  const struct tide_batch *rows = &ds->txn.packing.rows;
  const size_t count = rows->rows;
  for (size_t first = 0; !tide_err_is_set(err) && first < count;) {
    bool full = false;
    if (make_writer(ds, run, err) != 0)
      return;
    const size_t fit = tide_packer_fits(&ds->config.options, run->writer, rows, first, count, &full);
    if (tide_segment_writer_add(run->writer, rows, first, fit, err) != 0)
      return;
    tide_runs_packed(&ds->txn.runs, run, rows->since[first], rows->since[first + fit - 1]);
    first += fit;
    if (full)
      write_packed(ds, run, err);
  }
}

static void encode(struct tide_dataset *ds, struct tide_run *run, struct tide_err *err) {
  struct tide_batch *rows = &ds->txn.packing.rows;
  struct tide_tail_walk walk = tide_tail_run_walk(&run->rows, ds->spec);
  if (rows->ncolumns != ds->spec->ncolumns) { /* none yet, or from before a column was added */
    tide_batch_clear(rows);
    tide_batch_init(rows, ds->spec->ncolumns, err);
  }
  while (!tide_err_is_set(err)) {
    tide_batch_reset(rows);
    if (tide_tail_walk_next(&walk, ds->spec, TIDE_SEGMENT_FRAME_ROWS, rows, err) == 0)
      break;
    add_rows(ds, run, err);
  }
  if (!tide_err_is_set(err))
    tide_runs_rows_packed(&ds->txn.runs, run);
}

void tide_packing_take(struct tide_dataset *ds, struct tide_run *run, struct tide_err *err) {
  if (run->writer == NULL && tide_tail_index_find(&ds->tail, run->rows.partition) != NULL)
    seal_with_tail(ds, run, err);
  else
    encode(ds, run, err);
  tide_txn_note_failure(ds, err);
}

void tide_packing_clear(struct tide_packing *packing) {
  tide_frame_encoder_destroy(packing->encoder);
  tide_batch_clear(&packing->rows);
  *packing = (struct tide_packing){0};
}
