#include "codec/chunk.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "codec/intcol.h"
#include "codec/realcol.h"
#include "codec/tagcol.h"
#include "codec/textcol.h"

enum { ROWS_MAX = 1 << 20, ZSTD_BODY_MIN = 32, ZSTD_GAIN = 16 };

/* ---- encoding ---- */

struct tide_frame_encoder {
  struct tide_zpress *press;
  struct tide_trial trial;
  struct tide_body body;
  struct tide_textcol_scratch texts;
  int64_t *numbers; /* of one type, gathered */
  size_t numbers_cap;
  struct tide_slice *slices;
  size_t slices_cap;
};

struct tide_frame_encoder *tide_frame_encoder_create(int zstd_level, struct tide_err *err) {
  struct tide_frame_encoder *encoder = tide_alloc_zero(1, sizeof *encoder, err);
  if (encoder == NULL)
    return NULL;
  encoder->press = tide_zpress_create(zstd_level, err);
  if (encoder->press == NULL || tide_trial_init(&encoder->trial, err) != 0) {
    tide_frame_encoder_destroy(encoder);
    return NULL;
  }
  return encoder;
}

void tide_frame_encoder_destroy(struct tide_frame_encoder *encoder) {
  if (encoder == NULL)
    return;
  tide_zpress_destroy(encoder->press);
  tide_trial_clear(&encoder->trial);
  tide_body_clear(&encoder->body);
  tide_textcol_scratch_clear(&encoder->texts);
  tide_free(encoder->numbers);
  tide_free(encoder->slices);
  tide_free(encoder);
}

/* The numbers of the rows that have a tag: those of the column itself when all do. NULL when err is set. */
static const int64_t *gather_numbers(struct tide_frame_encoder *encoder, const struct tide_vec *vec, size_t first,
                                     size_t rows, uint8_t tag, size_t count, struct tide_err *err) {
  if (count == rows)
    return vec->num + first;
  void *block = encoder->numbers;
  int rc = tide_grow(&block, &encoder->numbers_cap, rows, sizeof *encoder->numbers, err);
  encoder->numbers = block;
  if (rc != 0)
    return NULL;
  size_t n = 0;
  for (size_t i = first; i < first + rows; i++)
    if (vec->tag[i] == tag)
      encoder->numbers[n++] = vec->num[i];
  return encoder->numbers;
}

static const struct tide_slice *gather_slices(struct tide_frame_encoder *encoder, const struct tide_vec *vec,
                                              size_t first, size_t rows, struct tide_err *err) {
  void *block = encoder->slices;
  int rc = tide_grow(&block, &encoder->slices_cap, rows, sizeof *encoder->slices, err);
  encoder->slices = block;
  if (rc != 0)
    return NULL;
  size_t n = 0;
  for (size_t i = first; i < first + rows; i++) {
    if (vec->tag[i] < TIDE_VAL_TEXT)
      continue;
    const unsigned char *bytes = vec->size[i] > 0 ? vec->base + vec->num[i] : (const unsigned char *)"";
    encoder->slices[n++] = (struct tide_slice){bytes, vec->size[i]};
  }
  return encoder->slices;
}

static void write_body(struct tide_frame_encoder *encoder, struct tide_template_set *set, const struct tide_vec *vec,
                       size_t first, size_t rows, struct tide_err *err) {
  struct tide_body *body = &encoder->body;
  size_t counts[TIDE_VAL_TYPES];
  tide_tagcol_write(vec->tag + first, rows, counts, &body->sections, err);
  if (counts[TIDE_VAL_INT] > 0) {
    const int64_t *values = gather_numbers(encoder, vec, first, rows, TIDE_VAL_INT, counts[TIDE_VAL_INT], err);
    if (values != NULL)
      tide_intcol_write(&encoder->trial, values, counts[TIDE_VAL_INT], body, err);
  }
  if (counts[TIDE_VAL_REAL] > 0) {
    const int64_t *bits = gather_numbers(encoder, vec, first, rows, TIDE_VAL_REAL, counts[TIDE_VAL_REAL], err);
    if (bits != NULL)
      tide_realcol_write(&encoder->trial, bits, counts[TIDE_VAL_REAL], body, err);
  }
  size_t texts = counts[TIDE_VAL_TEXT] + counts[TIDE_VAL_BLOB];
  if (texts > 0) {
    const struct tide_slice *slices = gather_slices(encoder, vec, first, rows, err);
    if (slices != NULL)
      tide_textcol_write(&encoder->texts, &encoder->trial, set, slices, texts, body, err);
  }
}

