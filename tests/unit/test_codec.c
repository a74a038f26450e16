#include <math.h>
#include <string.h>

#include "base/sqlite.h"
#include "codec/bitpack.h"
#include "codec/intcol.h"
#include "codec/realcol.h"
#include "codec/tagcol.h"
#include "codec/textcol.h"
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

/* ---- bitpack ---- */

START_TEST(bits_lie_low_ones_first) {
  static const uint64_t values[] = {1, 2, 3, 4};
  unsigned char out[2];
  ck_assert_uint_eq(tide_bitpack_size(4, 3), 2);
  tide_bitpack_put(values, 4, 3, out);
  ck_assert_uint_eq(out[0], 0xd1); /* 11'010'001 */
  ck_assert_uint_eq(out[1], 0x08); /* 0000'100'0 */
}
END_TEST

/* Bit by bit, as the header draws it. */
static void put_slowly(const uint64_t *values, size_t n, unsigned width, unsigned char *out) {
  memset(out, 0, (n * width + 7) / 8);
  for (size_t i = 0; i < n; i++)
    for (unsigned bit = 0; bit < width; bit++)
      if (values[i] >> bit & 1)
        out[(i * width + bit) / 8] |= (unsigned char)(1u << (i * width + bit) % 8);
}

START_TEST(every_width_comes_back) {
  for (unsigned width = 0; width <= 64; width++) {
    for (size_t n = 0; n < 70; n++) {
      uint64_t values[70], back[70];
      for (size_t i = 0; i < n; i++)
        values[i] = width == 0 ? 0 : next_random() >> (64 - width);
      size_t size = tide_bitpack_size(n, width);
      ck_assert_uint_eq(size, (n * width + 7) / 8);
      unsigned char *slow = malloc(size + 1), *out = malloc(size > 0 ? size : 1); /* exact, for the sanitizer */
      put_slowly(values, n, width, slow);
      tide_bitpack_put(values, n, width, out);
      ck_assert(size == 0 || memcmp(out, slow, size) == 0);
      tide_bitpack_get(out, n, width, back);
      ck_assert(n == 0 || memcmp(values, back, n * sizeof *values) == 0);
      free(out);
      free(slow);
    }
  }
}
END_TEST

START_TEST(planes_lie_low_bytes_first) {
  static const uint64_t values[] = {0x010203, 0x040506};
  static const unsigned char expected[] = {0x03, 0x06, 0x02, 0x05, 0x01, 0x04};
  unsigned char out[6];
  uint64_t back[2];
  tide_planes_put(values, 2, 3, 2, out);
  ck_assert_mem_eq(out, expected, sizeof expected);
  tide_planes_get(out, 2, 3, back);
  ck_assert_mem_eq(back, values, sizeof values);
}
END_TEST

/* ---- integers ---- */

static void write_ints(const int64_t *values, size_t n, struct tide_body *out) {
  struct tide_err err = {0};
  tide_body_reset(out);
  tide_intcol_write(NULL, values, n, out, &err);
  assert_ok(err);
}

START_TEST(integers_take_the_smallest_layout) {
  struct tide_body out = {0};
  write_ints((const int64_t[]){-3, -3, -3}, 3, &out);
  assert_bytes(out.sections, TIDE_INTCOL_CONSTANT, 5);
  write_ints((const int64_t[]){5, 7, 6}, 3, &out); /* 0 2 1 above 5 */
  assert_bytes(out.sections, TIDE_INTCOL_OFFSET_BITS, 2, 10, 0x18);
  write_ints((const int64_t[]){100, 200, 300, 400, 500}, 5, &out); /* each 100 above the last */
  assert_bytes(out.sections, TIDE_INTCOL_DELTA_BITS, 0, 0xc8, 0x01, 0xc8, 0x01);
  ck_assert_uint_eq(out.bits.len, 0);
  tide_body_clear(&out);
}
END_TEST

