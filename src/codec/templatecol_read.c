#include "codec/templatecol.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "codec/intcol.h"

/* A token that varies, and the bytes of the template before it, from the one before that varies. */
struct tide_templatecol_piece {
  const unsigned char *text;
  uint32_t text_size;
  uint32_t numbers_at; /* of its local's rows, when these have sections of their own */
  uint8_t kind;
  uint8_t padding; /* 0: the sizes are stored */
  uint8_t group;
};

struct tide_templatecol_text {
  uint32_t pieces_at;
  uint32_t npieces;
  const unsigned char *tail; /* behind the last piece */
  uint32_t tail_size;
  uint32_t rows;
  struct tide_span wanted; /* among its rows */
  uint32_t taken;          /* rows that were built or passed over */
  uint32_t nsizes;         /* that are stored of one row */
  bool has_own_numbers;
  size_t size_max; /* of one row's text */
  int64_t built;   /* where it lies when nothing varies; -1: not built yet */
};

void tide_templatecol_clear(struct tide_templatecol *column) {
  tide_free(column->pieces);
  tide_free(column->locals);
  tide_free(column->locals_of);
  tide_free(column->numbers);
  tide_free(column->sizes);
  *column = (struct tide_templatecol){0};
}

static int64_t *reserve_numbers(int64_t *numbers, size_t *cap, size_t count, struct tide_err *err) {
  void *block = numbers;
  tide_grow(&block, cap, count, sizeof *numbers, err);
  return block;
}

/* ---- locals ---- */

static inline void count_row(struct tide_templatecol_text *local, bool wanted) {
  if (wanted) {
    if (local->wanted.end == 0)
      local->wanted.first = local->rows;
    local->wanted.end = local->rows + 1;
  }
  local->rows++;
}

/* Rows by local; each local has some. */
static void read_rows(struct tide_templatecol *column, struct tide_body_rd *rd, size_t n, const uint8_t *wanted) {
  tide_intcol_read(rd, n, column->locals_of);
  column->others = 0;
  for (size_t i = 0; i < n && !rd->sections.bad; i++) {
    const uint64_t local = (uint64_t)column->locals_of[i];
    if (local > column->nlocals)
      rd->sections.bad = true;
    else if (local == 0)
      column->others++;
    else
      count_row(&column->locals[local - 1], wanted == NULL || wanted[i]);
  }
  for (size_t i = 0; i < column->nlocals && !rd->sections.bad; i++)
    rd->sections.bad = column->locals[i].rows == 0;
}

static unsigned size_max_of(unsigned kind) {
  static const uint8_t sizes[4] = {20, TIDE_TOKEN_HEX_MAX, TIDE_TOKEN_UUID_SIZE, TIDE_TOKEN_UUID_SIZE};
  return sizes[kind & 3];
}

static bool is_token(unsigned kind, unsigned size) {
  switch (kind & 3) {
  case TIDE_TOKEN_DIGITS:
    return kind == TIDE_TOKEN_DIGITS && size >= 1 && size <= TIDE_TOKEN_DIGITS_MAX;
  case TIDE_TOKEN_HEX:
    return size >= 1 && size <= TIDE_TOKEN_HEX_MAX;
  default:
    return size == TIDE_TOKEN_UUID_SIZE;
  }
}