/* Appends the sections, compressed when that saves a sixteenth: below it the time to decompress is not paid for. */
static void write_sections(struct tide_frame_encoder *encoder, struct tide_buf *out, struct tide_err *err) {
  const struct tide_buf *sections = &encoder->body.sections;
  size_t start = out->len;
  if (sections->len >= ZSTD_BODY_MIN && !tide_err_is_set(err)) {
    tide_buf_put_u8(out, TIDE_FRAME_ZSTD, err);
    tide_buf_put_varint(out, sections->len, err);
    tide_zpress_frame(encoder->press, sections->data, sections->len, out, err);
    if (out->len - start <= sections->len - sections->len / ZSTD_GAIN)
      return;
    out->len = start;
  }
  tide_buf_put_u8(out, TIDE_FRAME_STORED, err);
  tide_buf_put(out, sections->data, sections->len, err);
}

static int write_frame(struct tide_frame_encoder *encoder, struct tide_buf *out, struct tide_err *err) {
  const struct tide_buf *bits = &encoder->body.bits;
  if (bits->len > 0) {
    tide_buf_put_u8(out, TIDE_FRAME_SPLIT, err);
    tide_buf_put_varint(out, bits->len, err);
    tide_buf_put(out, bits->data, bits->len, err);
  }
  write_sections(encoder, out, err);
  return err->rc;
}

int tide_frame_encode(struct tide_frame_encoder *encoder, struct tide_template_set *set, const struct tide_vec *vec,
                      size_t first, size_t rows, struct tide_buf *out, struct tide_err *err) {
  assert(rows > 0 && rows <= ROWS_MAX);
  tide_body_reset(&encoder->body);
  write_body(encoder, set, vec, first, rows, err);
  return write_frame(encoder, out, err);
}

int tide_frame_encode_ints(struct tide_frame_encoder *encoder, const int64_t *values, size_t rows, struct tide_buf *out,
                           struct tide_err *err) {
  assert(rows > 0 && rows <= ROWS_MAX);
  tide_body_reset(&encoder->body);
  tide_buf_put_u8(&encoder->body.sections, TIDE_VAL_INT, err);
  tide_intcol_write(&encoder->trial, values, rows, &encoder->body, err);
  return write_frame(encoder, out, err);
}

int tide_frame_encode_templates(struct tide_frame_encoder *encoder, const struct tide_template_set *set,
                                struct tide_buf *out, struct tide_err *err) {
  if (set->nnumbered == 0)
    return err->rc;
  tide_body_reset(&encoder->body);
  tide_template_set_put(set, &encoder->trial, &encoder->body, err);
  return write_frame(encoder, out, err);
}

/* ---- decoding ---- */

struct tide_frame_decoder {
  struct tide_zpand *pand;
  struct tide_buf body; /* for integers, which leave nothing behind in it */
  int64_t *numbers;     /* of the rows of one type, before they are spread over all rows */
  uint32_t *sizes;
  uint8_t *wanted; /* of them */
  size_t cap;      /* rows that these have room for */
  struct tide_textcol_reader texts;
};

struct tide_frame_decoder *tide_frame_decoder_create(struct tide_err *err) {
  return tide_alloc_zero(1, sizeof(struct tide_frame_decoder), err);
}

static void free_scratch(struct tide_frame_decoder *decoder) {
  tide_free(decoder->numbers);
  tide_free(decoder->sizes);
  tide_free(decoder->wanted);
  decoder->numbers = NULL;
  decoder->sizes = NULL;
  decoder->wanted = NULL;
  decoder->cap = 0;
}

void tide_frame_decoder_destroy(struct tide_frame_decoder *decoder) {
  if (decoder == NULL)
    return;
  tide_zpand_destroy(decoder->pand);
  tide_buf_clear(&decoder->body);
  free_scratch(decoder);
  tide_textcol_reader_clear(&decoder->texts);
  tide_free(decoder);
}

static int reserve_scratch(struct tide_frame_decoder *decoder, size_t rows, struct tide_err *err) {
  if (decoder->cap >= rows || tide_err_is_set(err))
    return err->rc;
  free_scratch(decoder);
  decoder->numbers = tide_realloc(NULL, rows, sizeof *decoder->numbers, err);
  decoder->sizes = tide_realloc(NULL, rows, sizeof *decoder->sizes, err);
  decoder->wanted = tide_realloc(NULL, rows, 1, err);
  if (!tide_err_is_set(err))
    decoder->cap = rows;
  return err->rc;
}

static int corrupt(const char *what, struct tide_err *err) {
  tide_err_set(err, SQLITE_CORRUPT_VTAB, "%s", what);
  return err->rc;
}

