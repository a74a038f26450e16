#include "codec/textcol.h"

#include <assert.h>
#include <string.h>

#include <xxhash.h>

#include "base/mem.h"
#include "codec/bitpack.h"
#include "codec/intcol.h"

enum {
  TEMPLATES_ROWS_MIN = 64,
  FEW_ENTRIES = 8,    /* a dictionary of one text in so many rows is not worth a look for templates */
  MANY_ENTRIES = 8,   /* texts are taken as they come when fewer than one in so many repeats another */
  MEASURE_FRAMES = 16 /* one frame of so many is laid out both ways at the least */
};

void tide_textcol_scratch_clear(struct tide_textcol_scratch *scratch) {
  tide_free(scratch->slots);
  tide_free(scratch->entries);
  tide_free(scratch->indexes);
  tide_free(scratch->lengths);
  tide_free(scratch->slices);
  tide_templatecol_scratch_clear(&scratch->templates);
  tide_body_clear(&scratch->other);
  *scratch = (struct tide_textcol_scratch){0};
}

/* ---- the different texts ---- */

static int reserve(struct tide_textcol_scratch *scratch, size_t n, size_t nslots, struct tide_err *err) {
  void *slots = scratch->slots, *entries = scratch->entries, *indexes = scratch->indexes, *lengths = scratch->lengths,
       *slices = scratch->slices;
  if (tide_grow(&slots, &scratch->slots_cap, nslots, sizeof *scratch->slots, err) == 0 &&
      tide_grow(&entries, &scratch->entries_cap, n, sizeof *scratch->entries, err) == 0 &&
      tide_grow(&indexes, &scratch->indexes_cap, n, sizeof *scratch->indexes, err) == 0 &&
      tide_grow(&lengths, &scratch->lengths_cap, n, sizeof *scratch->lengths, err) == 0)
    tide_grow(&slices, &scratch->slices_cap, n, sizeof *scratch->slices, err);
  scratch->slots = slots;
  scratch->entries = entries;
  scratch->indexes = indexes;
  scratch->lengths = lengths;
  scratch->slices = slices;
  return err->rc;
}

static bool equal(const struct tide_slice *a, const struct tide_slice *b) {
  return a->size == b->size && (a->size == 0 || memcmp(a->bytes, b->bytes, a->size) == 0);
}

/* Fills entries and indexes, and gives how many entries there are. */
static size_t find_entries(struct tide_textcol_scratch *scratch, const struct tide_slice *slices, size_t n,
                           struct tide_err *err) {
  size_t nslots = 16, nentries = 0;
  while (nslots < n * 2)
    nslots *= 2;
  if (tide_err_is_set(err) || reserve(scratch, n, nslots, err) != 0)
    return 0;
  memset(scratch->slots, 0, nslots * sizeof *scratch->slots);
  for (size_t i = 0; i < n; i++) {
    const struct tide_slice *slice = &slices[i];
    size_t at = (size_t)(slice->size > 0 ? XXH3_64bits(slice->bytes, slice->size) : 0) & (nslots - 1);
    while (scratch->slots[at] != 0 && !equal(&slices[scratch->entries[scratch->slots[at] - 1]], slice))
      at = (at + 1) & (nslots - 1);
    if (scratch->slots[at] == 0) {
      scratch->entries[nentries++] = (uint32_t)i;
      scratch->slots[at] = (uint32_t)nentries;
    }
    scratch->indexes[i] = scratch->slots[at] - 1;
  }
  return nentries;
}

/* Whether a dictionary is smaller before compression: it is then also smaller behind zstd, and faster, since zstd has
 * fewer bytes to look at. A length counts as a byte. */
static bool dictionary_is_smaller(const struct tide_textcol_scratch *scratch, size_t nentries,
                                  const struct tide_slice *slices, size_t n) {
  uint64_t all = 0, kept = 0;
  for (size_t i = 0; i < n; i++)
    all += slices[i].size;
  for (size_t i = 0; i < nentries; i++)
    kept += slices[scratch->entries[i]].size;
  const uint64_t indexes = tide_bitpack_size(n, tide_bitpack_width(nentries - 1));
  return kept + nentries + indexes < all + n;
}

/* ---- plain and dictionary ---- */

static void put_lengths(struct tide_textcol_scratch *scratch, struct tide_trial *trial, const struct tide_slice *slices,
                        size_t n, struct tide_body *body, struct tide_err *err) {
  for (size_t i = 0; i < n; i++)
    scratch->lengths[i] = slices[i].size;
  tide_intcol_write(trial, scratch->lengths, n, body, err);
}

static void put_texts(struct tide_textcol_scratch *scratch, struct tide_trial *trial, const struct tide_slice *slices,
                      size_t n, struct tide_body *body, struct tide_err *err) {
  put_lengths(scratch, trial, slices, n, body, err);
  for (size_t i = 0; i < n; i++)
    tide_buf_put(&body->sections, slices[i].bytes, slices[i].size, err);
}

static void take_entries(struct tide_textcol_scratch *scratch, size_t nentries, const struct tide_slice *slices) {
  for (size_t i = 0; i < nentries; i++)
    scratch->slices[i] = slices[scratch->entries[i]];
}