/* Reads a section and gives whether it is well-formed and read to its end. */
static bool read_ints(const struct tide_body *body, size_t n, int64_t *ret_values) {
  struct tide_body_rd rd = {tide_rd_over(body->sections.data, body->sections.len),
                            tide_rd_over(body->bits.data, body->bits.len)};
  tide_intcol_read(&rd, n, ret_values);
  return !rd.sections.bad && tide_rd_left(&rd.sections) == 0 && tide_rd_left(&rd.bits) == 0;
}

/* Of a section some are asked for: any span of them, or none, and what is behind is read on from the same place. */
static void check_span(const struct tide_body *body, const int64_t *values, size_t n, struct tide_span span) {
  struct tide_body_rd rd = {tide_rd_over(body->sections.data, body->sections.len),
                            tide_rd_over(body->bits.data, body->bits.len)};
  int64_t *back = malloc(n * sizeof *back); /* exact, for the sanitizer */
  tide_intcol_read_span(&rd, n, span, back);
  ck_assert(!rd.sections.bad && tide_rd_left(&rd.sections) == 0 && tide_rd_left(&rd.bits) == 0);
  ck_assert(span.end == 0 ||
            memcmp(back + span.first, values + span.first, (span.end - span.first) * sizeof *back) == 0);
  free(back);
}

static void check_ints(struct tide_trial *trial, const int64_t *values, size_t n) {
  struct tide_err err = {0};
  int64_t *back = malloc(n * sizeof *back);
  for (int kind = -1; kind <= TIDE_INTCOL_DELTA_BESIDE; kind++) {
    struct tide_body out = {0};
    if (kind <= TIDE_INTCOL_CONSTANT)
      tide_intcol_write(kind < 0 ? NULL : trial, values, n, &out, &err);
    else
      tide_intcol_write_as((enum tide_intcol_kind)kind, values, n, &out, &err);
    assert_ok(err);
    ck_assert(read_ints(&out, n, back));
    ck_assert_mem_eq(back, values, n * sizeof *back);
    const size_t end = 1 + next_random() % n;
    check_span(&out, values, n, (struct tide_span){next_random() % end, end});
    check_span(&out, values, n, (struct tide_span){n - 1, n});
    check_span(&out, values, n, (struct tide_span){0, 0});
    tide_body_clear(&out);
  }
  free(back);
}

START_TEST(integers_of_every_range_come_back) {
  static const int64_t extremes[] = {INT64_MIN,     INT64_MAX,    0, -1, 1, INT64_MAX, INT64_MIN,
                                     INT64_MIN + 1, INT64_MAX - 1};
  struct tide_err err = {0};
  struct tide_trial trial;
  tide_trial_init(&trial, &err);
  for (size_t n = 1; n <= sizeof extremes / sizeof *extremes; n++)
    check_ints(&trial, extremes, n);
  for (unsigned range = 0; range < 64; range++) {
    int64_t values[1000];
    size_t n = 1 + next_random() % 1000;
    uint64_t base = next_random();
    for (size_t i = 0; i < n; i++)
      values[i] = (int64_t)(base + (next_random() >> range));
    check_ints(&trial, values, n);
    for (size_t i = 1; i < n; i++)
      values[i] = (int64_t)((uint64_t)values[i - 1] + (next_random() >> range));
    check_ints(&trial, values, n);
  }
  tide_trial_clear(&trial);
}
END_TEST

/* With a trial and without, the kind that 4096 values get. */
static unsigned kind_of(struct tide_trial *trial, const int64_t *values, struct tide_body *out) {
  struct tide_err err = {0};
  tide_body_reset(out);
  tide_intcol_write(trial, values, 4096, out, &err);
  assert_ok(err);
  return out->sections.data[0];
}

START_TEST(integers_that_compress_go_to_planes) {
  int64_t values[4096];
  for (size_t i = 0; i < 4096; i++)
    values[i] =
        (int64_t)(next_random() % 100 == 0 ? 1000000 : next_random() % 3); /* a few large ones among small ones */
  struct tide_err err = {0};
  struct tide_trial trial;
  struct tide_body out = {0};
  tide_trial_init(&trial, &err);
  ck_assert_uint_eq(kind_of(&trial, values, &out), TIDE_INTCOL_OFFSET_PLANES);
  ck_assert_uint_eq(kind_of(NULL, values, &out), TIDE_INTCOL_OFFSET_PLANES);
  for (size_t i = 0; i < 4096; i++)
    values[i] = i < 500 ? (int64_t)(next_random() % 8192) : values[i - 500]; /* no entropy says that they come again */
  ck_assert_uint_eq(kind_of(&trial, values, &out), TIDE_INTCOL_OFFSET_PLANES);
  tide_body_clear(&out);
  tide_trial_clear(&trial);
}
END_TEST

