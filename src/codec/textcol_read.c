#include "codec/textcol.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "codec/intcol.h"

void tide_textcol_reader_clear(struct tide_textcol_reader *reader) {
  tide_templatecol_clear(&reader->templates);
  tide_free(reader->entries);
  tide_free(reader->sizes);
  tide_free(reader->others);
  tide_free(reader->others_sizes);
  *reader = (struct tide_textcol_reader){0};
}

/* Room for so many places and sizes. */
static int reserve(int64_t **offsets, size_t *offsets_cap, uint32_t **sizes, size_t *sizes_cap, size_t count,
                   struct tide_err *err) {
  void *block = *offsets, *sizes_block = *sizes;
  if (tide_grow(&block, offsets_cap, count, sizeof **offsets, err) == 0)
    tide_grow(&sizes_block, sizes_cap, count, sizeof **sizes, err);
  *offsets = block;
  *sizes = sizes_block;
  return err->rc;
}

/* Takes the bytes of n values whose lengths are in `numbers`, and turns these into offsets from base. */
static void read_bytes(struct tide_rd *rd, size_t n, const unsigned char *base, int64_t *numbers, uint32_t *ret_sizes) {
  uint64_t total = 0;
  bool beyond = rd->bad;
  int64_t at = rd->at - base;
  for (size_t i = 0; i < n && !beyond; i++) {
    uint64_t length = (uint64_t)numbers[i];
    beyond = length > UINT32_MAX;
    ret_sizes[i] = (uint32_t)length;
    numbers[i] = at + (int64_t)total;
    total += length;
  }
  if (beyond)
    rd->bad = true;
  tide_rd_bytes(rd, total);
}

static void read_plain(struct tide_body_rd *rd, size_t n, const unsigned char *base, int64_t *ret_offsets,
                       uint32_t *ret_sizes) {
  tide_intcol_read(rd, n, ret_offsets);
  read_bytes(&rd->sections, n, base, ret_offsets, ret_sizes);
}

/* Turns the indexes of a span, which were read into ret_offsets, into what their entries have; all others are empty. */
static void take_entries(struct tide_body_rd *rd, size_t n, struct tide_span span, size_t nentries,
                         const int64_t *entries, const uint32_t *sizes, int64_t *ret_offsets, uint32_t *ret_sizes) {
  memset(ret_sizes, 0, span.first * sizeof *ret_sizes);
  memset(ret_sizes + span.end, 0, (n - span.end) * sizeof *ret_sizes);
  for (size_t i = span.first; i < span.end && !rd->sections.bad; i++) {
    uint64_t entry = (uint64_t)ret_offsets[i];
    if (entry >= nentries) {
      rd->sections.bad = true;
      return;
    }
    ret_offsets[i] = entries[entry];
    ret_sizes[i] = sizes[entry];
  }
}

static size_t read_count(struct tide_body_rd *rd, size_t n) {
  const size_t count = (size_t)tide_rd_varint_max(&rd->sections, n);
  if (count == 0)
    rd->sections.bad = true;
  return count;
}

static int read_dictionary(struct tide_textcol_reader *reader, struct tide_body_rd *rd, size_t n, const uint8_t *wanted,
                           const unsigned char *base, int64_t *ret_offsets, uint32_t *ret_sizes, struct tide_err *err) {
  const struct tide_span span = tide_wanted_span(wanted, n);
  const size_t nentries = read_count(rd, n);
  if (rd->sections.bad ||
      reserve(&reader->entries, &reader->entries_cap, &reader->sizes, &reader->sizes_cap, nentries, err) != 0)
    return err->rc;
  read_plain(rd, nentries, base, reader->entries, reader->sizes);
  if (rd->sections.bad)
    return 0;
  tide_intcol_read_span(rd, n, span, ret_offsets);
  take_entries(rd, n, span, nentries, reader->entries, reader->sizes, ret_offsets, ret_sizes);
  return 0;
}

/* Reads the texts without a template, a section of its own kind. */
static int read_others(struct tide_textcol_reader *reader, struct tide_body_rd *rd, const unsigned char *base,
                       struct tide_err *err) {
  const size_t count = reader->templates.others;
  if (count == 0 ||
      reserve(&reader->others, &reader->others_cap, &reader->others_sizes, &reader->others_sizes_cap, count, err) != 0)
    return err->rc;
  const uint8_t kind = tide_rd_u8(&rd->sections);
  if (kind == TIDE_TEXTCOL_DICTIONARY)
    return read_dictionary(reader, rd, count, NULL, base, reader->others, reader->others_sizes, err);
  if (kind == TIDE_TEXTCOL_PLAIN)
    read_plain(rd, count, base, reader->others, reader->others_sizes);
  else
    rd->sections.bad = true;
  return 0;
}

