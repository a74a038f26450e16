#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "codec/zframe.h"
#include "oom.h"
#include "unit.h"

/* The five bytes "hello" as the zstd tool 1.5.4 writes them with -3 --no-check: magic, a header that states 5 bytes,
 * and one raw block. */
static const unsigned char hello_frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x05, 0x29,
                                            0x00, 0x00, 'h',  'e',  'l',  'l',  'o'};

/* Text that compresses, but not to nothing; the same on every run. */
static unsigned char *sample(size_t size) {
  unsigned char *bytes = malloc(size);
  uint32_t state = 12345;
  for (size_t i = 0; i < size; i++) {
    state = state * 1664525 + 1013904223;
    bytes[i] = (unsigned char)("etaoin shrdlu\n42"[state >> 28]);
  }
  return bytes;
}

START_TEST(a_frame_is_what_the_zstd_tool_writes) {
  struct tide_err err = {0};
  struct tide_buf out = {0};
  struct tide_zpress *press = tide_zpress_create(3, &err);
  tide_buf_put_string(&out, "x", &err);
  ck_assert_int_eq(tide_zpress_frame(press, "hello", 5, &out, &err), 0);
  ck_assert_uint_eq(out.len, 1 + sizeof hello_frame);
  ck_assert_mem_eq(out.data + 1, hello_frame, sizeof hello_frame);
  tide_zpress_destroy(press);
  tide_buf_clear(&out);
}
END_TEST

START_TEST(frames_come_back) {
  static const size_t sizes[] = {0, 1, 100, 131072, 131073, 1000000};
  struct tide_err err = {0};
  struct tide_zpress *press = tide_zpress_create(3, &err);
  struct tide_zpand *pand = tide_zpand_create(&err);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    unsigned char *bytes = sample(sizes[i]), *back = malloc(sizes[i] + 1);
    struct tide_buf out = {0};
    tide_zpress_frame(press, bytes, sizes[i], &out, &err);
    tide_zpand_frame(pand, out.data, out.len, back, sizes[i], &err);
    assert_ok(err);
    ck_assert(sizes[i] == 0 || memcmp(bytes, back, sizes[i]) == 0);
    tide_buf_clear(&out);
    free(bytes);
    free(back);
  }
  tide_zpress_destroy(press);
  tide_zpand_destroy(pand);
}
END_TEST

/* Log lines whose numbers are chance, about 40 bytes each. */
static size_t write_lines(char *into, size_t lines) {
  uint32_t state = 7;
  char *to = into;
  for (size_t i = 0; i < lines; i++) {
    state = state * 1664525 + 1013904223;
    to += sprintf(to, "request %u of client 10.%u.%u.%u took %u ms\n", state >> 7, state >> 11 & 255, state >> 13 & 255,
                  state >> 17 & 255, state >> 20 & 1023);
  }
  return (size_t)(to - into);
}

START_TEST(long_matches_are_enough_for_text_full_of_numbers) {
  struct tide_err err = {0};
  struct tide_buf all = {0}, by_long = {0};
  char *lines = malloc(64 * 20000), *back = malloc(64 * 20000);
  const size_t size = write_lines(lines, 20000);
  struct tide_zpress *press = tide_zpress_create(3, &err), *press_long = tide_zpress_create_long(3, &err);
  struct tide_zpand *pand = tide_zpand_create(&err);
  tide_zpress_frame(press, lines, size, &all, &err);
  tide_zpress_frame(press_long, lines, size, &by_long, &err);
  tide_zpand_frame(pand, by_long.data, by_long.len, back, size, &err);
  assert_ok(err);
  ck_assert_mem_eq(lines, back, size);
  ck_assert_uint_lt(by_long.len, all.len);
  ck_assert_ptr_null(tide_zpress_create_long(1, &err));
  ck_assert_ptr_null(tide_zpress_create_long(9, &err));
  assert_ok(err);
  tide_zpress_destroy(press);
  tide_zpress_destroy(press_long);
  tide_zpand_destroy(pand);
  tide_buf_clear(&all);
  tide_buf_clear(&by_long);
  free(lines);
  free(back);
}
END_TEST

static int expand(const void *bytes, size_t size, size_t raw_size) {
  struct tide_err err = {0};
  struct tide_zpand *pand = tide_zpand_create(&err);
  unsigned char *into = malloc(raw_size + 1);
  int rc = tide_zpand_frame(pand, bytes, size, into, raw_size, &err);
  free(into);
  tide_zpand_destroy(pand);
  return rc;
}

START_TEST(a_frame_of_another_size_is_corrupt) {
  ck_assert_int_eq(expand(hello_frame, sizeof hello_frame, 5), SQLITE_OK);
  ck_assert_int_eq(expand(hello_frame, sizeof hello_frame, 4), SQLITE_CORRUPT_VTAB);
  ck_assert_int_eq(expand(hello_frame, sizeof hello_frame, 6), SQLITE_CORRUPT_VTAB);
}
END_TEST

