#include <string.h>

#include <xxhash.h>

#include "base/sqlite.h"
#include "oom.h"
#include "segment_rows.h"

START_TEST(rows_of_all_types_come_back) {
  static const size_t sizes[] = {1, 2, 4095, 4096, 4097, 9000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct tide_err err = {0};
    struct tide_batch batch = random_batch(sizes[i]);
    struct tide_segment_out out = written(&batch);
    ck_assert_uint_eq(out.raw_bytes, batch.raw_bytes);
    uint64_t stored = out.meta.len;
    for (size_t c = 0; c < out.nchunks; c++)
      stored += out.chunks[c].len;
    ck_assert_uint_eq(out.stored_bytes, stored);
    read_all(&out, &batch, 0, &err);
    assert_ok(err);
    tide_segment_out_clear(&out);
    tide_batch_clear(&batch);
  }
}
END_TEST

START_TEST(templates_are_read_once) {
  struct tide_err err = {0};
  struct tide_batch batch = batch_of(9000, true), back;
  struct tide_segment_out out = written(&batch);
  struct store store = {.out = &out};
  read_all(&out, &batch, 0, &err);
  struct tide_segment *segment = opened(&store, &err);
  tide_batch_init(&back, COLUMNS, &err);
  tide_segment_read_column(segment, 2, TEXT, NULL, &back, &err);
  ck_assert_uint_eq(store.reads, 3); /* the header, the templates, the frame */
  tide_segment_read_column(segment, 1, TEXT, NULL, &back, &err);
  ck_assert_uint_eq(store.reads, 4);
  assert_ok(err);
  ck_assert(same_value(tide_vec_get(&back.columns[TEXT], 7), tide_vec_get(&batch.columns[TEXT], 4103)));
  ck_assert_uint_lt(out.chunks[TIDE_SEGMENT_COLUMN_FIRST + TEXT].len, 9000 * 4); /* 12.3 and 10 bits are drawn a row */
  tide_segment_close(segment);
  tide_batch_clear(&back);
  tide_segment_out_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

static void assert_same_segment(const struct tide_segment_out *a, const struct tide_segment_out *b) {
  ck_assert_uint_eq(a->meta.len, b->meta.len);
  ck_assert_mem_eq(a->meta.data, b->meta.data, a->meta.len);
  ck_assert_uint_eq(a->nchunks, b->nchunks);
  for (size_t c = 0; c < a->nchunks; c++) {
    ck_assert_uint_eq(a->chunks[c].len, b->chunks[c].len);
    ck_assert(a->chunks[c].len == 0 || memcmp(a->chunks[c].data, b->chunks[c].data, a->chunks[c].len) == 0);
  }
}

START_TEST(equal_rows_give_equal_bytes) {
  struct tide_batch batch = random_batch(5000), again = random_batch(5000);
  struct tide_segment_out out = written(&batch), other = written(&again);
  assert_same_segment(&out, &other);
  tide_segment_out_clear(&out);
  tide_segment_out_clear(&other);
  tide_batch_clear(&batch);
  tide_batch_clear(&again);
}
END_TEST

/* Frames of texts that have no templates, so that the writer gives up looking for some time. */
static void add_noise(struct tide_segment_writer *writer) {
  struct tide_err err = {0};
  struct tide_batch batch = batch_of(3 * TIDE_SEGMENT_FRAME_ROWS, true);
  struct tide_vec *vec = &batch.columns[TEXT];
  unsigned char *letters = malloc(batch.rows * 40);
  for (size_t i = 0; i < batch.rows * 40; i++)
    letters[i] = (unsigned char)('g' + next_random() % 19);
  vec->base = letters;
  for (size_t row = 0; row < batch.rows; row++) {
    vec->tag[row] = TIDE_VAL_TEXT;
    vec->num[row] = (int64_t)row * 40;
    vec->size[row] = 40;
  }
  tide_segment_writer_add(writer, &batch, 0, batch.rows, &err);
  assert_ok(err);
  free(letters);
  tide_batch_clear(&batch);
}

START_TEST(rows_may_be_added_in_any_pieces) {
  struct tide_err err = {0};
  struct tide_batch batch = batch_of(13000, true);
  struct tide_segment_out whole = written(&batch);
  struct tide_frame_encoder *encoder = tide_frame_encoder_create(3, &err);
  struct tide_segment_writer *writer = tide_segment_writer_create(&spec, encoder, &err);
  static const size_t pieces[] = {1, 700, 4096, 5000, 13000};
  tide_segment_writer_add(writer, &batch, 100, 6000, &err); /* forgotten */
  tide_segment_writer_reset(writer);
  add_noise(writer);
  tide_segment_writer_reset(writer);
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    struct tide_segment_out out = {0};
    for (size_t row = 0; row < batch.rows; row += pieces[i]) {
      size_t rows = batch.rows - row < pieces[i] ? batch.rows - row : pieces[i];
      ck_assert_uint_eq(tide_segment_writer_rows(writer), row);
      tide_segment_writer_add(writer, &batch, row, rows, &err);
    }
    ck_assert_uint_eq(tide_segment_writer_raw_bytes(writer), batch.raw_bytes);
    tide_segment_writer_finish(writer, &out, &err);
    assert_ok(err);
    assert_same_segment(&out, &whole);
    ck_assert_uint_eq(out.rows, batch.rows);
    ck_assert_int_eq(out.first_since, batch.since[0]);
    ck_assert_int_eq(out.last_since, batch.since[batch.rows - 1]);
    ck_assert_int_eq(out.newest_at, batch.ingested_at[batch.rows - 1]);
    ck_assert_uint_eq(out.raw_bytes, batch.raw_bytes);
    tide_segment_out_clear(&out);
  }
  tide_segment_writer_destroy(writer);
  tide_frame_encoder_destroy(encoder);
  tide_segment_out_clear(&whole);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(a_writer_holds_one_frame_of_rows) {
  struct tide_err err = {0};
  struct tide_segment_out out = {0};
  struct tide_batch batch = random_batch(1000);
  struct tide_frame_encoder *encoder = tide_frame_encoder_create(1, &err);
  struct tide_segment_writer *writer = tide_segment_writer_create(&spec, encoder, &err);
  sqlite3_int64 highest[2];
  for (int64_t i = 0, since = 0; i < 80; i++) { /* about 20 MB of rows, of few different values */
    for (size_t row = 0; row < batch.rows; row++)
      batch.since[row] = since++;
    tide_segment_writer_add(writer, &batch, 0, batch.rows, &err);
    if (i == 9)
      highest[0] = sqlite3_memory_highwater(0);
  }
  highest[1] = sqlite3_memory_highwater(0);
  tide_segment_writer_finish(writer, &out, &err);
  assert_ok(err);
  ck_assert_int_lt(highest[1], highest[0] + (sqlite3_int64)(3 * out.stored_bytes)); /* buffers double when they grow */
  ck_assert_uint_lt(3 * out.stored_bytes, out.raw_bytes);
  tide_segment_writer_destroy(writer);
  tide_frame_encoder_destroy(encoder);
  tide_segment_out_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(a_read_touches_only_what_it_needs) {
  struct tide_err err = {0};
  struct tide_batch batch = random_batch(20000), back;
  struct tide_segment_out out = written(&batch);
  struct store store = {.out = &out};
  struct tide_segment *segment = opened(&store, &err);
  ck_assert_uint_eq(store.reads, 0);
  tide_batch_init(&back, COLUMNS, &err);
  tide_segment_read_column(segment, 4, INTEGER, NULL, &back, &err);
  ck_assert_uint_eq(store.columns, 1u << (TIDE_SEGMENT_COLUMN_FIRST + INTEGER));
  ck_assert_uint_eq(store.reads, 2); /* the header and the frame */
  ck_assert_uint_lt(store.bytes, out.chunks[TIDE_SEGMENT_COLUMN_FIRST + INTEGER].len / 4);
  tide_segment_read_column(segment, 3, INTEGER, NULL, &back, &err);
  ck_assert_uint_eq(store.reads, 3); /* the header is known */
  tide_segment_read_column(segment, 3, EMPTY, NULL, &back, &err);
  ck_assert_uint_eq(store.reads, 3);
  assert_ok(err);
  tide_batch_clear(&back);
  tide_segment_close(segment);
  tide_segment_out_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(columns_without_values_have_no_chunk) {
  struct tide_batch batch = random_batch(9000);
  struct tide_segment_out out = written(&batch);
  ck_assert_uint_eq(out.nchunks, TIDE_SEGMENT_COLUMN_FIRST + COLUMNS);
  for (size_t c = 0; c < out.nchunks; c++)
    ck_assert_int_eq(out.chunks[c].len == 0,
                     c == TIDE_SEGMENT_COLUMN_FIRST + PART || c == TIDE_SEGMENT_COLUMN_FIRST + EMPTY);
  tide_segment_out_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(columns_added_later_read_their_default) {
  struct tide_err err = {0};
  struct tide_spec wider = spec;
  wider.ncolumns = COLUMNS + 2;
  struct tide_batch batch = random_batch(100), back;
  struct tide_segment_out out = written(&batch);
  struct store store = {.out = &out};
  struct tide_segment *segment = tide_segment_open(&wider, out.meta.data, out.meta.len,
                                                   (struct tide_chunk_source){read_store, &store}, NULL, &err);
  tide_batch_init(&back, COLUMNS + 2, &err);
  columns[COLUMNS].dflt_value = tide_val_text("then", 4);
  tide_segment_read_column(segment, 0, COLUMNS, NULL, &back, &err);
  tide_segment_read_column(segment, 0, COLUMNS + 1, NULL, &back, &err);
  assert_ok(err);
  for (size_t row = 0; row < 100; row++) {
    const struct tide_val value = tide_vec_get(&back.columns[COLUMNS], row);
    ck_assert_int_eq(tide_val_compare(&value, &columns[COLUMNS].dflt_value), 0);
    ck_assert_uint_eq(back.columns[COLUMNS + 1].tag[row], TIDE_VAL_NULL);
  }
  struct tide_zone zone;
  tide_segment_zone(segment, COLUMNS, &zone);
  ck_assert(zone.types == 1 << TIDE_VAL_TEXT && zone.bounded);
  ck_assert_int_eq(tide_val_compare(&zone.min, &columns[COLUMNS].dflt_value), 0);
  ck_assert_int_eq(tide_val_compare(&zone.max, &columns[COLUMNS].dflt_value), 0);
  tide_segment_zone(segment, COLUMNS + 1, &zone);
  ck_assert(zone.types == 1 << TIDE_VAL_NULL && !zone.bounded);
  tide_segment_zone(segment, PART, &zone);
  ck_assert(zone.types == 0xff && !zone.bounded);
  tide_batch_clear(&back);
  tide_segment_close(segment);

  struct tide_spec narrower = spec; /* as after a restore of half the shadow tables */
  narrower.ncolumns = COLUMNS - 1;
  ck_assert_ptr_null(tide_segment_open(&narrower, out.meta.data, out.meta.len,
                                       (struct tide_chunk_source){read_store, &store}, NULL, &err));
  ck_assert_int_eq(err.rc, SQLITE_CORRUPT_VTAB);
  tide_segment_out_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(seek_finds_the_frame_of_the_next_row) {
  struct tide_err err = {0};
  struct tide_batch batch = random_batch(13000);
  struct tide_segment_out out = written(&batch);
  struct store store = {.out = &out};
  struct tide_segment *segment = opened(&store, &err);
  size_t row = 0; /* the first one above since */
  for (int64_t since = batch.since[0] - 3; since < batch.since[12999] + 3; since++) {
    while (row < batch.rows && batch.since[row] <= since)
      row++;
    size_t frame, exact = row < batch.rows ? row / TIDE_SEGMENT_FRAME_ROWS : tide_segment_frames(segment);
    ck_assert_int_eq(tide_segment_seek(segment, since, &frame, &err), 0);
    /* in the gap between two frames the one before it may be named, never one too late */
    bool gap = row % TIDE_SEGMENT_FRAME_ROWS == 0 && row < batch.rows && frame + 1 == exact;
    ck_assert(frame == exact || gap);
    if (row < batch.rows && since + 1 == batch.since[row])
      ck_assert_uint_eq(frame, exact);
  }
  ck_assert_uint_eq(store.reads, 1); /* the directory of since */
  size_t frame;
  tide_segment_seek(segment, INT64_MIN, &frame, &err);
  ck_assert_uint_eq(frame, 0);
  tide_segment_seek(segment, INT64_MAX, &frame, &err);
  ck_assert_uint_eq(frame, 4);
  assert_ok(err);
  tide_segment_close(segment);
  tide_segment_out_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(since_reaches_the_ends_of_integers) {
  struct tide_err err = {0};
  struct tide_batch batch;
  tide_batch_init(&batch, COLUMNS, &err);
  static const int64_t sinces[] = {INT64_MIN, -1, INT64_MAX};
  struct tide_val values[COLUMNS] = {{0}};
  for (size_t i = 0; i < 3; i++)
    tide_batch_append(&batch, sinces[i], INT64_MIN, values, &err);
  struct tide_segment_out out = written(&batch);
  read_all(&out, &batch, 0, &err);
  assert_ok(err);
  tide_segment_out_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

/* ---- zone maps ---- */

/* The zone of column t or any of a segment of these values, in meta and back. */
static struct tide_segment *zone_of(const struct tide_val *list, size_t n, struct tide_zone *ret_zone) {
  struct tide_err err = {0};
  struct tide_batch batch;
  tide_batch_init(&batch, COLUMNS, &err);
  for (size_t i = 0; i < n; i++) {
    struct tide_val values[COLUMNS] = {[ANY] = list[i]};
    tide_batch_append(&batch, (int64_t)i, 0, values, &err);
  }
  struct tide_segment_out out = written(&batch);
  struct store store = {.out = &out};
  struct tide_segment *segment = opened(&store, &err);
  assert_ok(err);
  tide_segment_zone(segment, ANY, ret_zone);
  for (size_t i = 0; i < n && ret_zone->bounded; i++)
    ck_assert(list[i].type == TIDE_VAL_NULL ||
              (tide_val_compare(&ret_zone->min, &list[i]) <= 0 && tide_val_compare(&list[i], &ret_zone->max) <= 0));
  tide_segment_out_clear(&out);
  tide_batch_clear(&batch);
  return segment; /* owns what the zone views */
}

START_TEST(zones_hold_types_and_bounds) {
  struct tide_zone zone;
  const struct tide_val mixed[] = {tide_val_text("a", 1), tide_val_null(), tide_val_int(7), tide_val_real(-1.5),
                                   tide_val_blob("", 0)};
  struct tide_segment *segment = zone_of(mixed, 5, &zone);
  ck_assert_uint_eq(zone.types, 0x1f);
  ck_assert(zone.bounded);
  ck_assert(same_value(zone.min, tide_val_real(-1.5)));
  ck_assert(same_value(zone.max, tide_val_blob("", 0)));
  tide_segment_close(segment);

  const struct tide_val ints[] = {tide_val_int(3), tide_val_int(INT64_MIN), tide_val_int(INT64_MAX)};
  segment = zone_of(ints, 3, &zone);
  ck_assert_uint_eq(zone.types, 1 << TIDE_VAL_INT);
  ck_assert(same_value(zone.min, tide_val_int(INT64_MIN)));
  ck_assert(same_value(zone.max, tide_val_int(INT64_MAX)));
  tide_segment_close(segment);

  /* 2^53 + 1 is above the real 2^53, though as reals they are equal */
  const struct tide_val close[] = {tide_val_int(9007199254740993), tide_val_real(9007199254740992.0)};
  segment = zone_of(close, 2, &zone);
  ck_assert(same_value(zone.min, close[1]));
  ck_assert(same_value(zone.max, close[0]));
  tide_segment_close(segment);

  const struct tide_val nulls[] = {tide_val_null()};
  segment = zone_of(nulls, 1, &zone);
  ck_assert(zone.types == 1 << TIDE_VAL_NULL && !zone.bounded);
  tide_segment_close(segment);
}
END_TEST

/* The zone of one text of n bytes: 40 letters, whose bytes from `from` on are 0xff. */
static struct tide_segment *zone_of_text(size_t n, size_t from, struct tide_zone *ret_zone) {
  char text[41] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN";
  memset(text + from, 0xff, sizeof text - 1 - from);
  const struct tide_val list[] = {tide_val_text(text, n)};
  return zone_of(list, 1, ret_zone);
}

START_TEST(long_bounds_are_cut_and_raised) {
  struct tide_zone zone;
  struct tide_segment *segment = zone_of_text(32, 40, &zone); /* just fits */
  ck_assert(same_value(zone.min, zone.max));
  ck_assert_uint_eq(zone.max.n, 32);
  tide_segment_close(segment);

  segment = zone_of_text(33, 40, &zone);
  ck_assert(same_value(zone.min, tide_val_text("abcdefghijklmnopqrstuvwxyzABCDEF", 32)));
  ck_assert(same_value(zone.max, tide_val_text("abcdefghijklmnopqrstuvwxyzABCDEG", 32)));
  tide_segment_close(segment);

  segment = zone_of_text(40, 30, &zone); /* 0xff at the cut: the letter before it is raised */
  ck_assert(same_value(zone.min, tide_val_text("abcdefghijklmnopqrstuvwxyzABCD\xff\xff", 32)));
  ck_assert(same_value(zone.max, tide_val_text("abcdefghijklmnopqrstuvwxyzABCE", 30)));
  tide_segment_close(segment);

  segment = zone_of_text(40, 0, &zone); /* nothing is above 32 times 0xff but a longer one */
  ck_assert(!zone.bounded);
  ck_assert_uint_eq(zone.types, 1 << TIDE_VAL_TEXT);
  tide_segment_close(segment);

  segment = zone_of_text(32, 0, &zone); /* which was not cut */
  ck_assert(zone.bounded);
  tide_segment_close(segment);
}
END_TEST

/* A segment of one text in each of the rows of its frames, then the next frame's; column t. */
static struct tide_segment_out frames_of(const struct tide_val *texts, size_t frames) {
  struct tide_err err = {0};
  struct tide_batch batch;
  tide_batch_init(&batch, COLUMNS, &err);
  for (size_t row = 0; row < frames * TIDE_SEGMENT_FRAME_ROWS; row++) {
    const struct tide_val values[COLUMNS] = {[TEXT] = texts[row / TIDE_SEGMENT_FRAME_ROWS]};
    tide_batch_append(&batch, (int64_t)row, 0, values, &err);
  }
  assert_ok(err);
  struct tide_segment_out out = written(&batch);
  tide_batch_clear(&batch);
  return out;
}

START_TEST(one_frame_without_bounds_leaves_the_segment_without) {
  char high[40];
  memset(high, 0xff, sizeof high);
  const struct tide_val unbounded = tide_val_text(high, sizeof high), plain = tide_val_text("plain", 5);
  const struct tide_val orders[][3] = {{unbounded, plain, plain}, {plain, unbounded, plain}, {plain, plain, unbounded}};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    struct tide_err err = {0};
    struct tide_segment_out out = frames_of(orders[i], 3);
    struct store store = {.out = &out};
    struct tide_segment *segment = opened(&store, &err);
    struct tide_zone zone;
    assert_ok(err);
    tide_segment_zone(segment, TEXT, &zone);
    ck_assert_uint_eq(zone.types, 1 << TIDE_VAL_TEXT);
    ck_assert(!zone.bounded);
    for (size_t frame = 0; frame < 3; frame++) {
      tide_segment_frame_zone(segment, frame, TEXT, &zone, &err);
      assert_ok(err);
      ck_assert(zone.bounded == (i != frame));
    }
    tide_segment_close(segment);
    tide_segment_out_clear(&out);
  }
}
END_TEST

/* Texts that are alike in their first bytes, in no order, with shorter ones that the others begin with. */
START_TEST(zones_of_texts_that_begin_alike) {
  enum { ROWS = 500 };
  static char texts[ROWS][40];
  struct tide_val list[ROWS], low, high;
  for (size_t round = 0; round < 20; round++) {
    struct tide_zone zone;
    random_seed = round;
    for (size_t i = 0; i < ROWS; i++) {
      const int size = snprintf(texts[i], sizeof texts[i], "GET /page%.*u", (int)(next_random() % 3),
                                (unsigned)(next_random() % 5000));
      list[i] = tide_val_text(texts[i], (size_t)size - next_random() % 2);
      low = i == 0 || tide_val_compare(&list[i], &low) < 0 ? list[i] : low;
      high = i == 0 || tide_val_compare(&list[i], &high) > 0 ? list[i] : high;
    }
    struct tide_segment *segment = zone_of(list, ROWS, &zone);
    ck_assert(zone.bounded);
    ck_assert(same_value(zone.min, low));
    ck_assert(same_value(zone.max, high));
    tide_segment_close(segment);
  }
}
END_TEST

/* ---- bytes ---- */

/* Row 7, written at 0, one integer column with 5. */
static struct tide_column by_hand_column[] = {{.name = (char *)"x", .type = TIDE_TYPE_INTEGER, .partition_at = -1}};
static const struct tide_spec by_hand_spec = {.refs = 1, .ncolumns = 1, .columns = by_hand_column};

/* Its meta and chunks in a format version. */
static void put_by_hand(unsigned version, struct tide_buf *meta, struct tide_buf chunks[3]) {
  static const unsigned char frames[3][4] = {
      {0, 1, 0, 14}, {0, 1, 0, 0}, {0, 1, 0, 10}}; /* stored, all INT, constant */
  static const unsigned char head[] = {'T', 'S', 'E', 'G', 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 14, 0, 1};
  static const unsigned char zone[] = {1 << TIDE_VAL_INT, 1, TIDE_VAL_INT, 10, TIDE_VAL_INT, 10};
  struct tide_err err = {0};
  tide_buf_put(meta, head, sizeof head, &err);
  for (size_t c = 0; c < 3; c++) {
    struct tide_buf directory = {0};
    if (version > 1)
      tide_buf_put_u8(&directory, 0, &err); /* no templates */
    tide_buf_put_u8(&directory, 4, &err);
    tide_buf_put_u32(&directory, (uint32_t)XXH3_64bits(frames[c], 4), &err);
    if (version > 1 && c == 2)
      tide_buf_put(&directory, zone, sizeof zone, &err);
    uint64_t sum = XXH3_64bits_withSeed(directory.data, directory.len, version);
    tide_buf_put_u8(&chunks[c], (uint8_t)version, &err);
    tide_buf_put_u64(&chunks[c], sum, &err);
    tide_buf_put(&chunks[c], directory.data, directory.len, &err);
    tide_buf_put(&chunks[c], frames[c], 4, &err);
    tide_buf_put_u8(meta, (uint8_t)chunks[c].len, &err);
    tide_buf_put_u8(meta, (uint8_t)(chunks[c].len - 4), &err);
    tide_buf_put_u64(meta, sum, &err);
    tide_buf_clear(&directory);
  }
  tide_buf_put(meta, zone, sizeof zone, &err);
  meta->data[4] = (unsigned char)version;
  fix_meta_checksum(meta);
  assert_ok(err);
}

START_TEST(a_segment_by_hand) {
  struct tide_err err = {0};
  struct tide_buf meta = {0}, chunks[3] = {{0}};
  put_by_hand(2, &meta, chunks);
  struct tide_batch batch;
  struct tide_segment_out out = {0};
  const struct tide_val values[] = {tide_val_int(5)};
  tide_batch_init(&batch, 1, &err);
  tide_batch_append(&batch, 7, 0, values, &err);
  write_segment(&by_hand_spec, &batch, 3, &out, &err);
  assert_ok(err);
  ck_assert_uint_eq(out.meta.len, meta.len);
  ck_assert_mem_eq(out.meta.data, meta.data, meta.len);
  for (size_t c = 0; c < 3; c++) {
    ck_assert_uint_eq(out.chunks[c].len, chunks[c].len);
    ck_assert_mem_eq(out.chunks[c].data, chunks[c].data, chunks[c].len);
    tide_buf_clear(&chunks[c]);
  }
  tide_buf_clear(&meta);
  tide_segment_out_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(segments_of_version_1_are_read) {
  struct tide_err err = {0};
  struct tide_buf chunks[3] = {{0}};
  struct tide_segment_out out = {.chunks = chunks, .nchunks = 3};
  put_by_hand(1, &out.meta, chunks);
  struct store store = {.out = &out};
  struct tide_segment *segment = tide_segment_open(&by_hand_spec, out.meta.data, out.meta.len,
                                                   (struct tide_chunk_source){read_store, &store}, NULL, &err);
  struct tide_batch batch;
  struct tide_zone zone;
  tide_batch_init(&batch, 1, &err);
  tide_segment_read_since(segment, 0, &batch, &err);
  tide_segment_read_ingested(segment, 0, &batch, &err);
  tide_segment_read_column(segment, 0, 0, NULL, &batch, &err);
  tide_segment_frame_zone(segment, 0, 0, &zone, &err); /* the segment's */
  assert_ok(err);
  ck_assert_int_eq(batch.since[0], 7);
  ck_assert(same_value(tide_vec_get(&batch.columns[0], 0), tide_val_int(5)));
  ck_assert(same_value(zone.min, tide_val_int(5)));
  tide_segment_close(segment);
  tide_batch_clear(&batch);
  tide_buf_clear(&out.meta);
  for (size_t c = 0; c < 3; c++)
    tide_buf_clear(&chunks[c]);
}
END_TEST

START_TEST(frames_have_zones) {
  struct tide_err err = {0};
  struct tide_batch batch = random_batch(9000);
  for (size_t row = 0; row < 9000; row++) {
    batch.columns[INTEGER].tag[row] = row < 4096 ? TIDE_VAL_NULL : TIDE_VAL_INT;
    batch.columns[INTEGER].num[row] = (int64_t)row;
  }
  struct tide_segment_out out = written(&batch);
  struct store store = {.out = &out};
  struct tide_segment *segment = opened(&store, &err);
  struct tide_zone zone;
  for (size_t frame = 0; frame < 3; frame++) {
    tide_segment_frame_zone(segment, frame, INTEGER, &zone, &err);
    assert_ok(err);
    ck_assert_uint_eq(zone.types, frame == 0 ? 1u << TIDE_VAL_NULL : 1u << TIDE_VAL_INT);
    ck_assert(zone.bounded == (frame > 0));
    if (frame > 0)
      ck_assert(zone.min.i == (int64_t)frame * 4096 && zone.max.i == (frame == 1 ? 8191 : 8999));
    tide_segment_frame_zone(segment, frame, TEXT, &zone, &err);
    ck_assert(same_value(zone.min, tide_val_text("", 0)));
    ck_assert(same_value(zone.max, tide_val_text("\xff\xfe is not UTF-8", 15)));
    tide_segment_frame_zone(segment, frame, PART, &zone, &err);
    ck_assert_uint_eq(zone.types, 0xff);
    tide_segment_frame_zone(segment, frame, EMPTY, &zone, &err);
    ck_assert_uint_eq(zone.types, 1u << TIDE_VAL_NULL);
  }
  assert_ok(err);
  ck_assert_uint_eq(store.reads, 2); /* two headers, no frame */
  tide_segment_close(segment);
  tide_segment_out_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

/* ---- memory ---- */

START_TEST(every_failed_allocation_is_no_memory) {
  oom_install();
  struct tide_batch batch = batch_of(4200, true);
  long start = oom_live(), n = 1;
  for (;; n++) {
    struct tide_err err = {0};
    struct tide_segment_out out = {0};
    oom_fail_at(n);
    if (write_segment(&spec, &batch, 1, &out, &err) == 0)
      read_all(&out, &batch, 0, &err);
    else
      ck_assert(out.chunks == NULL && out.meta.data == NULL && oom_live() == start);
    tide_segment_out_clear(&out);
    ck_assert_int_eq(oom_live(), start);
    if (!oom_has_failed()) {
      assert_ok(err);
      break;
    }
    ck_assert_int_eq(err.rc, SQLITE_NOMEM);
  }
  oom_fail_at(0);
  ck_assert_int_gt(n, 50);
  tide_batch_clear(&batch);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {rows_of_all_types_come_back,
                                templates_are_read_once,
                                equal_rows_give_equal_bytes,
                                rows_may_be_added_in_any_pieces,
                                a_writer_holds_one_frame_of_rows,
                                a_read_touches_only_what_it_needs,
                                columns_without_values_have_no_chunk,
                                columns_added_later_read_their_default,
                                seek_finds_the_frame_of_the_next_row,
                                since_reaches_the_ends_of_integers,
                                zones_hold_types_and_bounds,
                                long_bounds_are_cut_and_raised,
                                one_frame_without_bounds_leaves_the_segment_without,
                                zones_of_texts_that_begin_alike,
                                a_segment_by_hand,
                                segments_of_version_1_are_read,
                                frames_have_zones,
                                every_failed_allocation_is_no_memory,
                                NULL};
  return unit_main("segment", tests);
}