/* Room for the texts; what is being read moves along. */
static int reserve_texts(const struct tide_templatecol *column, struct tide_body_rd *rd, struct tide_buf *bytes,
                         struct tide_err *err) {
  const size_t at = (size_t)(rd->sections.at - bytes->data), end = (size_t)(rd->sections.end - bytes->data);
  if (tide_buf_reserve(bytes, tide_templatecol_size_max(column) + TIDE_TEMPLATE_SLACK, err) != 0)
    return err->rc;
  rd->sections.at = bytes->data + at;
  rd->sections.end = bytes->data + end;
  return 0;
}

static int read_templates(struct tide_textcol_reader *reader, const struct tide_template_book *book,
                          struct tide_body_rd *rd, size_t n, const uint8_t *wanted, struct tide_buf *bytes,
                          int64_t *ret_offsets, uint32_t *ret_sizes, struct tide_err *err) {
  struct tide_templatecol *column = &reader->templates;
  if (book == NULL)
    rd->sections.bad = true;
  if (rd->sections.bad || tide_templatecol_read(column, book, rd, n, wanted, err) != 0 || rd->sections.bad ||
      read_others(reader, rd, bytes->data, err) != 0 || rd->sections.bad || reserve_texts(column, rd, bytes, err) != 0)
    return err->rc;
  if (!tide_templatecol_build(column, n, wanted, bytes, reader->others, reader->others_sizes, ret_offsets, ret_sizes))
    rd->sections.bad = true;
  return 0;
}

/* The entries that rows ask for, flagged anew; NULL: all. The caller frees it. */
static uint8_t *wanted_entries(const uint8_t *wanted, size_t n, const int64_t *indexes, size_t nentries,
                               struct tide_err *err) {
  uint8_t *flags = wanted != NULL ? tide_alloc_zero(nentries, 1, err) : NULL;
  for (size_t i = 0; flags != NULL && i < n; i++) {
    if (wanted[i] && (uint64_t)indexes[i] < nentries)
      flags[indexes[i]] = 1;
  }
  return flags;
}

static int read_indexed(struct tide_textcol_reader *reader, const struct tide_template_book *book,
                        struct tide_body_rd *rd, size_t n, const uint8_t *wanted, struct tide_buf *bytes,
                        int64_t *ret_offsets, uint32_t *ret_sizes, struct tide_err *err) {
  const size_t nentries = read_count(rd, n);
  if (rd->sections.bad)
    return 0;
  tide_intcol_read(rd, n, ret_offsets);
  if (tide_rd_u8(&rd->sections) != TIDE_TEXTCOL_TEMPLATES)
    rd->sections.bad = true;
  int64_t *entries = tide_realloc(NULL, nentries, sizeof *entries, err);
  uint32_t *sizes = tide_realloc(NULL, nentries, sizeof *sizes, err);
  uint8_t *flags = rd->sections.bad ? NULL : wanted_entries(wanted, n, ret_offsets, nentries, err);
  if (!tide_err_is_set(err) && read_templates(reader, book, rd, nentries, flags, bytes, entries, sizes, err) == 0)
    take_entries(rd, n, (struct tide_span){0, n}, nentries, entries, sizes, ret_offsets, ret_sizes);
  tide_free(entries);
  tide_free(sizes);
  tide_free(flags);
  return err->rc;
}

int tide_textcol_read(struct tide_textcol_reader *reader, const struct tide_template_book *book,
                      struct tide_body_rd *rd, size_t n, const uint8_t *wanted, struct tide_buf *bytes,
                      int64_t *ret_offsets, uint32_t *ret_sizes, struct tide_err *err) {
  assert(n > 0);
  switch (tide_rd_u8(&rd->sections)) {
  case TIDE_TEXTCOL_PLAIN:
    read_plain(rd, n, bytes->data, ret_offsets, ret_sizes);
    return err->rc;
  case TIDE_TEXTCOL_DICTIONARY:
    return read_dictionary(reader, rd, n, wanted, bytes->data, ret_offsets, ret_sizes, err);
  case TIDE_TEXTCOL_TEMPLATES:
    return read_templates(reader, book, rd, n, wanted, bytes, ret_offsets, ret_sizes, err);
  case TIDE_TEXTCOL_INDEXED:
    return read_indexed(reader, book, rd, n, wanted, bytes, ret_offsets, ret_sizes, err);
  default:
    rd->sections.bad = true;
    return err->rc;
  }
}
