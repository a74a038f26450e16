#include "engine/packer.h"

#include "store/chunks.h"

int tide_packer_init(struct tide_packer *packer, struct tide_dataset *ds, int64_t level, struct tide_err *err) {
  struct tide_config config = {0};
  *packer = (struct tide_packer){.ds = ds, .level = level};
  if (tide_err_is_set(err))
    return err->rc;
  /* read anew, for the handle's is older than the last seal */
  tide_catalog_config(ds->conn->db, tide_dataset_names(ds), &config, err);
  packer->next_chunk = config.next_chunk;
  packer->format = config.format;
  return err->rc;
}

void tide_packer_start_with(struct tide_packer *packer, int64_t partition, int64_t revision,
                            struct tide_segment_writer *writer) {
  packer->partition = partition;
  packer->revision = revision;
  packer->segments = packer->rows = packer->stored_bytes = 0;
  packer->writer = writer;
}

void tide_packer_start(struct tide_packer *packer, int64_t partition, int64_t revision) {
  tide_packer_start_with(packer, partition, revision, packer->own);
  if (packer->own != NULL)
    tide_segment_writer_reset(packer->own);
}

static int make_writer(struct tide_packer *packer, struct tide_err *err) {
  if (packer->writer != NULL || tide_err_is_set(err))
    return err->rc;
  struct tide_frame_encoder *encoder = packer->shared;
  if (encoder == NULL && packer->encoder == NULL)
    packer->encoder = tide_frame_encoder_create((int)packer->level, err);
  if (encoder == NULL)
    encoder = packer->encoder;
  if (encoder != NULL && packer->own == NULL)
    packer->own = tide_segment_writer_create(packer->ds->spec, encoder, err);
  packer->writer = packer->own;
  return err->rc;
}

void tide_packer_write(struct tide_packer *packer, struct tide_err *err) {
  struct tide_segment_out out = {0};
  struct tide_dataset *ds = packer->ds;
  if (tide_err_is_set(err) || packer->writer == NULL || tide_segment_writer_rows(packer->writer) == 0)
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
    tide_progress_add(&ds->conn->progress, 0, (int64_t)out.stored_bytes);
  }
  tide_segment_out_clear(&out);
}

size_t tide_packer_fits(const struct tide_options *options, const struct tide_segment_writer *writer,
                        const struct tide_batch *rows, size_t first, size_t end, bool *ret_full) {
  const size_t rows_max = (size_t)options->segment_rows;
  size_t taken = tide_segment_writer_rows(writer);
  uint64_t bytes = tide_segment_writer_raw_bytes(writer);
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
  make_writer(packer, err);
  while (*first < end && !full && !tide_err_is_set(err)) {
    size_t run = *first;
    while (run < end && live[run])
      run++;
    if (run == *first) {
      ++*first;
      continue;
    }
    const size_t fit = tide_packer_fits(&packer->ds->config.options, packer->writer, rows, *first, run, &full);
    tide_segment_writer_add(packer->writer, rows, *first, fit, err);
    *first += fit;
    tide_progress_add(&packer->ds->conn->progress, (int64_t)fit, 0);
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
  tide_segment_writer_destroy(packer->own);
  tide_frame_encoder_destroy(packer->encoder);
}