START_TEST(damaged_frames_are_corrupt) {
  for (size_t size = 0; size < sizeof hello_frame; size++)
    ck_assert_int_eq(expand(hello_frame, size, 5), SQLITE_CORRUPT_VTAB);
  unsigned char two[2 * sizeof hello_frame];
  memcpy(two, hello_frame, sizeof hello_frame);
  memcpy(two + sizeof hello_frame, hello_frame, sizeof hello_frame);
  ck_assert_int_eq(expand(two, sizeof two, 10), SQLITE_CORRUPT_VTAB);
  static const unsigned char skipped[] = {0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0};
  ck_assert_int_eq(expand(skipped, sizeof skipped, 0), SQLITE_CORRUPT_VTAB);
}
END_TEST

/* Compresses bytes as a stream, cut into calls of the given size. */
static struct tide_buf stream_of(const unsigned char *bytes, size_t size, size_t cut) {
  struct tide_err err = {0};
  struct tide_buf out = {0};
  struct tide_zstream *stream = tide_zstream_create(3, &err);
  for (size_t at = 0; at < size; at += cut)
    tide_zstream_write(stream, bytes + at, size - at < cut ? size - at : cut, &out, &err);
  tide_zstream_finish(stream, &out, &err);
  tide_zstream_destroy(stream);
  assert_ok(err);
  return out;
}

START_TEST(a_stream_does_not_depend_on_the_cut) {
  static const size_t cuts[] = {1000, 65536, 131072, 131073, 300000, 400001};
  const size_t size = 400001;
  unsigned char *bytes = sample(size);
  struct tide_buf whole = stream_of(bytes, size, 1);
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
    struct tide_buf out = stream_of(bytes, size, cuts[i]);
    ck_assert_uint_eq(out.len, whole.len);
    ck_assert_mem_eq(out.data, whole.data, whole.len);
    tide_buf_clear(&out);
  }
  tide_buf_clear(&whole);
  free(bytes);
}
END_TEST

/* A source of bytes that hands out at most `step` at a time, and fails at the end when told so. */
struct source {
  const unsigned char *bytes;
  size_t size;
  size_t step;
  bool fails;
};

static long read_source(void *context, void *into, size_t size, struct tide_err *err) {
  struct source *source = context;
  size_t n = source->size < source->step ? source->size : source->step;
  n = n < size ? n : size;
  if (n == 0 && source->fails) {
    tide_err_set(err, SQLITE_IOERR, "the disk is on fire");
    return -1;
  }
  memcpy(into, source->bytes, n);
  source->bytes += n;
  source->size -= n;
  return (long)n;
}

/* Reads all of a stream in pieces of `piece` bytes. */
static struct tide_buf read_all(struct source source, size_t piece, struct tide_err *err) {
  struct tide_buf out = {0};
  struct tide_err own = {0}; /* of the buffer, so that the reader's is seen alone */
  struct tide_zreader *reader = tide_zreader_create(read_source, &source, err);
  for (long got = 1; got > 0;) {
    tide_buf_reserve(&out, piece, &own);
    got = tide_zreader_read(reader, out.data + out.len, piece, err);
    ck_assert(got <= (long)piece && (got < 0) == tide_err_is_set(err));
    out.len += got > 0 ? (size_t)got : 0;
  }
  tide_zreader_destroy(reader);
  assert_ok(own);
  return out;
}

START_TEST(streams_come_back_in_any_pieces) {
  const size_t size = 140000;
  unsigned char *bytes = sample(size);
  struct tide_buf packed = stream_of(bytes, size, size);
  static const size_t steps[] = {1, 1000, 1000000}, pieces[] = {1, 4096, 1000000};
  for (size_t i = 0; i < 9; i++) {
    struct tide_err err = {0};
    struct tide_buf back = read_all((struct source){packed.data, packed.len, steps[i / 3], false}, pieces[i % 3], &err);
    assert_ok(err);
    ck_assert_uint_eq(back.len, size);
    ck_assert_mem_eq(back.data, bytes, size);
    tide_buf_clear(&back);
  }
  tide_buf_clear(&packed);
  free(bytes);
}
END_TEST

START_TEST(frames_behind_each_other_are_one_stream) {
  unsigned char two[2 * sizeof hello_frame];
  memcpy(two, hello_frame, sizeof hello_frame);
  memcpy(two + sizeof hello_frame, hello_frame, sizeof hello_frame);
  struct tide_err err = {0};
  struct tide_buf back = read_all((struct source){two, sizeof two, 3, false}, 100, &err);
  assert_ok(err);
  ck_assert_uint_eq(back.len, 10);
  ck_assert_mem_eq(back.data, "hellohello", 10);
  tide_buf_clear(&back);
}
END_TEST

START_TEST(an_empty_stream_is_a_frame_too) {
  struct tide_buf packed = stream_of(NULL, 0, 1);
  ck_assert_uint_gt(packed.len, 4);
  struct tide_err err = {0};
  struct tide_buf back = read_all((struct source){packed.data, packed.len, 100, false}, 100, &err);
  assert_ok(err);
  ck_assert_uint_eq(back.len, 0);
  tide_buf_clear(&back);
  tide_buf_clear(&packed);
}
END_TEST

