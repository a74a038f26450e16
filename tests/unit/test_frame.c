#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "codec/chunk.h"
#include "codec/intcol.h"
#include "codec/realcol.h"
#include "codec/tagcol.h"
#include "codec/textcol.h"
#include "oom.h"
#include "random.h"
#include "unit.h"

static int64_t bits_of(double real) {
  int64_t bits;
  memcpy(&bits, &real, sizeof bits);
  return bits;
}

#define assert_bytes(buf, ...)                                                                                         \
  do {                                                                                                                 \
    static const unsigned char expected[] = {__VA_ARGS__};                                                             \
    ck_assert_uint_eq((buf).len, sizeof expected);                                                                     \
    ck_assert_mem_eq((buf).data, expected, sizeof expected);                                                           \
  } while (0)

/* Appends a value to a column as a batch does. */
static void append(struct tide_vec *vec, size_t row, uint8_t tag, int64_t num, const void *bytes, size_t size) {
  struct tide_err err = {0};
  tide_vec_reserve(vec, row + 1, &err);
  vec->tag[row] = tag;
  vec->num[row] = tag >= TIDE_VAL_TEXT ? (int64_t)vec->bytes.len : num;
  vec->size[row] = (uint32_t)size;
  tide_buf_put(&vec->bytes, bytes, size, &err);
  vec->base = vec->bytes.data;
  assert_ok(err);
}

static void append_random(struct tide_vec *vec, size_t row, uint8_t tag) {
  static const int64_t ints[] = {INT64_MIN, INT64_MAX, 0, -1, 1431857100000};
  static const char *const texts[] = {"", "info", "a\0b", "\xff\xfe invalid", "\xc3\xa9t\xc3\xa9"};
  static const size_t sizes[] = {0, 4, 3, 10, 5};
  uint64_t pick = next_random(), noise[40];
  if (tag == TIDE_VAL_INT)
    append(vec, row, tag, pick % 3 == 0 ? ints[pick % 5] : (int64_t)(next_random() >> pick % 64), NULL, 0);
  else if (tag == TIDE_VAL_REAL)
    append(vec, row, tag, bits_of(pick % 7 == 0 ? -0.0 : (double)next_random() / 1000), NULL, 0);
  else if (tag >= TIDE_VAL_TEXT && pick % 3 > 0)
    append(vec, row, tag, 0, texts[pick % 5], sizes[pick % 5]);
  else if (tag == TIDE_VAL_NULL)
    append(vec, row, tag, 0, NULL, 0);
  else {
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++)
      noise[i] = next_random();
    append(vec, row, tag, 0, noise, pick % sizeof noise);
  }
}

/* A column in which the types of the mask occur in no order. */
static struct tide_vec random_column(size_t rows, unsigned mask) {
  struct tide_vec vec = {0};
  for (size_t row = 0; row < rows; row++) {
    uint8_t tag = (uint8_t)(next_random() % TIDE_VAL_TYPES);
    while ((mask >> tag & 1) == 0)
      tag = (uint8_t)((tag + 1) % TIDE_VAL_TYPES);
    append_random(&vec, row, tag);
  }
  return vec;
}

static void assert_same(const struct tide_vec *a, size_t first, const struct tide_vec *b, size_t rows) {
  for (size_t i = 0; i < rows; i++) {
    ck_assert_uint_eq(a->tag[first + i], b->tag[i]);
    ck_assert_uint_eq(a->size[first + i], b->size[i]);
    if (b->tag[i] < TIDE_VAL_TEXT)
      ck_assert_int_eq(a->num[first + i], b->num[i]);
    else if (b->size[i] > 0)
      ck_assert_mem_eq(a->base + a->num[first + i], b->base + b->num[i], b->size[i]);
  }
}