/* What a frame's head says: its bits, and how its sections are packed. */
struct packed {
  struct tide_rd bits;
  struct tide_rd rest; /* the sections as they are stored */
  bool is_zstd;
  uint64_t raw_size; /* of the sections: not more than bytes of that size can give */
};

static int read_head(const void *bytes, size_t size, struct packed *ret_packed, struct tide_err *err) {
  struct tide_rd rd = tide_rd_over(bytes, size), bits = tide_rd_over(NULL, 0);
  uint8_t packing = tide_rd_u8(&rd);
  if (packing == TIDE_FRAME_SPLIT) {
    const size_t bits_size = (size_t)tide_rd_varint_max(&rd, tide_rd_left(&rd));
    const unsigned char *at = tide_rd_bytes(&rd, bits_size);
    if (at != NULL)
      bits = tide_rd_over(at, bits_size);
    packing = tide_rd_u8(&rd);
  }
  if (rd.bad || packing > TIDE_FRAME_ZSTD)
    return corrupt("unknown kind of frame", err);
  const bool is_zstd = packing == TIDE_FRAME_ZSTD;
  const uint64_t raw_size = is_zstd ? tide_rd_varint(&rd) : tide_rd_left(&rd);
  if (is_zstd && (rd.bad || raw_size == 0 || raw_size > (uint64_t)tide_rd_left(&rd) * TIDE_FRAME_RATIO_MAX ||
                  raw_size > TIDE_FRAME_SIZE_MAX || !tide_zframe_states(rd.at, tide_rd_left(&rd), raw_size)))
    return corrupt("the frame states a size that it cannot have", err);
  *ret_packed = (struct packed){.bits = bits, .rest = rd, .is_zstd = is_zstd, .raw_size = raw_size};
  return 0;
}

static int unpack(struct tide_frame_decoder *decoder, const struct packed *packed, struct tide_buf *sections,
                  struct tide_err *err) {
  const size_t size = tide_rd_left(&packed->rest);
  tide_buf_reset(sections);
  if (!packed->is_zstd) {
    tide_buf_put(sections, packed->rest.at, size, err);
    return err->rc;
  }
  if (decoder->pand == NULL)
    decoder->pand = tide_zpand_create(err);
  if (decoder->pand == NULL || tide_buf_reserve(sections, (size_t)packed->raw_size, err) != 0)
    return err->rc;
  sections->len = (size_t)packed->raw_size;
  return tide_zpand_frame(decoder->pand, packed->rest.at, size, sections->data, sections->len, err);
}

/* Fills `sections`, and ret_bits with a view of the frame's bits. */
static int open_frame(struct tide_frame_decoder *decoder, const void *bytes, size_t size, struct tide_buf *sections,
                      struct tide_rd *ret_bits, struct tide_err *err) {
  struct packed packed;
  if (read_head(bytes, size, &packed, err) != 0)
    return err->rc;
  *ret_bits = packed.bits;
  return unpack(decoder, &packed, sections, err);
}

static bool is_read_up(const struct tide_body_rd *rd) {
  return !rd->sections.bad && tide_rd_left(&rd->sections) == 0 && tide_rd_left(&rd->bits) == 0;
}

int tide_frame_decode_templates(struct tide_frame_decoder *decoder, const void *bytes, size_t size,
                                struct tide_template_book *book, struct tide_err *err) {
  struct packed packed;
  if (read_head(bytes, size, &packed, err) != 0)
    return err->rc;
  if (packed.raw_size > TIDE_TEMPLATES_SECTION_MAX)
    return corrupt("the templates state a size that they cannot have", err);
  if (tide_buf_reserve(&book->bytes, (size_t)packed.raw_size + TIDE_TEMPLATE_SLACK, err) != 0 ||
      unpack(decoder, &packed, &book->bytes, err) != 0)
    return err->rc;
  return tide_template_book_parse(book, packed.bits, err);
}

/* Gives each row with one of the tags (low to high) the next of the gathered numbers; sizes may be NULL. */
static void spread(struct tide_vec *vec, size_t rows, uint8_t low, uint8_t high, const int64_t *numbers,
                   const uint32_t *sizes) {
  size_t next = 0;
  for (size_t i = 0; i < rows; i++) {
    if (vec->tag[i] < low || vec->tag[i] > high)
      continue;
    vec->num[i] = numbers[next];
    if (sizes != NULL)
      vec->size[i] = sizes[next];
    next++;
  }
}

