#include "codec/templatecol.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "codec/intcol.h"

enum {
  OWN_SECTION_ROWS = 32, /* of a local: with fewer, what a section takes weighs more than that they are alike */
  EARLY_ROWS = 2000,     /* after so many it can be told whether texts repeat */
  OTHERS_MAX = 3         /* of four texts */
};

struct tide_templatecol_row {
  int32_t template; /* its index in the set, -1: none */
  uint32_t local;   /* 0: it is among the others */
  uint32_t tokens_at;
};

struct tide_templatecol_local {
  const struct tide_template *template;
  uint32_t rows;
  uint32_t places_at;
};

/* A token of a local that varies. */
struct tide_templatecol_place {
  uint32_t numbers_at; /* where the next row's value goes, when the local's have sections of their own */
  uint8_t padding;     /* size of the tokens with leading zeros, 0: none so far */
  uint8_t natural_min; /* the smallest size of those without */
  bool mixed;          /* of no one padding */
  bool is_padded;      /* of a kind that has one at all */
  uint8_t group;
};

void tide_templatecol_scratch_clear(struct tide_templatecol_scratch *scratch) {
  tide_free(scratch->tokens);
  tide_free(scratch->rows);
  tide_free(scratch->locals);
  tide_free(scratch->places);
  tide_free(scratch->numbers);
  tide_free(scratch->others);
  *scratch = (struct tide_templatecol_scratch){0};
}

static int reserve_numbers(struct tide_templatecol_scratch *scratch, size_t count, struct tide_err *err) {
  void *numbers = scratch->numbers;
  tide_grow(&numbers, &scratch->numbers_cap, count, sizeof *scratch->numbers, err);
  scratch->numbers = numbers;
  return err->rc;
}

/* ---- templates and locals ---- */

static int reserve_rows(struct tide_templatecol_scratch *scratch, size_t n, struct tide_err *err) {
  void *rows = scratch->rows, *others = scratch->others;
  if (tide_grow(&rows, &scratch->rows_cap, n, sizeof *scratch->rows, err) == 0 &&
      tide_grow(&others, &scratch->others_cap, n, sizeof *scratch->others, err) == 0)
    reserve_numbers(scratch, n, err);
  scratch->rows = rows;
  scratch->others = others;
  return err->rc;
}

/* Whether most texts so far are the first of their template. */
static bool looks_hopeless(const struct tide_template_set *set, size_t texts) {
  size_t singles = 0;
  for (size_t i = 0; i < set->nused; i++)
    singles += !set->templates[set->used[i]].repeated;
  return singles > texts / 4 * OTHERS_MAX;
}

/* Finds tokens and template of each text. False when it gave up, or err is set. */
static bool find_templates(struct tide_templatecol_scratch *scratch, struct tide_template_set *set,
                           const struct tide_slice *slices, size_t n, struct tide_err *err) {
  size_t ntokens = 0;
  for (size_t i = 0; i < n; i++) {
    void *tokens = scratch->tokens;
    const int rc = tide_grow(&tokens, &scratch->tokens_cap, ntokens + TIDE_TOKENS_MAX, sizeof *scratch->tokens, err);
    scratch->tokens = tokens;
    if (rc != 0 || (i == EARLY_ROWS && looks_hopeless(set, i)))
      return false;
    struct tide_templatecol_row *row = &scratch->rows[i];
    *row = (struct tide_templatecol_row){.template = -1, .tokens_at = (uint32_t)ntokens};
    if (slices[i].size > TIDE_TEMPLATE_TEXT_MAX)
      continue;
    const size_t found = tide_token_find(slices[i].bytes, slices[i].size, scratch->tokens + ntokens);
    row->template = tide_template_set_find(set, slices[i].bytes, slices[i].size, scratch->tokens + ntokens, found, err);
    ntokens += found;
  }
  tide_template_set_settle(set, err);
  return !tide_err_is_set(err);
}

/* Numbers the templates that have rows here, in the order of their own numbers. Gives how many. */
static size_t number_locals(struct tide_templatecol_scratch *scratch, struct tide_template_set *set,
                            struct tide_err *err) {
  void *locals = scratch->locals;
  size_t count = 0;
  if (tide_grow(&locals, &scratch->locals_cap, set->nused + 1, sizeof *scratch->locals, err) != 0)
    return 0;
  scratch->locals = locals;
  for (size_t i = 0; i < set->nnumbered; i++) {
    struct tide_template *template = &set->templates[set->numbered[i]];
    if (template->frame != set->frame)
      continue;
    scratch->locals[count] = (struct tide_templatecol_local){.template = template};
    template->local = (uint32_t)++count;
  }
  return count;
}