/* Takes a template apart at the tokens that vary. There is room for a piece each. */
static bool take_apart(struct tide_templatecol *column, const struct tide_template_book *book, size_t template,
                       uint64_t varies, size_t *npieces, struct tide_templatecol_text *local) {
  const unsigned char *text = book->bytes.data + book->texts_at[template];
  const size_t text_size = book->texts_at[template + 1] - book->texts_at[template];
  struct tide_rd list = tide_rd_over(book->bytes.data + book->lists_at[template],
                                     book->lists_at[template + 1] - book->lists_at[template]);
  size_t at = 0, from = 0, size_max = text_size;
  unsigned token = 0;
  local->pieces_at = (uint32_t)*npieces;
  for (; tide_rd_left(&list) > 0 && !list.bad && token < TIDE_TOKENS_MAX; token++, varies >>= 1) {
    at += (size_t)tide_rd_varint_max(&list, text_size - at);
    const unsigned mark = tide_rd_u8(&list), kind = mark & 7, size = mark >> 3;
    if (list.bad || !is_token(kind, size) || size > text_size - at)
      return false;
    if ((varies & 1) != 0) {
      column->pieces[(*npieces)++] =
          (struct tide_templatecol_piece){.text = text + from,
                                          .text_size = (uint32_t)(at - from),
                                          .kind = (uint8_t)kind,
                                          .group = (uint8_t)tide_templatecol_group(kind, size)};
      size_max += size_max_of(kind) - size;
      from = at + size;
    }
    at += size;
  }
  local->npieces = (uint32_t)*npieces - local->pieces_at;
  local->tail = text + from;
  local->tail_size = (uint32_t)(text_size - from);
  local->size_max = size_max;
  local->built = -1;
  return varies == 0 && !list.bad && tide_rd_left(&list) == 0;
}

/* Reads which templates the locals are and what varies in them. */
static void read_locals(struct tide_templatecol *column, const struct tide_template_book *book, struct tide_body_rd *rd,
                        struct tide_err *err) {
  const size_t count = column->nlocals;
  int64_t *templates = column->numbers, *varies = column->numbers + count; /* there is room for twice the rows */
  tide_intcol_read(rd, count, templates);
  tide_intcol_read(rd, count, varies);
  size_t npieces = 0;
  for (size_t i = 0; i < count && !rd->sections.bad; i++) {
    npieces += (size_t)__builtin_popcountll((uint64_t)varies[i]);
    if ((uint64_t)templates[i] >= book->count || (i > 0 && templates[i] <= templates[i - 1]))
      rd->sections.bad = true;
  }
  void *pieces = column->pieces;
  if (rd->sections.bad || tide_grow(&pieces, &column->pieces_cap, npieces, sizeof *column->pieces, err) != 0)
    return;
  column->pieces = pieces;
  npieces = 0;
  for (size_t i = 0; i < count && !rd->sections.bad; i++)
    if (!take_apart(column, book, (size_t)templates[i], (uint64_t)varies[i], &npieces, &column->locals[i]))
      rd->sections.bad = true;
}

/* ---- numbers ---- */

/* Reads the paddings, and counts the tokens that have a size of their own. */
static void read_paddings(struct tide_templatecol *column, struct tide_rd *rd) {
  column->nsizes = 0;
  for (size_t i = 0; i < column->nlocals; i++) {
    struct tide_templatecol_text *local = &column->locals[i];
    for (size_t j = local->pieces_at; j < local->pieces_at + local->npieces; j++) {
      struct tide_templatecol_piece *piece = &column->pieces[j];
      piece->padding = 1;
      if ((piece->kind & 3) > TIDE_TOKEN_HEX)
        continue;
      piece->padding = tide_rd_u8(rd);
      if (piece->padding > ((piece->kind & 3) == TIDE_TOKEN_HEX ? TIDE_TOKEN_HEX_MAX : TIDE_TOKEN_DIGITS_MAX))
        rd->bad = true;
      local->nsizes += piece->padding == 0;
    }
    column->nsizes += (size_t)local->nsizes * local->rows;
  }
}