START_TEST(noise_is_kept_from_the_compressor) {
  int64_t values[4096];
  struct tide_err err = {0};
  struct tide_trial trial;
  struct tide_body out = {0};
  tide_trial_init(&trial, &err);
  for (size_t i = 0; i < 4096; i++)
    values[i] = (int64_t)(next_random() % 1024);
  ck_assert_uint_eq(kind_of(&trial, values, &out), TIDE_INTCOL_OFFSET_BESIDE);
  ck_assert_uint_eq(kind_of(NULL, values, &out), TIDE_INTCOL_OFFSET_BESIDE);
  assert_bytes(out.sections, TIDE_INTCOL_OFFSET_BESIDE, 10, 0);
  ck_assert_uint_eq(out.bits.len, 4096 * 10 / 8);
  ck_assert_int_eq(values[0], out.bits.data[0] | (out.bits.data[1] & 3) << 8);
  for (size_t i = 1; i < 4096; i++)
    values[i] += values[i - 1];
  ck_assert_uint_eq(kind_of(NULL, values, &out), TIDE_INTCOL_DELTA_BESIDE);
  tide_body_clear(&out);
  tide_trial_clear(&trial);
}
END_TEST

static bool ints_read(size_t n, const unsigned char *bytes, size_t size) {
  int64_t values[16];
  struct tide_body body = {.sections = {.data = (unsigned char *)(uintptr_t)bytes, .len = size}};
  return read_ints(&body, n, values);
}

START_TEST(damaged_integers_are_refused) {
  static const unsigned char good[] = {TIDE_INTCOL_OFFSET_BITS, 2, 10, 0x18};
  ck_assert(ints_read(3, good, sizeof good));
  for (size_t size = 0; size < sizeof good; size++)
    ck_assert(!ints_read(3, good, size));
  ck_assert(!ints_read(5, good, sizeof good)); /* two bits each do not fit a byte */
  ck_assert(!ints_read(3, (const unsigned char[]){7, 2, 10, 0x18}, 4));
  ck_assert(!ints_read(3, (const unsigned char[]){TIDE_INTCOL_OFFSET_BESIDE, 2, 10}, 3)); /* its bits are not there */
  for (unsigned kind = TIDE_INTCOL_OFFSET_BITS; kind <= TIDE_INTCOL_DELTA_PLANES; kind++) {
    bool planes = kind == TIDE_INTCOL_OFFSET_PLANES || kind == TIDE_INTCOL_DELTA_PLANES;
    unsigned char bytes[200] = {(unsigned char)kind, planes ? 9 : 65}; /* wider than 64 bits */
    ck_assert(!ints_read(16, bytes, sizeof bytes));
    bytes[1] = 0; /* no bits is a constant step; no planes is nothing */
    size_t size = kind == TIDE_INTCOL_DELTA_BITS || kind == TIDE_INTCOL_DELTA_PLANES ? 4 : 3;
    ck_assert(ints_read(16, bytes, size) == !planes);
  }
  for (unsigned kind = TIDE_INTCOL_OFFSET_BESIDE; kind <= TIDE_INTCOL_DELTA_BESIDE; kind++) {
    unsigned char head[4] = {(unsigned char)kind, 65}, bits[200] = {0};
    const size_t size = kind == TIDE_INTCOL_DELTA_BESIDE ? 4 : 3;
    struct tide_body body = {.sections = {.data = head, .len = size}, .bits = {.data = bits, .len = 130}};
    int64_t values[16];
    ck_assert(!read_ints(&body, 16, values)); /* wider than 64 bits */
    head[1] = 64;
    body.bits.len = kind == TIDE_INTCOL_DELTA_BESIDE ? 15 * 8 : 16 * 8;
    ck_assert(read_ints(&body, 16, values));
  }
}
END_TEST