/* The section without templates, of texts whose entries were found. */
static void write_whole(struct tide_textcol_scratch *scratch, struct tide_trial *trial, size_t nentries,
                        const struct tide_slice *slices, size_t n, struct tide_body *body, struct tide_err *err) {
  if (!dictionary_is_smaller(scratch, nentries, slices, n)) {
    tide_buf_put_u8(&body->sections, TIDE_TEXTCOL_PLAIN, err);
    put_texts(scratch, trial, slices, n, body, err);
    return;
  }
  tide_buf_put_u8(&body->sections, TIDE_TEXTCOL_DICTIONARY, err);
  tide_buf_put_varint(&body->sections, nentries, err);
  take_entries(scratch, nentries, slices);
  put_texts(scratch, trial, scratch->slices, nentries, body, err);
  tide_intcol_write(trial, scratch->indexes, n, body, err);
}

/* ---- templates ---- */

/* The section as templates, of texts whose entries were found and are forgotten. False when err is set, or it is not
 * worth it; the body may then have more than it had. */
static bool write_templates(struct tide_textcol_scratch *scratch, struct tide_trial *trial,
                            struct tide_template_set *set, size_t nentries, const struct tide_slice *slices, size_t n,
                            struct tide_body *body, struct tide_err *err) {
  const struct tide_slice *texts = slices;
  size_t count = n;
  tide_template_set_begin(set);
  if (nentries < n - n / MANY_ENTRIES) {
    tide_buf_put_u8(&body->sections, TIDE_TEXTCOL_INDEXED, err);
    tide_buf_put_varint(&body->sections, nentries, err);
    tide_intcol_write(trial, scratch->indexes, n, body, err);
    take_entries(scratch, nentries, slices);
    texts = scratch->slices;
    count = nentries;
  }
  tide_buf_put_u8(&body->sections, TIDE_TEXTCOL_TEMPLATES, err);
  if (!tide_templatecol_write(&scratch->templates, trial, set, texts, count, body, err))
    return false;
  const size_t others = scratch->templates.nothers;
  if (others > 0) {
    const size_t others_entries = find_entries(scratch, scratch->templates.others, others, err);
    if (!tide_err_is_set(err))
      write_whole(scratch, trial, others_entries, scratch->templates.others, others, body, err);
  }
  return !tide_err_is_set(err);
}

/* What is behind a place in the body, once compressed. */
static size_t measure(struct tide_trial *trial, const struct tide_body *body, size_t sections, size_t bits,
                      struct tide_err *err) {
  return tide_trial_size(trial, body->sections.data + sections, body->sections.len - sections, err) + body->bits.len -
         bits;
}

/* Whether the section of templates that begins at a place in the body is the smaller one. In a segment's first frame
 * the templates themselves are counted as well: there may be no other. */
static bool templates_are_smaller(struct tide_textcol_scratch *scratch, struct tide_trial *trial,
                                  const struct tide_template_set *set, const struct tide_slice *slices, size_t n,
                                  const struct tide_body *body, size_t sections, size_t bits, struct tide_err *err) {
  struct tide_body *other = &scratch->other;
  size_t size = measure(trial, body, sections, bits, err);
  if (set->before == 0) {
    tide_body_reset(other);
    tide_template_set_put(set, trial, other, err);
    size += tide_err_is_set(err) ? 0 : measure(trial, other, 0, 0, err);
  }
  tide_body_reset(other);
  const size_t nentries = find_entries(scratch, slices, n, err);
  if (tide_err_is_set(err))
    return false;
  write_whole(scratch, trial, nentries, slices, n, other, err);
  return !tide_err_is_set(err) && size < measure(trial, other, 0, 0, err);
}

/* Whether a frame's templates must show that they are smaller: the first ones, one frame of so many, and one whose rows
 * take half as much again as those of the last that did so. */
static bool is_to_be_measured(const struct tide_template_set *set, size_t row_size) {
  return set->before == 0 || set->frame % MEASURE_FRAMES == 1 || row_size > set->row_size + set->row_size / 2;
}

/* False: the body is as it was. */
static bool try_templates(struct tide_textcol_scratch *scratch, struct tide_trial *trial, struct tide_template_set *set,
                          size_t nentries, const struct tide_slice *slices, size_t n, struct tide_body *body,
                          struct tide_err *err) {
  const size_t sections = body->sections.len, bits = body->bits.len;
  if (write_templates(scratch, trial, set, nentries, slices, n, body, err)) {
    const size_t row_size = (body->sections.len - sections + body->bits.len - bits) * 16 / n;
    const bool measured = is_to_be_measured(set, row_size);
    if (!measured || templates_are_smaller(scratch, trial, set, slices, n, body, sections, bits, err)) {
      set->row_size = measured ? row_size : set->row_size;
      set->failures = 0;
      return true;
    }
  }
  body->sections.len = sections;
  body->bits.len = bits;
  tide_template_set_undo(set);
  return false;
}

void tide_textcol_write(struct tide_textcol_scratch *scratch, struct tide_trial *trial, struct tide_template_set *set,
                        const struct tide_slice *slices, size_t n, struct tide_body *body, struct tide_err *err) {
  assert(n > 0 && n <= 1 << 20);
  const bool due =
      set != NULL && n >= TEMPLATES_ROWS_MIN && n <= TIDE_TEMPLATECOL_ROWS_MAX && tide_template_set_is_due(set);
  size_t nentries = find_entries(scratch, slices, n, err);
  if (tide_err_is_set(err))
    return;
  if (due && nentries > n / FEW_ENTRIES) {
    if (try_templates(scratch, trial, set, nentries, slices, n, body, err))
      return;
    nentries = find_entries(scratch, slices, n, err);
  }
  if (!tide_err_is_set(err))
    write_whole(scratch, trial, nentries, slices, n, body, err);
}