/* Says where numbers lie: own sections first, then group by group. Gives how many there are. */
static size_t lay_out_numbers(struct tide_templatecol *column, uint64_t own_rows,
                              size_t ret_sizes[TIDE_TEMPLATECOL_GROUPS]) {
  size_t count = 0;
  memset(ret_sizes, 0, TIDE_TEMPLATECOL_GROUPS * sizeof *ret_sizes);
  for (size_t i = 0; i < column->nlocals; i++) {
    struct tide_templatecol_text *local = &column->locals[i];
    local->has_own_numbers = local->rows >= own_rows;
    for (size_t j = local->pieces_at; j < local->pieces_at + local->npieces; j++) {
      struct tide_templatecol_piece *piece = &column->pieces[j];
      if (!local->has_own_numbers) {
        ret_sizes[piece->group] += local->rows;
        continue;
      }
      piece->numbers_at = (uint32_t)count;
      count += local->rows;
    }
  }
  for (unsigned group = 0; group < TIDE_TEMPLATECOL_GROUPS; group++) {
    column->cursors[group] = (uint32_t)count;
    count += ret_sizes[group];
  }
  return count;
}

static void read_numbers(struct tide_templatecol *column, struct tide_body_rd *rd,
                         const size_t sizes[TIDE_TEMPLATECOL_GROUPS]) {
  size_t at = 0;
  for (size_t i = 0; i < column->nlocals; i++) {
    const struct tide_templatecol_text *local = &column->locals[i];
    for (size_t j = 0; j < local->npieces && local->has_own_numbers && !rd->sections.bad; j++) {
      tide_intcol_read_span(rd, local->rows, local->wanted, column->numbers + at);
      at += local->rows;
    }
  }
  for (unsigned group = 0; group < TIDE_TEMPLATECOL_GROUPS && !rd->sections.bad; group++)
    if (sizes[group] > 0)
      tide_intcol_read(rd, sizes[group], column->numbers + column->cursors[group]);
}

static void read_values(struct tide_templatecol *column, struct tide_body_rd *rd, uint64_t own_rows,
                        struct tide_err *err) {
  size_t sizes[TIDE_TEMPLATECOL_GROUPS];
  read_paddings(column, &rd->sections);
  const size_t count = lay_out_numbers(column, own_rows, sizes);
  column->numbers = reserve_numbers(column->numbers, &column->numbers_cap, count, err);
  if (!tide_err_is_set(err))
    column->sizes = reserve_numbers(column->sizes, &column->sizes_cap, column->nsizes, err);
  if (tide_err_is_set(err))
    return;
  read_numbers(column, rd, sizes);
  if (column->nsizes > 0 && !rd->sections.bad)
    tide_intcol_read(rd, column->nsizes, column->sizes);
  column->nsizes = 0; /* from here on, how many were taken */
}

static int reserve_locals(struct tide_templatecol *column, size_t n, struct tide_err *err) {
  void *locals = column->locals;
  column->locals_of = reserve_numbers(column->locals_of, &column->rows_cap, n, err);
  if (!tide_err_is_set(err))
    column->numbers = reserve_numbers(column->numbers, &column->numbers_cap, 2 * n, err);
  if (!tide_err_is_set(err))
    tide_grow(&locals, &column->locals_cap, column->nlocals, sizeof *column->locals, err);
  column->locals = locals;
  return err->rc;
}

int tide_templatecol_read(struct tide_templatecol *column, const struct tide_template_book *book,
                          struct tide_body_rd *rd, size_t n, const uint8_t *wanted, struct tide_err *err) {
  if (n > TIDE_TEMPLATECOL_ROWS_MAX)
    rd->sections.bad = true;
  column->nlocals = (size_t)tide_rd_varint_max(&rd->sections, n);
  const uint64_t own_rows = tide_rd_varint(&rd->sections);
  if (column->nlocals == 0 || own_rows == 0)
    rd->sections.bad = true;
  if (rd->sections.bad || reserve_locals(column, n, err) != 0)
    return err->rc;
  memset(column->locals, 0, column->nlocals * sizeof *column->locals);
  read_rows(column, rd, n, wanted);
  if (!rd->sections.bad)
    read_locals(column, book, rd, err);
  if (!rd->sections.bad && !tide_err_is_set(err))
    read_values(column, rd, own_rows, err);
  return err->rc;
}

/* ---- texts ---- */