/* ---- reals ---- */

static void check_reals(struct tide_trial *trial, const int64_t *bits, size_t n, int64_t *back) {
  struct tide_err err = {0};
  struct tide_body out = {0};
  tide_realcol_write(trial, bits, n, &out, &err);
  assert_ok(err);
  struct tide_body_rd rd = {tide_rd_over(out.sections.data, out.sections.len),
                            tide_rd_over(out.bits.data, out.bits.len)};
  tide_realcol_read(&rd, n, back);
  ck_assert(!rd.sections.bad && tide_rd_left(&rd.sections) == 0 && tide_rd_left(&rd.bits) == 0);
  ck_assert_mem_eq(back, bits, n * sizeof *bits);
  tide_body_clear(&out);
}

START_TEST(reals_come_back_bit_for_bit) {
  const double special[] = {0.0, -0.0, 1.5, -1e308, 5e-324, (double)INFINITY, -(double)INFINITY, 0.1};
  struct tide_err err = {0};
  struct tide_trial trial;
  tide_trial_init(&trial, &err);
  for (size_t n = 1; n <= 1000; n = n * 3 + 1) {
    int64_t bits[1200], back[1200];
    for (size_t i = 0; i < n; i++)
      bits[i] = i < 8 ? bits_of(special[i]) : bits_of((double)(next_random() % 1000) / 8);
    check_reals(n % 2 ? &trial : NULL, bits, n, back);
  }
  tide_trial_clear(&trial);
}
END_TEST

START_TEST(reals_take_the_layout_that_compresses) {
  int64_t bits[4096];
  struct tide_err err = {0};
  struct tide_trial trial;
  struct tide_body out = {0};
  tide_trial_init(&trial, &err);
  bits[0] = bits[1] = bits_of(1.0); /* 0x3ff0000000000000 */
  tide_realcol_write(&trial, bits, 2, &out, &err);
  assert_bytes(out.sections, TIDE_REALCOL_CONSTANT, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f);
  tide_body_reset(&out);
  bits[1] = bits_of(-0.0);
  tide_realcol_write(&trial, bits, 2, &out, &err);
  assert_bytes(out.sections, TIDE_REALCOL_PLAIN, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0x80);
  tide_body_reset(&out);
  for (size_t i = 0; i < 4096; i++)
    bits[i] = bits_of(20 + (double)(next_random() % 1000003) / 1000003); /* exponents alike, the rest noise */
  tide_realcol_write(&trial, bits, 4096, &out, &err);
  ck_assert_uint_eq(out.sections.data[0], TIDE_REALCOL_PLANES);
  assert_ok(err);
  tide_body_clear(&out);
  tide_trial_clear(&trial);
}
END_TEST

START_TEST(decimals_are_integers) {
  struct tide_err err = {0};
  struct tide_body out = {0};
  const int64_t bits[] = {bits_of(0.25), bits_of(-1.5), bits_of(3.0)}; /* 25 -150 300 in hundredths */
  tide_realcol_write(NULL, bits, 3, &out, &err);
  /* -150 and 0 175 450 above it, nine bits each: 175 is 0'1010'1111, 450 is 1'1100'0010 */
  assert_bytes(out.sections, TIDE_REALCOL_DECIMAL, 2, TIDE_INTCOL_OFFSET_BITS, 9, 0xab, 0x02, 0xaf, 0x00, 0x08, 0x07);
  assert_ok(err);
  tide_body_clear(&out);
}
END_TEST

START_TEST(decimals_of_every_size_come_back) {
  static const double scales[] = {1, 10, 1e3, 1e6, 1e7, 3};
  for (size_t scale = 0; scale < sizeof scales / sizeof *scales; scale++) {
    for (unsigned shift = 0; shift < 63; shift++) {
      int64_t bits[50], back[50];
      for (size_t i = 0; i < 50; i++)
        bits[i] = bits_of((double)((int64_t)next_random() >> shift) / scales[scale]);
      check_reals(NULL, bits, 50, back);
    }
  }
}
END_TEST

