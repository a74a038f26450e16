#include "engine/packer.h"

#include "store/chunks.h"

int tide_packer_init(struct tide_packer *packer, struct tide_dataset *ds, int64_t level, struct tide_err *err) {
  struct tide_config config = {0};
  *packer = (struct tide_packer){.ds = ds, .level = level};
  packer->encoder = tide_frame_encoder_create((int)level, err);
  packer->writer = tide_segment_writer_create(ds->spec, packer->encoder, err);
  if (tide_err_is_set(err))
    return err->rc;
  /* read anew, for the handle's is older than the last seal */
  tide_catalog_config(ds->conn->db, tide_dataset_names(ds), &config, err);
  packer->next_chunk = config.next_chunk;
  packer->format = config.format;
  return err->rc;
}

void tide_packer_start(struct tide_packer *packer, int64_t partition, int64_t revision) {
  packer->partition = partition;
  packer->revision = revision;
  packer->segments = packer->rows = packer->stored_bytes = 0;
  tide_segment_writer_reset(packer->writer);
}

void tide_packer_write(struct tide_packer *packer, struct tide_err *err) {
  struct tide_segment_out out = {0};
  struct tide_dataset *ds = packer->ds;
  if (tide_err_is_set(err) || tide_segment_writer_rows(packer->writer) == 0)
    return;
  const struct tide_chunks_place place = {.partition = packer->partition,
                                          .chunk = packer->next_chunk,
                                          .revision = packer->revision,
                                          .level = packer->level};
  if (tide_segment_writer_finish(packer->writer, &out, err) == 0)
    tide_chunks_store(ds->conn->db, tide_dataset_names(ds), &place, &out, err);
  if (packer->format < TIDE_CATALOG_FORMAT) {
    tide_catalog_raise_format(ds->conn->db, tide_dataset_names(ds), err);
    packer->format = TIDE_CATALOG_FORMAT;
  }
  if (!tide_err_is_set(err)) {
    packer->next_chunk += (int64_t)out.nchunks;
    packer->segments++;
    packer->rows += (int64_t)out.rows;
    packer->stored_bytes += (int64_t)out.stored_bytes;
  }
  tide_segment_out_clear(&out);
}

/* Gives how many of the rows first to end - 1, which are all live, go into the segment at hand, and whether they fill
 * it. */
static size_t rows_that_fit(const struct tide_packer *packer, const struct tide_batch *rows, size_t first, size_t end,
                            bool *ret_full) {
  const size_t rows_max = (size_t)packer->ds->config.options.segment_rows;
  size_t taken = tide_segment_writer_rows(packer->writer);
  uint64_t bytes = tide_segment_writer_raw_bytes(packer->writer);
  size_t at = first;
  while (at < end && taken < rows_max && bytes < TIDE_PACKER_SEGMENT_BYTES) {
    bytes += tide_batch_raw_bytes(rows, at++, 1);
    taken++;
  }
  *ret_full = taken >= rows_max || bytes >= TIDE_PACKER_SEGMENT_BYTES;
  return at - first;
}

bool tide_packer_fill(struct tide_packer *packer, const struct tide_batch *rows, const uint8_t *live, size_t *first,
                      size_t end, struct tide_err *err) {
  bool full = false;
  while (*first < end && !full && !tide_err_is_set(err)) {
    size_t run = *first;
    while (run < end && live[run])
      run++;
    if (run == *first) {
      ++*first;
      continue;
    }
    const size_t fit = rows_that_fit(packer, rows, *first, run, &full);
    tide_segment_writer_add(packer->writer, rows, *first, fit, err);
    *first += fit;
  }
  return full && !tide_err_is_set(err);
}

void tide_packer_add(struct tide_packer *packer, const struct tide_batch *rows, const uint8_t *live, size_t first,
                     size_t end, struct tide_err *err) {
  while (tide_packer_fill(packer, rows, live, &first, end, err))
    tide_packer_write(packer, err);
}

void tide_packer_finish(struct tide_packer *packer, struct tide_err *err) {
  tide_packer_write(packer, err);
  if (tide_err_is_set(err))
    return;
  packer->ds->config.next_chunk = packer->next_chunk;
  packer->ds->config.seals++;
}

void tide_packer_clear(struct tide_packer *packer) {
  tide_segment_writer_destroy(packer->writer);
  tide_frame_encoder_destroy(packer->encoder);
}