/* Tells each row its local, and puts the others aside. */
static void assign_rows(struct tide_templatecol_scratch *scratch, const struct tide_template_set *set,
                        const struct tide_slice *slices, size_t n) {
  scratch->nothers = 0;
  for (size_t i = 0; i < n; i++) {
    struct tide_templatecol_row *row = &scratch->rows[i];
    const struct tide_template *template = row->template < 0 ? NULL : &set->templates[row->template];
    if (template == NULL || template->number < 0) {
      scratch->others[scratch->nothers++] = slices[i];
      continue;
    }
    row->local = template->local;
    scratch->locals[row->local - 1].rows++;
  }
}

/* ---- numbers ---- */

static size_t count_places(const struct tide_templatecol_scratch *scratch, size_t nlocals) {
  size_t count = 0;
  for (size_t i = 0; i < nlocals; i++)
    count += (size_t)__builtin_popcountll(scratch->locals[i].template->varies);
  return count;
}

/* Where numbers are gathered: own sections first, then group by group. */
struct layout {
  size_t starts[TIDE_TEMPLATECOL_GROUPS];
  size_t ends[TIDE_TEMPLATECOL_GROUPS];
  size_t count;
};

/* Lists the places, and gives all numbers their room. */
static void lay_out(struct tide_templatecol_scratch *scratch, const struct tide_template_set *set, size_t nlocals,
                    struct layout *ret_layout) {
  size_t nplaces = 0, sizes[TIDE_TEMPLATECOL_GROUPS] = {0};
  ret_layout->count = 0;
  for (size_t i = 0; i < nlocals; i++) {
    struct tide_templatecol_local *local = &scratch->locals[i];
    local->places_at = (uint32_t)nplaces;
    for (uint64_t left = local->template->varies; left != 0; left &= left - 1) {
      const unsigned token = (unsigned)__builtin_ctzll(left),
                     kind = tide_template_set_kind(set, local->template, token);
      const unsigned group = tide_templatecol_group(kind, set->sizes[local->template->tokens_at + token]);
      scratch->places[nplaces++] = (struct tide_templatecol_place){.numbers_at = (uint32_t)ret_layout->count,
                                                                   .natural_min = UINT8_MAX,
                                                                   .is_padded = (kind & 3) <= TIDE_TOKEN_HEX,
                                                                   .group = (uint8_t)group};
      if (local->rows >= OWN_SECTION_ROWS)
        ret_layout->count += local->rows;
      else
        sizes[group] += local->rows;
    }
  }
  for (unsigned group = 0; group < TIDE_TEMPLATECOL_GROUPS; group++) {
    ret_layout->starts[group] = ret_layout->count;
    ret_layout->ends[group] = ret_layout->count += sizes[group];
  }
}

static void look_at_size(struct tide_templatecol_place *place, const struct tide_token *token) {
  if (!token->padded) {
    place->natural_min = token->size < place->natural_min ? token->size : place->natural_min;
    return;
  }
  place->mixed |= place->padding != 0 && place->padding != token->size;
  place->padding = token->size;
}

/* Puts every number where its section is gathered, and looks at the tokens' sizes. */
static void gather(struct tide_templatecol_scratch *scratch, size_t n, const struct layout *layout) {
  uint32_t next[TIDE_TEMPLATECOL_GROUPS];
  for (unsigned group = 0; group < TIDE_TEMPLATECOL_GROUPS; group++)
    next[group] = (uint32_t)layout->starts[group];
  for (size_t i = 0; i < n; i++) {
    const struct tide_templatecol_row *row = &scratch->rows[i];
    if (row->local == 0)
      continue;
    const struct tide_templatecol_local *local = &scratch->locals[row->local - 1];
    size_t at_place = local->places_at;
    for (uint64_t left = local->template->varies; left != 0; left &= left - 1) {
      struct tide_templatecol_place *place = &scratch->places[at_place++];
      const struct tide_token *token = &scratch->tokens[row->tokens_at + (unsigned)__builtin_ctzll(left)];
      uint32_t *at = local->rows >= OWN_SECTION_ROWS ? &place->numbers_at : &next[place->group];
      scratch->numbers[(*at)++] = (int64_t)token->value;
      look_at_size(place, token);
    }
  }
}

static void put_paddings(struct tide_templatecol_scratch *scratch, size_t nplaces, bool *ret_mixed,
                         struct tide_buf *out, struct tide_err *err) {
  *ret_mixed = false;
  if (tide_buf_reserve(out, nplaces, err) != 0)
    return;
  for (size_t i = 0; i < nplaces; i++) {
    struct tide_templatecol_place *place = &scratch->places[i];
    if (!place->is_padded)
      continue;
    place->mixed |= place->padding > place->natural_min;
    *ret_mixed |= place->mixed;
    out->data[out->len++] = place->mixed ? 0 : place->padding > 0 ? place->padding : 1;
  }
}