static bool reals_read(const unsigned char *bytes, size_t size, size_t n) {
  int64_t back[8];
  struct tide_body_rd rd = {tide_rd_over(bytes, size), tide_rd_over(NULL, 0)};
  tide_realcol_read(&rd, n, back);
  return !rd.sections.bad;
}

START_TEST(damaged_reals_are_refused) {
  unsigned char bytes[17] = {TIDE_REALCOL_PLAIN};
  for (size_t size = 0; size < sizeof bytes; size++)
    ck_assert(!reals_read(bytes, size, 2));
  ck_assert(reals_read(bytes, sizeof bytes, 2));
  bytes[16] = 0x7f;
  bytes[15] = 0xf8; /* a NaN */
  ck_assert(!reals_read(bytes, sizeof bytes, 2));
  bytes[15] = 0xf0; /* infinity */
  ck_assert(reals_read(bytes, sizeof bytes, 2));
  bytes[0] = 4;
  ck_assert(!reals_read(bytes, sizeof bytes, 2));
  ck_assert(reals_read((const unsigned char[]){TIDE_REALCOL_DECIMAL, 6, TIDE_INTCOL_CONSTANT, 14}, 4, 2));
  ck_assert(!reals_read((const unsigned char[]){TIDE_REALCOL_DECIMAL, 7, TIDE_INTCOL_CONSTANT, 14}, 4, 2));
  ck_assert(!reals_read((const unsigned char[]){TIDE_REALCOL_DECIMAL, 6, TIDE_INTCOL_CONSTANT}, 3, 2));
}
END_TEST

/* ---- tags ---- */

static struct tide_buf tags_written(const uint8_t *tags, size_t n) {
  struct tide_err err = {0};
  struct tide_buf out = {0};
  size_t counts[TIDE_VAL_TYPES];
  tide_tagcol_write(tags, n, counts, &out, &err);
  assert_ok(err);
  return out;
}

START_TEST(tags_take_the_smallest_layout) {
  struct tide_buf out = tags_written((const uint8_t[]){4, 4, 4, 4}, 4);
  assert_bytes(out, 4);
  tide_buf_clear(&out);
  /* NULL and TEXT, mask 01001, one bit each: 0 1 0 1 0 */
  out = tags_written((const uint8_t[]){0, 3, 0, 3, 0}, 5);
  assert_bytes(out, TIDE_TAGCOL_BITS, 0x09, 0x0a);
  tide_buf_clear(&out);
  uint8_t runs[1000] = {0};
  memset(runs, 1, 200);
  out = tags_written(runs, sizeof runs);
  assert_bytes(out, TIDE_TAGCOL_RUNS, 0xc8, 0x01, 1, 0xa0, 0x06, 0); /* 200 of 1, 800 of 0 */
  tide_buf_clear(&out);
}
END_TEST

START_TEST(tags_of_every_mix_come_back) {
  for (unsigned round = 0; round < 300; round++) {
    uint8_t tags[1000], back[1000];
    size_t n = 1 + next_random() % 1000, expected[TIDE_VAL_TYPES] = {0}, counts[TIDE_VAL_TYPES];
    unsigned kinds = 1 + round % 5, first = (unsigned)(next_random() % 5), stay = (unsigned)(next_random() % 50);
    for (size_t i = 0; i < n; i++) {
      tags[i] = i > 0 && next_random() % 50 < stay ? tags[i - 1] : (uint8_t)((first + next_random() % kinds) % 5);
      expected[tags[i]]++;
    }
    struct tide_buf out = tags_written(tags, n);
    struct tide_rd rd = tide_rd_over(out.data, out.len);
    tide_tagcol_read(&rd, n, back, counts);
    ck_assert(!rd.bad && tide_rd_left(&rd) == 0);
    ck_assert_mem_eq(back, tags, n);
    ck_assert_mem_eq(counts, expected, sizeof counts);
    tide_buf_clear(&out);
  }
}
END_TEST