START_TEST(a_frame_by_hand) {
  struct tide_err err = {0};
  struct tide_buf out = {0};
  struct tide_frame_encoder *encoder = tide_frame_encoder_create(3, &err);
  tide_frame_encode_ints(encoder, (const int64_t[]){5, 7, 6}, 3, &out, &err);
  assert_bytes(out, TIDE_FRAME_STORED, TIDE_VAL_INT, TIDE_INTCOL_OFFSET_BITS, 2, 10, 0x18);
  tide_buf_reset(&out);

  /* NULL, 7, 1.0, 'a', x'': five tags in three bits each, 0 1 2 3 4: 11'010'001'000 -> 0x88 0x46 and so on */
  struct tide_vec vec = {0};
  append(&vec, 0, TIDE_VAL_NULL, 0, NULL, 0);
  append(&vec, 1, TIDE_VAL_INT, 7, NULL, 0);
  append(&vec, 2, TIDE_VAL_REAL, bits_of(1.0), NULL, 0);
  append(&vec, 3, TIDE_VAL_TEXT, 0, "a", 1);
  append(&vec, 4, TIDE_VAL_BLOB, 0, "", 0);
  tide_frame_encode(encoder, NULL, &vec, 0, 5, &out, &err);
  assert_ok(err);
  assert_bytes(out, TIDE_FRAME_STORED, TIDE_TAGCOL_BITS, 0x1f, 0x88, 0x46, TIDE_INTCOL_CONSTANT, 14,
               TIDE_REALCOL_CONSTANT, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, TIDE_TEXTCOL_PLAIN, TIDE_INTCOL_OFFSET_BITS, 1, 0,
               0x01, 'a');
  tide_vec_clear(&vec);
  tide_frame_encoder_destroy(encoder);
  tide_buf_clear(&out);
}
END_TEST

START_TEST(frames_of_every_mix_come_back) {
  struct tide_err err = {0};
  struct tide_frame_encoder *encoder = tide_frame_encoder_create(3, &err);
  struct tide_frame_decoder *decoder = tide_frame_decoder_create(&err);
  struct tide_vec back = {0}; /* used again and again, as a scan does */
  for (unsigned mask = 1; mask < 1u << TIDE_VAL_TYPES; mask++) {
    static const size_t rows[] = {1, 3, 100, 1000};
    for (size_t i = 0; i < 4; i++) {
      struct tide_buf out = {0};
      size_t skip = rows[i] / 3;
      struct tide_vec vec = random_column(skip + rows[i], mask);
      tide_frame_encode(encoder, NULL, &vec, skip, rows[i], &out, &err);
      tide_frame_decode(decoder, NULL, out.data, out.len, rows[i], NULL, &back, &err);
      assert_ok(err);
      assert_same(&vec, skip, &back, rows[i]);
      tide_vec_clear(&vec);
      tide_buf_clear(&out);
    }
  }
  tide_vec_clear(&back);
  tide_frame_encoder_destroy(encoder);
  tide_frame_decoder_destroy(decoder);
}
END_TEST

START_TEST(equal_rows_give_equal_bytes) {
  struct tide_err err = {0};
  struct tide_buf first = {0}, second = {0};
  struct tide_vec vec = random_column(2000, 0x1f), other = random_column(500, 0x1f);
  struct tide_frame_encoder *encoder = tide_frame_encoder_create(3, &err);
  tide_frame_encode(encoder, NULL, &vec, 0, 2000, &first, &err);
  tide_frame_encode(encoder, NULL, &other, 0, 500, &second, &err); /* what came before does not matter */
  tide_buf_reset(&second);
  tide_frame_encode(encoder, NULL, &vec, 0, 2000, &second, &err);
  assert_ok(err);
  ck_assert_uint_eq(first.len, second.len);
  ck_assert_mem_eq(first.data, second.data, first.len);
  tide_frame_encoder_destroy(encoder);
  tide_vec_clear(&vec);
  tide_vec_clear(&other);
  tide_buf_clear(&first);
  tide_buf_clear(&second);
}
END_TEST

START_TEST(a_huge_value_comes_back) {
  const size_t size = (size_t)48 << 20;
  struct tide_err err = {0};
  struct tide_vec vec = {0}, back = {0};
  struct tide_buf out = {0};
  unsigned char *huge =
      calloc(1, size); /* mostly zero: the ratio that zstd reaches here must be believed when it is read */
  for (size_t i = 0; i < 100; i++)
    huge[i * 1000003 % 1000000] = (unsigned char)i;
  append(&vec, 0, TIDE_VAL_TEXT, 0, "small", 5);
  append(&vec, 1, TIDE_VAL_BLOB, 0, huge, size);
  struct tide_frame_encoder *encoder = tide_frame_encoder_create(3, &err);
  struct tide_frame_decoder *decoder = tide_frame_decoder_create(&err);
  tide_frame_encode(encoder, NULL, &vec, 0, 2, &out, &err);
  assert_ok(err);
  ck_assert_uint_lt(out.len, 10000);
  tide_frame_decode(decoder, NULL, out.data, out.len, 2, NULL, &back, &err);
  assert_ok(err);
  assert_same(&vec, 0, &back, 2);
  tide_frame_encoder_destroy(encoder);
  tide_frame_decoder_destroy(decoder);
  tide_vec_clear(&vec);
  tide_vec_clear(&back);
  tide_buf_clear(&out);
  free(huge);
}
END_TEST