/* Which of the texts and blobs among the rows are asked for. */
static const uint8_t *wanted_texts(struct tide_frame_decoder *decoder, const struct tide_vec *vec, size_t rows,
                                   const uint8_t *wanted) {
  size_t next = 0;
  for (size_t i = 0; wanted != NULL && i < rows; i++) {
    if (vec->tag[i] == TIDE_VAL_TEXT || vec->tag[i] == TIDE_VAL_BLOB)
      decoder->wanted[next++] = wanted[i];
  }
  return wanted != NULL ? decoder->wanted : NULL;
}

static void read_texts(struct tide_frame_decoder *decoder, const struct tide_template_book *book,
                       struct tide_body_rd *rd, size_t rows, size_t texts, const uint8_t *wanted, struct tide_vec *vec,
                       struct tide_err *err) {
  if (texts == rows) {
    tide_textcol_read(&decoder->texts, book, rd, texts, wanted, &vec->bytes, vec->num, vec->size, err);
    return;
  }
  wanted = wanted_texts(decoder, vec, rows, wanted);
  tide_textcol_read(&decoder->texts, book, rd, texts, wanted, &vec->bytes, decoder->numbers, decoder->sizes, err);
  if (!rd->sections.bad && !tide_err_is_set(err))
    spread(vec, rows, TIDE_VAL_TEXT, TIDE_VAL_BLOB, decoder->numbers, decoder->sizes);
}

/* Reads the sections behind the tags. Those of one type that fills all rows go straight to the column. */
static void read_values(struct tide_frame_decoder *decoder, const struct tide_template_book *book,
                        struct tide_body_rd *rd, size_t rows, const size_t *counts, const uint8_t *wanted,
                        struct tide_vec *vec, struct tide_err *err) {
  size_t ints = counts[TIDE_VAL_INT], reals = counts[TIDE_VAL_REAL];
  size_t texts = counts[TIDE_VAL_TEXT] + counts[TIDE_VAL_BLOB];
  bool mixed = ints < rows && reals < rows && texts < rows;
  int64_t *numbers = mixed ? decoder->numbers : vec->num;
  if (mixed)
    memset(vec->num, 0, rows * sizeof *vec->num);
  if (texts < rows)
    memset(vec->size, 0, rows * sizeof *vec->size);
  if (ints > 0) {
    tide_intcol_read_span(rd, ints, tide_wanted_span(mixed ? NULL : wanted, ints), numbers);
    if (mixed && !rd->sections.bad)
      spread(vec, rows, TIDE_VAL_INT, TIDE_VAL_INT, numbers, NULL);
  }
  if (reals > 0 && !rd->sections.bad) {
    tide_realcol_read(rd, reals, numbers);
    if (mixed && !rd->sections.bad)
      spread(vec, rows, TIDE_VAL_REAL, TIDE_VAL_REAL, numbers, NULL);
  }
  if (texts > 0 && !rd->sections.bad)
    read_texts(decoder, book, rd, rows, texts, wanted, vec, err);
}

int tide_frame_decode(struct tide_frame_decoder *decoder, const struct tide_template_book *book, const void *bytes,
                      size_t size, size_t rows, const uint8_t *wanted, struct tide_vec *vec, struct tide_err *err) {
  assert(rows > 0 && rows <= ROWS_MAX);
  struct tide_body_rd rd;
  if (tide_vec_reserve(vec, rows, err) != 0 || reserve_scratch(decoder, rows, err) != 0 ||
      open_frame(decoder, bytes, size, &vec->bytes, &rd.bits, err) != 0)
    return err->rc;
  rd.sections = tide_rd_over(vec->bytes.data, vec->bytes.len);
  size_t counts[TIDE_VAL_TYPES];
  tide_tagcol_read(&rd.sections, rows, vec->tag, counts);
  if (!rd.sections.bad)
    read_values(decoder, book, &rd, rows, counts, wanted, vec, err);
  vec->base = vec->bytes.data;
  if (!tide_err_is_set(err) && !is_read_up(&rd))
    corrupt("the frame does not hold what its rows need", err);
  return err->rc;
}

int tide_frame_decode_ints(struct tide_frame_decoder *decoder, const void *bytes, size_t size, size_t rows,
                           int64_t *ret_values, struct tide_err *err) {
  assert(rows > 0 && rows <= ROWS_MAX);
  struct tide_body_rd rd;
  if (open_frame(decoder, bytes, size, &decoder->body, &rd.bits, err) != 0)
    return err->rc;
  rd.sections = tide_rd_over(decoder->body.data, decoder->body.len);
  if (tide_rd_u8(&rd.sections) != TIDE_VAL_INT)
    rd.sections.bad = true;
  tide_intcol_read(&rd, rows, ret_values);
  if (!is_read_up(&rd))
    corrupt("the frame does not hold what its rows need", err);
  return err->rc;
}
