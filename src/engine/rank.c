#include "engine/rank.h"

static void name_damage(const struct tide_rank *rank, struct tide_err *err) {
  if (err->rc == SQLITE_CORRUPT_VTAB)
    tide_err_prefix(err, "dataset %s, segment of partition '%.*s' up to since %lld", rank->ds->name,
                    (int)rank->partition_size, rank->partition, (long long)rank->last_since);
}

int tide_rank_open(struct tide_rank *rank, const struct tide_segment_row *row, struct tide_err *err) {
  struct tide_dataset *ds = rank->ds;
  rank->last_since = row->last_since;
  rank->frame = SIZE_MAX;
  rank->reader =
      (struct tide_chunk_reader){.db = ds->conn->db, .names = tide_dataset_names(ds), .first_chunk = row->chunk};
  if (tide_batch_init(&rank->batch, ds->spec->ncolumns, err) != 0)
    return err->rc;
  rank->segment =
      tide_segment_open(ds->spec, row->meta, row->meta_size, tide_chunk_reader_source(&rank->reader), NULL, err);
  if (rank->segment != NULL && (tide_segment_first_since(rank->segment) != row->first_since ||
                                tide_segment_last_since(rank->segment) != row->last_since ||
                                (int64_t)tide_segment_rows(rank->segment) != row->rows))
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "its description does not fit its row");
  name_damage(rank, err);
  return err->rc;
}

void tide_rank_close(struct tide_rank *rank) {
  tide_segment_close(rank->segment);
  tide_chunk_reader_close(&rank->reader);
  tide_batch_clear(&rank->batch);
}

static bool go_to(struct tide_rank *rank, size_t frame, struct tide_err *err) {
  if (tide_err_is_set(err) || rank->frame == frame)
    return !tide_err_is_set(err);
  tide_batch_reset(&rank->batch);
  rank->frame = tide_segment_read_since(rank->segment, frame, &rank->batch, err) == 0 ? frame : SIZE_MAX;
  name_damage(rank, err);
  return !tide_err_is_set(err);
}

int64_t tide_rank_upto(struct tide_rank *rank, int64_t since, struct tide_err *err) {
  size_t frame = 0;
  if (tide_segment_seek(rank->segment, since, &frame, err) != 0) {
    name_damage(rank, err);
    return 0;
  }
  if (frame == tide_segment_frames(rank->segment))
    return (int64_t)tide_segment_rows(rank->segment);
  if (since < tide_segment_first_since(rank->segment) || !go_to(rank, frame, err))
    return 0;
  size_t low = 0;
  size_t high = rank->batch.rows;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (rank->batch.since[middle] <= since)
      low = middle + 1;
    else
      high = middle;
  }
  return (int64_t)(frame * TIDE_SEGMENT_FRAME_ROWS + low);
}

int64_t tide_rank_since(struct tide_rank *rank, int64_t before, struct tide_err *err) {
  const size_t frame = (size_t)before / TIDE_SEGMENT_FRAME_ROWS;
  return go_to(rank, frame, err) ? rank->batch.since[(size_t)before % TIDE_SEGMENT_FRAME_ROWS] : 0;
}