static void put_numbers(const struct tide_templatecol_scratch *scratch, size_t nlocals, const struct layout *layout,
                        struct tide_body *body, struct tide_err *err) {
  size_t at = 0;
  for (size_t i = 0; i < nlocals; i++) {
    const struct tide_templatecol_local *local = &scratch->locals[i];
    for (uint64_t left = local->template->varies; left != 0 && local->rows >= OWN_SECTION_ROWS; left &= left - 1) {
      tide_intcol_write(NULL, scratch->numbers + at, local->rows, body, err);
      at += local->rows;
    }
  }
  for (unsigned group = 0; group < TIDE_TEMPLATECOL_GROUPS; group++) {
    const size_t start = layout->starts[group], count = layout->ends[group] - start;
    if (count > 0)
      tide_intcol_write(NULL, scratch->numbers + start, count, body, err);
  }
}

/* The sizes of the tokens of places that are mixed, fewer than there are numbers. */
static void put_sizes(struct tide_templatecol_scratch *scratch, struct tide_trial *trial, size_t n,
                      struct tide_body *body, struct tide_err *err) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    const struct tide_templatecol_row *row = &scratch->rows[i];
    if (row->local == 0)
      continue;
    const struct tide_templatecol_local *local = &scratch->locals[row->local - 1];
    const struct tide_templatecol_place *place = &scratch->places[local->places_at];
    for (uint64_t left = local->template->varies; left != 0; left &= left - 1, place++)
      if (place->mixed)
        scratch->numbers[count++] = scratch->tokens[row->tokens_at + (unsigned)__builtin_ctzll(left)].size;
  }
  tide_intcol_write(trial, scratch->numbers, count, body, err);
}

/* ---- the section ---- */

static void put_locals(struct tide_templatecol_scratch *scratch, struct tide_trial *trial, size_t n, size_t nlocals,
                       struct tide_body *body, struct tide_err *err) {
  tide_buf_put_varint(&body->sections, nlocals, err);
  tide_buf_put_varint(&body->sections, OWN_SECTION_ROWS, err);
  for (size_t i = 0; i < n; i++)
    scratch->numbers[i] = scratch->rows[i].local;
  tide_intcol_write(trial, scratch->numbers, n, body, err);
  for (size_t i = 0; i < nlocals; i++)
    scratch->numbers[i] = scratch->locals[i].template->number;
  tide_intcol_write(trial, scratch->numbers, nlocals, body, err);
  for (size_t i = 0; i < nlocals; i++)
    scratch->numbers[i] = (int64_t)scratch->locals[i].template->varies;
  tide_intcol_write(trial, scratch->numbers, nlocals, body, err);
}

static void put_values(struct tide_templatecol_scratch *scratch, struct tide_trial *trial,
                       const struct tide_template_set *set, size_t n, size_t nlocals, struct tide_body *body,
                       struct tide_err *err) {
  const size_t nplaces = count_places(scratch, nlocals);
  struct layout layout;
  bool mixed;
  void *places = scratch->places;
  if (tide_err_is_set(err) || tide_grow(&places, &scratch->places_cap, nplaces, sizeof *scratch->places, err) != 0)
    return;
  scratch->places = places;
  lay_out(scratch, set, nlocals, &layout);
  if (reserve_numbers(scratch, layout.count, err) != 0)
    return;
  gather(scratch, n, &layout);
  put_paddings(scratch, nplaces, &mixed, &body->sections, err);
  put_numbers(scratch, nlocals, &layout, body, err);
  if (mixed && !tide_err_is_set(err))
    put_sizes(scratch, trial, n, body, err);
}

bool tide_templatecol_write(struct tide_templatecol_scratch *scratch, struct tide_trial *trial,
                            struct tide_template_set *set, const struct tide_slice *slices, size_t n,
                            struct tide_body *body, struct tide_err *err) {
  assert(n > 0 && n <= TIDE_TEMPLATECOL_ROWS_MAX);
  if (tide_err_is_set(err) || reserve_rows(scratch, n, err) != 0 || !find_templates(scratch, set, slices, n, err))
    return false;
  const size_t nlocals = number_locals(scratch, set, err);
  if (tide_err_is_set(err))
    return false;
  assign_rows(scratch, set, slices, n);
  if (scratch->nothers > n / 4 * OTHERS_MAX || nlocals == 0)
    return false;
  const size_t sections = body->sections.len, bits = body->bits.len;
  put_locals(scratch, trial, n, nlocals, body, err);
  put_values(scratch, trial, set, n, nlocals, body, err);
  if (!tide_err_is_set(err))
    return true;
  body->sections.len = sections;
  body->bits.len = bits;
  return false;
}
