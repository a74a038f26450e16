#include "engine/packer.h"

#include "base/mem.h"
#include "segment/segment.h"
#include "store/chunks.h"

int tide_packer_init(struct tide_packer *packer, struct tide_dataset *ds, int64_t level, struct tide_err *err) {
  struct tide_config config = {0};
  *packer = (struct tide_packer){.ds = ds, .level = level};
  packer->values = tide_alloc_zero(ds->spec->ncolumns, sizeof *packer->values, err);
  packer->encoder = tide_frame_encoder_create((int)level, err);
  if (tide_err_is_set(err) || tide_batch_init(&packer->batch, ds->spec->ncolumns, err) != 0)
    return err->rc;
  /* read anew, for the handle's is older than the last seal */
  tide_catalog_config(ds->conn->db, tide_dataset_names(ds), &config, err);
  packer->next_chunk = config.next_chunk;
  return err->rc;
}

void tide_packer_start(struct tide_packer *packer, int64_t partition, int64_t revision) {
  packer->partition = partition;
  packer->revision = revision;
  packer->segments = packer->rows = packer->stored_bytes = 0;
  tide_batch_reset(&packer->batch);
}

void tide_packer_write(struct tide_packer *packer, struct tide_err *err) {
  struct tide_segment_out out = {0};
  struct tide_dataset *ds = packer->ds;
  if (packer->batch.rows == 0 || tide_err_is_set(err))
    return;
  const struct tide_chunks_place place = {.partition = packer->partition,
                                          .chunk = packer->next_chunk,
                                          .revision = packer->revision,
                                          .level = packer->level};
  if (tide_segment_write(ds->spec, &packer->batch, packer->encoder, &out, err) == 0)
    tide_chunks_store(ds->conn->db, tide_dataset_names(ds), &place, &packer->batch, &out, err);
  if (!tide_err_is_set(err)) {
    packer->next_chunk += (int64_t)out.nchunks;
    packer->segments++;
    packer->rows += (int64_t)packer->batch.rows;
    packer->stored_bytes += (int64_t)out.stored_bytes;
  }
  tide_segment_out_clear(&out);
  tide_batch_reset(&packer->batch);
}

static bool is_full(const struct tide_packer *packer) {
  return (int64_t)packer->batch.rows >= packer->ds->config.options.segment_rows ||
         packer->batch.raw_bytes >= TIDE_PACKER_SEGMENT_BYTES;
}

bool tide_packer_fill(struct tide_packer *packer, const struct tide_batch *rows, const uint8_t *live, size_t *first,
                      size_t end, struct tide_err *err) {
  for (; *first < end && !is_full(packer) && !tide_err_is_set(err); ++*first) {
    if (!live[*first])
      continue;
    for (size_t i = 0; i < rows->ncolumns; i++)
      packer->values[i] = tide_vec_get(&rows->columns[i], *first);
    tide_batch_append(&packer->batch, rows->since[*first], rows->ingested_at[*first], packer->values, err);
  }
  return !tide_err_is_set(err) && is_full(packer);
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
  tide_frame_encoder_destroy(packer->encoder);
  tide_batch_clear(&packer->batch);
  tide_free(packer->values);
}