static bool tags_read(size_t n, const unsigned char *bytes, size_t size) {
  uint8_t tags[64];
  size_t counts[TIDE_VAL_TYPES];
  struct tide_rd rd = tide_rd_over(bytes, size);
  tide_tagcol_read(&rd, n, tags, counts);
  return !rd.bad && tide_rd_left(&rd) == 0;
}
#define tags_ok(n, ...) tags_read(n, (const unsigned char[]){__VA_ARGS__}, sizeof((const unsigned char[]){__VA_ARGS__}))

START_TEST(damaged_tags_are_refused) {
  ck_assert(tags_ok(5, 4));
  ck_assert(!tags_ok(5, 5));
  ck_assert(!tags_read(5, NULL, 0));
  ck_assert(tags_ok(5, TIDE_TAGCOL_BITS, 0x09, 0x0a));
  ck_assert(!tags_ok(5, TIDE_TAGCOL_BITS, 0x09));       /* no bits */
  ck_assert(!tags_ok(5, TIDE_TAGCOL_BITS, 0x29, 0x0a)); /* a sixth type */
  ck_assert(!tags_ok(5, TIDE_TAGCOL_BITS, 0x01, 0x0a)); /* one type alone */
  ck_assert(!tags_ok(2, TIDE_TAGCOL_BITS, 0x07, 0x0f)); /* the fourth of three types */
  ck_assert(tags_ok(5, TIDE_TAGCOL_RUNS, 2, 1, 3, 0));
  ck_assert(!tags_ok(5, TIDE_TAGCOL_RUNS, 2, 1, 4, 0)); /* one row too many */
  ck_assert(!tags_ok(5, TIDE_TAGCOL_RUNS, 2, 1, 2, 0)); /* one too few */
  ck_assert(!tags_ok(5, TIDE_TAGCOL_RUNS, 0, 1, 5, 0)); /* an empty run */
  ck_assert(!tags_ok(5, TIDE_TAGCOL_RUNS, 2, 5, 3, 0)); /* a sixth type */
  ck_assert(!tags_ok(5, 0x12, 2, 1, 3, 0));
}
END_TEST

/* ---- texts ---- */

static struct tide_slice slice_of(const char *text) {
  return (struct tide_slice){(const unsigned char *)text, (uint32_t)strlen(text)};
}

START_TEST(texts_are_plain_or_a_dictionary) {
  struct tide_err err = {0};
  struct tide_body out = {0};
  struct tide_textcol_scratch scratch = {0};
  struct tide_slice slices[8] = {slice_of("ab"), slice_of("c"), slice_of("")};
  tide_textcol_write(&scratch, NULL, NULL, slices, 3, &out, &err);
  /* lengths 2 1 0 fall by one: two bits each; then the bytes */
  assert_bytes(out.sections, TIDE_TEXTCOL_PLAIN, TIDE_INTCOL_OFFSET_BITS, 2, 0, 0x06, 'a', 'b', 'c');
  tide_body_reset(&out);
  for (size_t i = 0; i < 8; i++)
    slices[i] = slice_of(i == 3 ? "warning" : "info");
  tide_textcol_write(&scratch, NULL, NULL, slices, 8, &out, &err);
  assert_bytes(out.sections, TIDE_TEXTCOL_DICTIONARY, 2, TIDE_INTCOL_OFFSET_BITS, 2, 8, 0x0c, 'i', 'n', 'f', 'o', 'w',
               'a', 'r', 'n', 'i', 'n', 'g', TIDE_INTCOL_OFFSET_BITS, 1, 0, 0x08);
  assert_ok(err);
  tide_body_clear(&out);
  tide_textcol_scratch_clear(&scratch);
}
END_TEST

/* Reads a section of texts, whose views come to lie in `into`, which the caller clears. */
static bool read_texts(size_t n, const unsigned char *bytes, size_t size, struct tide_buf *into, int64_t *ret_offsets,
                       uint32_t *ret_sizes) {
  struct tide_err err = {0};
  struct tide_textcol_reader reader = {0};
  tide_buf_put(into, bytes, size, &err);
  struct tide_body_rd rd = {tide_rd_over(into->data, into->len), tide_rd_over(NULL, 0)};
  tide_textcol_read(&reader, NULL, &rd, n, NULL, into, ret_offsets, ret_sizes, &err);
  tide_textcol_reader_clear(&reader);
  assert_ok(err);
  return !rd.sections.bad && tide_rd_left(&rd.sections) == 0;
}