START_TEST(truncated_and_damaged_streams_are_corrupt) {
  for (size_t size = 0; size < sizeof hello_frame; size++) {
    struct tide_err err = {0};
    struct tide_buf back = read_all((struct source){hello_frame, size, 100, false}, 100, &err);
    ck_assert_int_eq(err.rc, SQLITE_CORRUPT);
    tide_buf_clear(&back);
  }
  unsigned char bad[sizeof hello_frame + 5];
  memcpy(bad, hello_frame, sizeof hello_frame);
  memcpy(bad + sizeof hello_frame, "trash", 5);
  struct tide_err err = {0};
  struct tide_buf back = read_all((struct source){bad, sizeof bad, 100, false}, 100, &err);
  ck_assert_int_eq(err.rc, SQLITE_CORRUPT);
  tide_buf_clear(&back);
}
END_TEST

START_TEST(a_window_above_the_limit_is_refused) {
  /* A header with window descriptor 0x90: 2^(10 + 18) bytes, 256 MiB. */
  static const unsigned char wide[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x90, 0x01, 0x00, 0x00};
  struct tide_err err = {0};
  struct tide_buf back = read_all((struct source){wide, sizeof wide, 100, false}, 100, &err);
  ck_assert_int_eq(err.rc, SQLITE_CORRUPT);
  tide_buf_clear(&back);
  unsigned char narrow[sizeof wide];
  memcpy(narrow, wide, sizeof wide);
  narrow[5] = 0x88; /* 128 MiB */
  tide_err_clear(&err);
  back = read_all((struct source){narrow, sizeof narrow, 100, false}, 100, &err);
  assert_ok(err);
  tide_buf_clear(&back);
}
END_TEST

START_TEST(the_sources_error_is_passed_on) {
  struct tide_err err = {0};
  struct tide_buf back = read_all((struct source){hello_frame, 10, 100, true}, 100, &err);
  ck_assert_int_eq(err.rc, SQLITE_IOERR);
  ck_assert_str_eq(err.msg, "the disk is on fire");
  tide_buf_clear(&back);
}
END_TEST

/* Everything once: a frame there and back, a stream there and back. */
static void use_all(const unsigned char *bytes, size_t size, struct tide_err *err) {
  struct tide_buf frame = {0}, packed = {0};
  unsigned char *back = tide_alloc(size, err);
  struct tide_zpress *press = tide_zpress_create(3, err);
  struct tide_zpand *pand = press != NULL ? tide_zpand_create(err) : NULL;
  if (pand != NULL && back != NULL && tide_zpress_frame(press, bytes, size, &frame, err) == 0)
    tide_zpand_frame(pand, frame.data, frame.len, back, size, err);
  struct tide_zstream *stream = tide_zstream_create(3, err);
  if (stream != NULL && tide_zstream_write(stream, bytes, size, &packed, err) == 0)
    tide_zstream_finish(stream, &packed, err);
  struct source source = {packed.data, packed.len, 1000000, false};
  struct tide_zreader *reader = tide_zreader_create(read_source, &source, err);
  for (long got = 1; reader != NULL && got > 0;)
    got = tide_zreader_read(reader, back, size, err);
  tide_zreader_destroy(reader);
  tide_zstream_destroy(stream);
  tide_zpand_destroy(pand);
  tide_zpress_destroy(press);
  tide_free(back);
  tide_buf_clear(&packed);
  tide_buf_clear(&frame);
}

START_TEST(every_failed_allocation_is_no_memory) {
  oom_install();
  const size_t size = 300000;
  unsigned char *bytes = sample(size);
  long start = oom_live(), n = 1;
  for (;; n++) {
    struct tide_err err = {0};
    oom_fail_at(n);
    use_all(bytes, size, &err);
    ck_assert_int_eq(oom_live(), start);
    if (!oom_has_failed()) {
      assert_ok(err);
      break;
    }
    ck_assert_int_eq(err.rc, SQLITE_NOMEM);
  }
  oom_fail_at(0);
  ck_assert_int_gt(n, 10); /* zstd's own are among them */
  free(bytes);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_frame_is_what_the_zstd_tool_writes,
                                frames_come_back,
                                long_matches_are_enough_for_text_full_of_numbers,
                                a_frame_of_another_size_is_corrupt,
                                damaged_frames_are_corrupt,
                                a_stream_does_not_depend_on_the_cut,
                                streams_come_back_in_any_pieces,
                                frames_behind_each_other_are_one_stream,
                                an_empty_stream_is_a_frame_too,
                                truncated_and_damaged_streams_are_corrupt,
                                a_window_above_the_limit_is_refused,
                                the_sources_error_is_passed_on,
                                every_failed_allocation_is_no_memory,
                                NULL};
  return unit_main("zframe", tests);
}