size_t tide_templatecol_size_max(const struct tide_templatecol *column) {
  size_t size = 0;
  for (size_t i = 0; i < column->nlocals; i++) {
    const struct tide_templatecol_text *local = &column->locals[i];
    size += local->npieces > 0 ? (local->wanted.end - local->wanted.first) * local->size_max : local->size_max;
  }
  return size;
}

/* Copies up to TIDE_TEMPLATE_SLACK - 1 bytes more than asked for: both sides have them. */
static inline unsigned char *copy(unsigned char *out, const unsigned char *text, size_t size) {
  for (size_t done = 0; done < size; done += 16)
    memcpy(out + done, text + done, 16);
  return out + size;
}

/* Appends a token of its local's next row. NULL when its size cannot be. */
static inline unsigned char *put_token(struct tide_templatecol *column, const struct tide_templatecol_text *local,
                                       const struct tide_templatecol_piece *piece, unsigned char *out) {
  const size_t at = local->has_own_numbers ? piece->numbers_at + local->taken : column->cursors[piece->group]++;
  const uint64_t value = (uint64_t)column->numbers[at];
  const unsigned natural = tide_token_natural_size(piece->kind, value);
  unsigned size = natural > piece->padding ? natural : piece->padding;
  if (piece->padding == 0) {
    const uint64_t stated = (uint64_t)column->sizes[column->nsizes++];
    if (stated < natural || stated > size_max_of(piece->kind))
      return NULL;
    size = (unsigned)stated;
  }
  tide_token_print(piece->kind, value, size, out);
  return out + size;
}

static unsigned char *build(struct tide_templatecol *column, struct tide_templatecol_text *local, unsigned char *out) {
  for (uint32_t i = 0; i < local->npieces && out != NULL; i++) {
    const struct tide_templatecol_piece *piece = &column->pieces[local->pieces_at + i];
    out = put_token(column, local, piece, copy(out, piece->text, piece->text_size));
  }
  local->taken++;
  return out != NULL ? copy(out, local->tail, local->tail_size) : NULL;
}

/* Leaves the numbers of a row unread. */
static inline void pass_over(struct tide_templatecol *column, struct tide_templatecol_text *local) {
  local->taken++;
  if (local->has_own_numbers && local->nsizes == 0)
    return;
  column->nsizes += local->nsizes;
  for (uint32_t i = 0; i < local->npieces && !local->has_own_numbers; i++)
    column->cursors[column->pieces[local->pieces_at + i].group]++;
}

bool tide_templatecol_build(struct tide_templatecol *column, size_t n, const uint8_t *wanted, struct tide_buf *bytes,
                            const int64_t *others_offsets, const uint32_t *others_sizes, int64_t *ret_offsets,
                            uint32_t *ret_sizes) {
  assert(bytes->cap - bytes->len >= tide_templatecol_size_max(column) + TIDE_TEMPLATE_SLACK);
  unsigned char *const start = bytes->data, *at = start + bytes->len;
  const size_t end = tide_wanted_span(wanted, n).end;
  size_t other = 0;
  if (wanted != NULL)
    memset(ret_sizes, 0, n * sizeof *ret_sizes);
  for (size_t i = 0; i < end; i++) {
    if (column->locals_of[i] == 0) {
      ret_offsets[i] = others_offsets[other];
      ret_sizes[i] = others_sizes[other++];
      continue;
    }
    struct tide_templatecol_text *local = &column->locals[column->locals_of[i] - 1];
    if (wanted != NULL && !wanted[i]) {
      pass_over(column, local);
      continue;
    }
    ret_offsets[i] = local->built >= 0 ? local->built : at - start;
    if (local->built < 0)
      at = build(column, local, at);
    if (at == NULL)
      return false;
    ret_sizes[i] = local->built >= 0 ? local->tail_size : (uint32_t)(at - start - ret_offsets[i]);
    if (local->npieces == 0)
      local->built = ret_offsets[i];
  }
  bytes->len = (size_t)(at - start);
  return true;
}