START_TEST(texts_of_a_dictionary_share_their_bytes) {
  static const unsigned char bytes[] = {
      TIDE_TEXTCOL_DICTIONARY, 2, TIDE_INTCOL_CONSTANT, 4, 'h', 'i', 'h', 'o', TIDE_INTCOL_OFFSET_BITS, 1, 0, 0x05};
  struct tide_buf into = {0};
  int64_t offsets[3];
  uint32_t sizes[3];
  ck_assert(read_texts(3, bytes, sizeof bytes, &into, offsets, sizes));
  ck_assert_int_eq(offsets[0], 6); /* indexes 1 0 1 */
  ck_assert_int_eq(offsets[1], 4);
  ck_assert_int_eq(offsets[2], 6);
  ck_assert_uint_eq(sizes[0], 2);
  tide_buf_clear(&into);
}
END_TEST

static bool texts_read(size_t n, const unsigned char *bytes, size_t size) {
  int64_t offsets[16];
  uint32_t sizes[16];
  struct tide_buf into = {0};
  const bool fine = read_texts(n, bytes, size, &into, offsets, sizes);
  tide_buf_clear(&into);
  return fine;
}
#define texts_ok(n, ...)                                                                                               \
  texts_read(n, (const unsigned char[]){__VA_ARGS__}, sizeof((const unsigned char[]){__VA_ARGS__}))

START_TEST(damaged_texts_are_refused) {
  enum { C = TIDE_INTCOL_CONSTANT, B = TIDE_INTCOL_OFFSET_BITS };
  ck_assert(texts_ok(3, 0, C, 2, 'a', 'b', 'c'));
  ck_assert(!texts_ok(3, 0, C, 2, 'a', 'b'));                  /* three bytes are not there */
  ck_assert(!texts_ok(3, 0, C, 1, 'a', 'b', 'c'));             /* a length of -1 */
  ck_assert(!texts_ok(1, 0, C, 0x80, 0x80, 0x80, 0x80, 0x20)); /* a length of 2^32 */
  ck_assert(!texts_ok(3, 4, C, 2, 'a', 'b', 'c'));
  ck_assert(!texts_ok(3, 2, 1, 1, C, 2, C, 0, C, 0)); /* templates, of a column without any */
  ck_assert(texts_ok(3, 1, 2, C, 2, 'a', 'b', B, 1, 0, 0x05));
  ck_assert(!texts_ok(3, 1, 2, C, 2, 'a', 'b', B, 1, 2, 0x05)); /* indexes 2 1 2 of two */
  ck_assert(!texts_ok(3, 1, 2, C, 2, 'a', 'b', C, 1));          /* indexes -1 */
  ck_assert(!texts_ok(3, 1, 0, C, 2, C, 0));                    /* no entries */
  ck_assert(!texts_ok(3, 1, 4, C, 0, C, 0));                    /* more entries than values */
  ck_assert(!texts_ok(3, 1, 2, C, 6, 'a', 'b', C, 0));          /* their bytes are not there */
}
END_TEST

int main(void) {
  const TTest *const tests[] = {bits_lie_low_ones_first,
                                every_width_comes_back,
                                planes_lie_low_bytes_first,
                                integers_take_the_smallest_layout,
                                integers_of_every_range_come_back,
                                integers_that_compress_go_to_planes,
                                noise_is_kept_from_the_compressor,
                                damaged_integers_are_refused,
                                reals_come_back_bit_for_bit,
                                reals_take_the_layout_that_compresses,
                                decimals_are_integers,
                                decimals_of_every_size_come_back,
                                damaged_reals_are_refused,
                                tags_take_the_smallest_layout,
                                tags_of_every_mix_come_back,
                                damaged_tags_are_refused,
                                texts_are_plain_or_a_dictionary,
                                texts_of_a_dictionary_share_their_bytes,
                                damaged_texts_are_refused,
                                NULL};
  return unit_main("codec", tests);
}