static int decode(const void *bytes, size_t size, size_t rows) {
  struct tide_err err = {0};
  struct tide_vec vec = {0};
  struct tide_frame_decoder *decoder = tide_frame_decoder_create(&err);
  int rc = tide_frame_decode(decoder, NULL, bytes, size, rows, NULL, &vec, &err);
  tide_frame_decoder_destroy(decoder);
  tide_vec_clear(&vec);
  return rc;
}

START_TEST(a_size_that_cannot_be_takes_no_memory) {
  /* 100 bytes that claim 4 GiB, and then one more than the most that 90 bytes can hold. */
  unsigned char bytes[100] = {TIDE_FRAME_ZSTD, 0x80, 0x80, 0x80, 0x80, 0x10};
  sqlite3_initialize();
  sqlite3_memory_highwater(1);
  ck_assert_int_eq(decode(bytes, sizeof bytes, 1), SQLITE_CORRUPT_VTAB);
  ck_assert_int_lt(sqlite3_memory_highwater(0), 100000);
  struct tide_err err = {0};
  struct tide_buf limit = {0};
  tide_buf_put_u8(&limit, TIDE_FRAME_ZSTD, &err);
  tide_buf_put_varint(&limit, 90 * TIDE_FRAME_RATIO_MAX + 1, &err);
  tide_buf_put(&limit, bytes + 10, 90, &err);
  ck_assert_int_eq(decode(limit.data, limit.len, 1), SQLITE_CORRUPT_VTAB);
  ck_assert_int_lt(sqlite3_memory_highwater(0), 100000);
  /* a zstd frame (magic, one segment, 4 bytes of size) of 2 MiB as it says, of which the frame claims one byte more */
  static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0x20, 0};
  tide_buf_reset(&limit);
  tide_buf_put_u8(&limit, TIDE_FRAME_ZSTD, &err);
  tide_buf_put_varint(&limit, (2 << 20) + 1, &err);
  tide_buf_put(&limit, zstd, sizeof zstd, &err);
  tide_buf_put(&limit, bytes + 10, 90, &err);
  ck_assert_int_eq(decode(limit.data, limit.len, 1), SQLITE_CORRUPT_VTAB);
  ck_assert_int_lt(sqlite3_memory_highwater(0), 100000);
  tide_buf_clear(&limit);
}
END_TEST

START_TEST(malformed_frames_are_corrupt) {
  static const unsigned char good[] = {0, TIDE_VAL_INT, TIDE_INTCOL_OFFSET_BITS, 2, 10, 0x18, 0};
  ck_assert_int_eq(decode(good, 6, 3), SQLITE_OK);
  ck_assert_int_eq(decode(good, 7, 3), SQLITE_CORRUPT_VTAB); /* a byte behind the last section */
  for (size_t size = 0; size < 6; size++)
    ck_assert_int_eq(decode(good, size, 3), SQLITE_CORRUPT_VTAB);
  ck_assert_int_eq(decode((const unsigned char[]){3, 1, 0, 0}, 4, 3), SQLITE_CORRUPT_VTAB); /* no such packing */
  /* numbers beside the section, one bit each: 5 and 5 + 1 0 1 */
  static const unsigned char split[] = {TIDE_FRAME_SPLIT, 1, 0x05, 0, TIDE_VAL_INT, TIDE_INTCOL_OFFSET_BESIDE, 1, 10};
  ck_assert_int_eq(decode(split, sizeof split, 3), SQLITE_OK);
  for (size_t size = 0; size < sizeof split; size++)
    ck_assert_int_eq(decode(split, size, 3), SQLITE_CORRUPT_VTAB);
  ck_assert_int_eq(decode(split, sizeof split, 9), SQLITE_CORRUPT_VTAB); /* nine bits are not there */
  ck_assert_int_eq(decode((const unsigned char[]){2, 1, 5, 0, TIDE_VAL_INT, 0, 10}, 7, 3),
                   SQLITE_CORRUPT_VTAB); /* bits that nobody takes */
  ck_assert_int_eq(decode((const unsigned char[]){2, 0, 2, 0, 0, TIDE_VAL_NULL}, 6, 3), SQLITE_CORRUPT_VTAB);
  ck_assert_int_eq(decode((const unsigned char[]){1, 0, 0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0}, 11, 1),
                   SQLITE_CORRUPT_VTAB);
  struct tide_err err = {0};
  int64_t values[3];
  struct tide_frame_decoder *decoder = tide_frame_decoder_create(&err);
  static const unsigned char nulls[] = {0, TIDE_VAL_NULL};
  ck_assert_int_eq(decode(nulls, sizeof nulls, 3), SQLITE_OK);
  ck_assert_int_eq(tide_frame_decode_ints(decoder, nulls, sizeof nulls, 3, values, &err), SQLITE_CORRUPT_VTAB);
  tide_frame_decoder_destroy(decoder);
}
END_TEST

