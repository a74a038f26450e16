#include <string.h>

#include <xxhash.h>

#include "base/sqlite.h"
#include "codec/chunk.h"
#include "segment/format.h"
#include "segment_rows.h"

START_TEST(a_newer_format_is_named) {
  struct tide_err err = {0};
  struct tide_batch batch = random_batch(10);
  struct tide_segment_out out = written(&batch);
  out.meta.data[4] = 3;
  ck_assert_int_eq(read_all(&out, &batch, 0, &err), SQLITE_CORRUPT_VTAB); /* one flipped byte is damage */
  fix_meta_checksum(&out.meta);
  tide_err_clear(&err);
  ck_assert_int_eq(read_all(&out, &batch, 0, &err), SQLITE_ERROR);
  ck_assert_str_eq(err.msg, "the segment has format version 3, this Tidemark reads up to 2: written by a newer one");
  tide_segment_out_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

/* Changes each byte in turn in two ways. Everything must then be an error, or the values of before. */
static void flip_each(struct tide_buf *bytes, const struct tide_segment_out *out, const struct tide_batch *batch) {
  for (size_t i = 0; i < bytes->len * 2; i++) {
    struct tide_err err = {0};
    unsigned char was = bytes->data[i / 2];
    bytes->data[i / 2] ^= i % 2 == 0 ? 0xff : (unsigned char)(1u << i / 2 % 8);
    int rc = read_all(out, batch, 0, &err);
    ck_assert_msg(rc == 0 || rc == SQLITE_CORRUPT_VTAB, "byte %zu: %d %s", i / 2, rc, err.msg);
    ck_assert_msg(rc != 0, "byte %zu is under no checksum", i / 2);
    bytes->data[i / 2] = was;
  }
}

START_TEST(every_flipped_byte_is_noticed) {
  struct tide_batch batch = random_batch(40);
  struct tide_segment_out out = written(&batch);
  flip_each(&out.meta, &out, &batch);
  for (size_t c = 0; c < out.nchunks; c++)
    flip_each(&out.chunks[c], &out, &batch);
  tide_segment_out_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(every_flipped_byte_of_templates_is_noticed) {
  struct tide_err err = {0};
  struct tide_batch batch = batch_of(70, true);
  struct tide_segment_out out = written(&batch);
  struct tide_buf *chunk = &out.chunks[TIDE_SEGMENT_COLUMN_FIRST + TEXT];
  struct tide_format_meta meta;
  tide_format_read_meta(out.meta.data, out.meta.len, COLUMNS, &meta, &err);
  assert_ok(err);
  flip_each(chunk, &out, &batch);
  chunk->data[meta.entries[TIDE_SEGMENT_COLUMN_FIRST + TEXT].header_size] ^= 1;
  ck_assert_int_eq(read_all(&out, &batch, 0, &err), SQLITE_CORRUPT_VTAB);
  ck_assert_str_eq(err.msg, "column t, frame 0: the templates fail their checksum");
  tide_format_meta_clear(&meta);
  tide_segment_out_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(a_flipped_byte_in_a_later_frame_is_noticed) {
  struct tide_err err = {0};
  struct tide_batch batch = random_batch(9000);
  struct tide_segment_out out = written(&batch);
  struct tide_buf *chunk = &out.chunks[TIDE_SEGMENT_COLUMN_FIRST + TEXT];
  chunk->data[chunk->len - 1] ^= 1;
  ck_assert_int_eq(read_all(&out, &batch, 0, &err), SQLITE_CORRUPT_VTAB);
  ck_assert_str_eq(err.msg, "column t, frame 2: the frame fails its checksum");
  tide_segment_out_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(truncated_bytes_are_noticed) {
  struct tide_batch batch = random_batch(40);
  struct tide_segment_out out = written(&batch);
  struct tide_segment_out cut = out;
  for (cut.meta.len = 0; cut.meta.len < out.meta.len; cut.meta.len++) {
    struct tide_err err = {0};
    ck_assert_int_eq(read_all(&cut, &batch, 0, &err), SQLITE_CORRUPT_VTAB);
  }
  for (size_t missing = 1; missing < 100; missing++) {
    struct tide_err err = {0};
    ck_assert_int_eq(read_all(&out, &batch, missing, &err), SQLITE_CORRUPT_VTAB);
    ck_assert_msg(strncmp(err.msg, "column since, frame 0: chunk of ", 32) == 0, "%s", err.msg);
  }
  tide_segment_out_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(a_chunk_of_another_segment_is_noticed) {
  struct tide_err err = {0};
  struct tide_batch batch = random_batch(40), other = random_batch(40);
  for (size_t i = 0; i < other.rows; i++)
    other.ingested_at[i]++; /* of the same size, and well-formed */
  struct tide_segment_out out = written(&batch), foreign = written(&other);
  struct tide_buf own = out.chunks[1];
  ck_assert_uint_eq(own.len, foreign.chunks[1].len);
  out.chunks[1] = foreign.chunks[1];
  ck_assert_int_eq(read_all(&out, &batch, 0, &err), SQLITE_CORRUPT_VTAB);
  ck_assert_str_eq(err.msg, "column ingested_at, frame 0: the chunk belongs to another segment or column");
  out.chunks[1] = own;
  tide_segment_out_clear(&out);
  tide_segment_out_clear(&foreign);
  tide_batch_clear(&batch);
  tide_batch_clear(&other);
}
END_TEST

/* Opens and reads whatever comes; nothing is compared, the sanitizer looks on. */
static void read_hostile(const struct tide_segment_out *out) {
  struct tide_err err = {0};
  struct store store = {.out = out};
  struct tide_batch batch;
  struct tide_segment *segment = opened(&store, &err);
  tide_batch_init(&batch, COLUMNS, &err);
  for (size_t frame = 0; segment != NULL && frame < tide_segment_frames(segment); frame++) {
    size_t found;
    tide_segment_seek(segment, (int64_t)next_random(), &found, &err);
    tide_segment_read_since(segment, frame, &batch, &err);
    tide_segment_read_ingested(segment, frame, &batch, &err);
    for (size_t column = 0; column < COLUMNS; column++)
      tide_segment_read_column(segment, frame, column, NULL, &batch, &err);
    ck_assert(err.rc == 0 || err.rc == SQLITE_CORRUPT_VTAB || err.rc == SQLITE_NOMEM);
    tide_err_clear(&err);
  }
  tide_batch_clear(&batch);
  tide_segment_close(segment);
}

/* Somebody who knows the checksums: each byte of meta changed to some values, and the checksum made right. */
START_TEST(hostile_meta_is_survived) {
  struct tide_batch batch = random_batch(9000);
  struct tide_segment_out out = written(&batch);
  static const unsigned char values[] = {0, 1, 2, 31, 0x7f, 0x80, 0xff};
  for (size_t i = 13; i < out.meta.len; i++) {
    unsigned char was = out.meta.data[i];
    for (size_t v = 0; v < sizeof values; v++) {
      out.meta.data[i] = values[v];
      fix_meta_checksum(&out.meta);
      read_hostile(&out);
    }
    out.meta.data[i] = was;
  }
  tide_segment_out_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

/* Makes the header's checksum right, in the chunk and in meta. */
static void fix_header_checksum(struct tide_buf *meta, unsigned char *chunk, size_t header_size) {
  uint64_t sum = XXH3_64bits_withSeed(chunk + 9, header_size - 9, chunk[0]);
  unsigned char bytes[8];
  for (size_t i = 0; i < 8; i++)
    bytes[i] = (unsigned char)(sum >> 8 * i);
  for (size_t at = 13; at + 8 <= meta->len; at++)
    if (memcmp(meta->data + at, chunk + 1, 8) == 0)
      memcpy(meta->data + at, bytes, 8);
  memcpy(chunk + 1, bytes, 8);
  fix_meta_checksum(meta);
}

START_TEST(hostile_directories_are_survived) {
  struct tide_batch batch = batch_of(9000, true);
  struct tide_segment_out out = written(&batch);
  struct tide_format_meta meta;
  struct tide_err err = {0};
  tide_format_read_meta(out.meta.data, out.meta.len, COLUMNS, &meta, &err);
  assert_ok(err);
  static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
  for (size_t c = 0; c <= TIDE_SEGMENT_COLUMN_FIRST + TEXT; c += c == TIDE_SEGMENT_COLUMN_FIRST ? TEXT : 1) {
    unsigned char *chunk = out.chunks[c].data;
    size_t header_size = (size_t)meta.entries[c].header_size;
    for (size_t i = 9; i < header_size; i++) {
      unsigned char was = chunk[i];
      for (size_t v = 0; v < sizeof values; v++) {
        chunk[i] = values[v];
        fix_header_checksum(&out.meta, chunk, header_size);
        read_hostile(&out);
      }
      chunk[i] = was;
      fix_header_checksum(&out.meta, chunk, header_size);
    }
  }
  read_all(&out, &batch, 0, &err);
  assert_ok(err);
  tide_format_meta_clear(&meta);
  tide_segment_out_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

static const struct tide_buf no_templates;

/* A segment of three rows without columns, whose since is as given while meta says first and last. */
static int read_sinces(const int64_t *since, int64_t first, int64_t last) {
  static const struct tide_spec none = {.refs = 1};
  struct tide_err err = {0};
  struct tide_format_meta meta;
  struct tide_format_directory directory;
  struct tide_buf chunks[2] = {{0}};
  struct tide_frame_encoder *encoder = tide_frame_encoder_create(3, &err);
  tide_format_meta_init(&meta, 0, &err);
  tide_format_directory_init(&directory, 1, true, &err);
  meta.rows = 3;
  meta.first_since = first;
  meta.last_since = last;
  for (size_t c = 0; c < 2; c++) {
    struct tide_buf frame = {0};
    tide_frame_encode_ints(encoder, since, 3, &frame, &err);
    directory.offsets[1] = frame.len;
    directory.hashes[0] = tide_format_hash(frame.data, frame.len);
    tide_format_put_header(&directory, true, &no_templates, &chunks[c], &meta.entries[c], &err);
    tide_buf_put(&chunks[c], frame.data, frame.len, &err);
    tide_buf_clear(&frame);
  }
  struct tide_segment_out out = {.chunks = chunks, .nchunks = 2};
  tide_format_put_meta(&meta, &out.meta, &err);
  struct store store = {.out = &out};
  struct tide_segment *segment =
      tide_segment_open(&none, out.meta.data, out.meta.len, (struct tide_chunk_source){read_store, &store}, NULL, &err);
  struct tide_batch batch;
  tide_batch_init(&batch, 0, &err);
  assert_ok(err);
  int rc = tide_segment_read_since(segment, 0, &batch, &err);
  tide_batch_clear(&batch);
  tide_segment_close(segment);
  tide_format_directory_clear(&directory);
  tide_format_meta_clear(&meta);
  tide_frame_encoder_destroy(encoder);
  tide_buf_clear(&out.meta);
  tide_buf_clear(&chunks[0]);
  tide_buf_clear(&chunks[1]);
  return rc;
}

START_TEST(since_must_ascend_within_its_bounds) {
  ck_assert_int_eq(read_sinces((const int64_t[]){1, 2, 5}, 1, 5), SQLITE_OK);
  ck_assert_int_eq(read_sinces((const int64_t[]){1, 1, 5}, 1, 5), SQLITE_CORRUPT_VTAB);
  ck_assert_int_eq(read_sinces((const int64_t[]){1, 7, 5}, 1, 5), SQLITE_CORRUPT_VTAB);
  ck_assert_int_eq(read_sinces((const int64_t[]){2, 3, 5}, 1, 5), SQLITE_CORRUPT_VTAB);
  ck_assert_int_eq(read_sinces((const int64_t[]){1, 2, 4}, 1, 5), SQLITE_CORRUPT_VTAB);
  ck_assert_int_eq(read_sinces((const int64_t[]){1, 2, 6}, 1, 5), SQLITE_CORRUPT_VTAB);
}
END_TEST

/* The header of since of a segment of 5000 rows, 0 to 6000, whose second frame is said to begin at `second`. */
static int read_header_of_since(int64_t second) {
  struct tide_err err = {0};
  struct tide_format_entry entry;
  struct tide_format_meta meta = {.version = TIDE_FORMAT_VERSION, .rows = 5000, .last_since = 6000, .entries = &entry};
  struct tide_format_directory directory, back;
  struct tide_buf header = {0};
  tide_format_directory_init(&directory, 2, true, &err);
  directory.offsets[1] = 10;
  directory.offsets[2] = 20;
  directory.first_since[1] = second;
  tide_format_put_header(&directory, true, &no_templates, &header, &entry, &err);
  assert_ok(err);
  int rc = tide_format_read_header(header.data, &meta, TIDE_SEGMENT_COLUMN_SINCE, &back, &err);
  ck_assert(rc != 0 || back.first_since[1] == second);
  tide_format_directory_clear(&back);
  tide_format_directory_clear(&directory);
  tide_buf_clear(&header);
  return rc;
}

START_TEST(frames_begin_as_far_apart_as_they_are_long) {
  ck_assert_int_eq(read_header_of_since(4096), SQLITE_OK);
  ck_assert_int_eq(read_header_of_since(6000), SQLITE_OK);
  ck_assert_int_eq(read_header_of_since(4095), SQLITE_CORRUPT_VTAB);
  ck_assert_int_eq(read_header_of_since(0), SQLITE_CORRUPT_VTAB);
  ck_assert_int_eq(read_header_of_since(6001), SQLITE_CORRUPT_VTAB);
  ck_assert_int_eq(read_header_of_since(-1), SQLITE_CORRUPT_VTAB);
}
END_TEST

START_TEST(a_huge_frame_that_is_not_there_takes_no_memory) {
  struct tide_err err = {0};
  struct tide_format_meta meta;
  struct tide_segment_out out = {.nchunks = TIDE_SEGMENT_COLUMN_FIRST + COLUMNS};
  struct tide_buf chunks[TIDE_SEGMENT_COLUMN_FIRST + COLUMNS] = {{0}};
  struct tide_format_directory directory;
  tide_format_meta_init(&meta, COLUMNS, &err);
  tide_format_directory_init(&directory, 1, true, &err);
  meta.rows = 1;
  directory.offsets[1] = 1000000000; /* bytes of a frame, and no frame follows */
  for (size_t c = 0; c < 2; c++)
    tide_format_put_header(&directory, true, &no_templates, &chunks[c], &meta.entries[c], &err);
  tide_format_put_meta(&meta, &out.meta, &err);
  out.chunks = chunks;
  struct store store = {.out = &out};
  struct tide_segment *segment = opened(&store, &err);
  struct tide_batch batch;
  tide_batch_init(&batch, COLUMNS, &err);
  assert_ok(err);
  sqlite3_memory_highwater(1);
  ck_assert_int_eq(tide_segment_read_since(segment, 0, &batch, &err), SQLITE_CORRUPT_VTAB);
  ck_assert_int_lt(sqlite3_memory_highwater(0), 1000000);
  tide_batch_clear(&batch);
  tide_segment_close(segment);
  tide_format_directory_clear(&directory);
  tide_format_meta_clear(&meta);
  tide_buf_clear(&out.meta);
  tide_buf_clear(&chunks[0]);
  tide_buf_clear(&chunks[1]);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_newer_format_is_named,
                                every_flipped_byte_is_noticed,
                                every_flipped_byte_of_templates_is_noticed,
                                a_flipped_byte_in_a_later_frame_is_noticed,
                                truncated_bytes_are_noticed,
                                a_chunk_of_another_segment_is_noticed,
                                hostile_meta_is_survived,
                                hostile_directories_are_survived,
                                since_must_ascend_within_its_bounds,
                                frames_begin_as_far_apart_as_they_are_long,
                                a_huge_frame_that_is_not_there_takes_no_memory,
                                NULL};
  return unit_main("segment_damage", tests);
}