/* What a sanitizer would find in the decoders: any bytes give an error or values that can be read. */
START_TEST(any_bytes_are_survived) {
  struct tide_err err = {0};
  struct tide_frame_encoder *encoder = tide_frame_encoder_create(1, &err);
  struct tide_frame_decoder *decoder = tide_frame_decoder_create(&err);
  struct tide_vec back = {0};
  size_t fine = 0;
  for (size_t round = 0; round < 5000; round++) {
    size_t rows = 1 + round % 60, change = 1 + next_random() % 4;
    struct tide_vec vec = random_column(rows, 1 + round % 31);
    struct tide_buf out = {0};
    tide_frame_encode(encoder, NULL, &vec, 0, rows, &out, &err);
    if (out.data[0] == TIDE_FRAME_STORED)
      while (change-- > 0)
        out.data[1 + next_random() % (out.len - 1)] = (unsigned char)(next_random() >> 60 ? next_random() : 0xff);
    unsigned char *exact = malloc(out.len);
    memcpy(exact, out.data, out.len);
    struct tide_err damage = {0};
    if (tide_frame_decode(decoder, NULL, exact, out.len, rows, NULL, &back, &damage) == 0) {
      assert_same(&back, 0, &back, rows); /* reads every byte */
      fine++;
    } else {
      ck_assert_int_eq(damage.rc, SQLITE_CORRUPT_VTAB);
    }
    free(exact);
    tide_vec_clear(&vec);
    tide_buf_clear(&out);
  }
  assert_ok(err);
  ck_assert_uint_gt(fine, 100);
  tide_vec_clear(&back);
  tide_frame_encoder_destroy(encoder);
  tide_frame_decoder_destroy(decoder);
}
END_TEST

static void there_and_back(const struct tide_vec *vec, size_t rows, struct tide_err *err) {
  struct tide_buf out = {0};
  struct tide_vec back = {0};
  struct tide_frame_encoder *encoder = tide_frame_encoder_create(3, err);
  if (encoder != NULL)
    tide_frame_encode(encoder, NULL, vec, 0, rows, &out, err);
  struct tide_frame_decoder *decoder = tide_err_is_set(err) ? NULL : tide_frame_decoder_create(err);
  if (decoder != NULL && tide_frame_decode(decoder, NULL, out.data, out.len, rows, NULL, &back, err) == 0)
    assert_same(vec, 0, &back, rows);
  tide_frame_decoder_destroy(decoder);
  tide_frame_encoder_destroy(encoder);
  tide_vec_clear(&back);
  tide_buf_clear(&out);
}

START_TEST(every_failed_allocation_is_no_memory) {
  oom_install();
  struct tide_vec vec = random_column(700, 0x1f);
  long start = oom_live(), n = 1;
  for (;; n++) {
    struct tide_err err = {0};
    oom_fail_at(n);
    there_and_back(&vec, 700, &err);
    ck_assert_int_eq(oom_live(), start);
    if (!oom_has_failed()) {
      assert_ok(err);
      break;
    }
    ck_assert_int_eq(err.rc, SQLITE_NOMEM);
  }
  oom_fail_at(0);
  ck_assert_int_gt(n, 15);
  tide_vec_clear(&vec);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {
      a_frame_by_hand,         frames_of_every_mix_come_back,         equal_rows_give_equal_bytes,
      a_huge_value_comes_back, a_size_that_cannot_be_takes_no_memory, malformed_frames_are_corrupt,
      any_bytes_are_survived,  every_failed_allocation_is_no_memory,  NULL};
  return unit_main("frame", tests);
}
