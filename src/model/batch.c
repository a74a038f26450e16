#include "model/batch.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"

/* Grows one of several arrays that share a capacity: *array changes at once, the capacity only when all have grown. */
static void *grow(void *array, size_t cap, size_t rows, size_t size, size_t *ret_cap, struct tide_err *err) {
  if (tide_err_is_set(err))
    return array;
  if (tide_grow(&array, &cap, rows, size, err) == 0)
    *ret_cap = cap;
  return array;
}

int tide_vec_reserve(struct tide_vec *vec, size_t rows, struct tide_err *err) {
  if (rows <= vec->cap)
    return 0;
  size_t cap = vec->cap;
  vec->tag = grow(vec->tag, vec->cap, rows, sizeof *vec->tag, &cap, err);
  vec->num = grow(vec->num, vec->cap, rows, sizeof *vec->num, &cap, err);
  vec->size = grow(vec->size, vec->cap, rows, sizeof *vec->size, &cap, err);
  if (!tide_err_is_set(err))
    vec->cap = cap;
  return err->rc;
}

int tide_batch_reserve(struct tide_batch *batch, size_t rows, struct tide_err *err) {
  if (rows <= batch->cap)
    return 0;
  size_t cap = batch->cap;
  batch->since = grow(batch->since, batch->cap, rows, sizeof *batch->since, &cap, err);
  batch->ingested_at = grow(batch->ingested_at, batch->cap, rows, sizeof *batch->ingested_at, &cap, err);
  if (!tide_err_is_set(err))
    batch->cap = cap;
  return err->rc;
}

void tide_vec_clear(struct tide_vec *vec) {
  tide_free(vec->tag);
  tide_free(vec->num);
  tide_free(vec->size);
  tide_buf_clear(&vec->bytes);
  *vec = (struct tide_vec){0};
}

int tide_batch_init(struct tide_batch *batch, size_t ncolumns, struct tide_err *err) {
  *batch = (struct tide_batch){0};
  batch->columns = tide_alloc_zero(ncolumns, sizeof *batch->columns, err);
  if (batch->columns == NULL)
    return err->rc;
  batch->ncolumns = ncolumns;
  return 0;
}

void tide_batch_reset(struct tide_batch *batch) {
  batch->rows = 0;
  batch->raw_bytes = 0;
  for (size_t i = 0; i < batch->ncolumns; i++) {
    struct tide_vec *vec = &batch->columns[i];
    tide_buf_reset(&vec->bytes);
    vec->base = vec->bytes.data;
  }
}

size_t tide_batch_memory(const struct tide_batch *batch) {
  size_t bytes = batch->cap * (sizeof *batch->since + sizeof *batch->ingested_at);
  for (size_t i = 0; i < batch->ncolumns; i++) {
    const struct tide_vec *vec = &batch->columns[i];
    bytes += vec->cap * (sizeof *vec->tag + sizeof *vec->num + sizeof *vec->size) + vec->bytes.cap;
  }
  return bytes;
}

void tide_batch_clear(struct tide_batch *batch) {
  for (size_t i = 0; i < batch->ncolumns; i++)
    tide_vec_clear(&batch->columns[i]);
  tide_free(batch->columns);
  tide_free(batch->since);
  tide_free(batch->ingested_at);
  *batch = (struct tide_batch){0};
}

static int put_bytes(struct tide_vec *vec, size_t row, const struct tide_val *val, struct tide_err *err) {
  if (val->n > UINT32_MAX) {
    tide_err_set(err, SQLITE_TOOBIG, "a value of %llu bytes is above the limit of 4294967295",
                 (unsigned long long)val->n);
    return err->rc;
  }
  assert(row == 0 || vec->base == vec->bytes.data); /* a decoded column has its offsets elsewhere */
  if (val->n > vec->bytes.cap - vec->bytes.len && tide_buf_reserve(&vec->bytes, val->n, err) != 0)
    return err->rc;
  vec->base = vec->bytes.data;
  vec->num[row] = (int64_t)vec->bytes.len;
  vec->size[row] = (uint32_t)val->n;
  if (val->n > 0)
    memcpy(vec->bytes.data + vec->bytes.len, val->p, val->n);
  vec->bytes.len += val->n;
  return 0;
}

static int put_value(struct tide_vec *vec, size_t row, const struct tide_val *val, struct tide_err *err) {
  if (row >= vec->cap && tide_vec_reserve(vec, row + 1, err) != 0)
    return err->rc;
  assert(val->type < TIDE_VAL_TYPES);
  vec->tag[row] = val->type;
  if (val->type >= TIDE_VAL_TEXT)
    return put_bytes(vec, row, val, err);
  vec->size[row] = 0;
  if (val->type == TIDE_VAL_REAL)
    memcpy(&vec->num[row], &val->r, sizeof vec->num[row]);
  else
    vec->num[row] = val->type == TIDE_VAL_INT ? val->i : 0;
  return 0;
}

/* Takes back the bytes of the first n values of a row that is not to be. */
static void take_back(struct tide_batch *batch, const struct tide_val *values, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (values[i].type >= TIDE_VAL_TEXT)
      batch->columns[i].bytes.len -= values[i].n;
  }
}

static const uint8_t fixed_bytes[TIDE_VAL_TYPES] = {[TIDE_VAL_NULL] = 1, [TIDE_VAL_INT] = 8, [TIDE_VAL_REAL] = 8};

int tide_batch_append(struct tide_batch *batch, int64_t since, int64_t ingested_at, const struct tide_val *values,
                      struct tide_err *err) {
  if (tide_err_is_set(err))
    return err->rc;
  size_t row = batch->rows;
  uint64_t raw_bytes = 16;
  if (row >= batch->cap && tide_batch_reserve(batch, row + 1, err) != 0)
    return err->rc;
  for (size_t i = 0; i < batch->ncolumns; i++) {
    if (put_value(&batch->columns[i], row, &values[i], err) != 0) {
      take_back(batch, values, i);
      return err->rc;
    }
    raw_bytes += values[i].type >= TIDE_VAL_TEXT ? values[i].n : fixed_bytes[values[i].type];
  }
  batch->since[row] = since;
  batch->ingested_at[row] = ingested_at;
  batch->raw_bytes += raw_bytes;
  batch->rows = row + 1;
  return 0;
}

/* ---- rows of another batch ---- */

/* Room for `rows` more rows in all columns, and for their texts and blobs. */
static int reserve_rows(struct tide_batch *batch, const struct tide_batch *from, size_t first, size_t rows,
                        struct tide_err *err) {
  if (tide_err_is_set(err) || tide_batch_reserve(batch, batch->rows + rows, err) != 0)
    return err->rc;
  for (size_t i = 0; i < batch->ncolumns; i++) {
    const struct tide_vec *source = &from->columns[i];
    assert(batch->rows == 0 || batch->columns[i].base == batch->columns[i].bytes.data);
    size_t bytes = 0;
    for (size_t row = first; source->tag != NULL && row < first + rows; row++)
      bytes += source->tag[row] >= TIDE_VAL_TEXT ? source->size[row] : 0;
    if (tide_vec_reserve(&batch->columns[i], batch->rows + rows, err) != 0 ||
        (bytes > 0 && tide_buf_reserve(&batch->columns[i].bytes, bytes, err) != 0))
      return err->rc;
    batch->columns[i].base = batch->columns[i].bytes.data; /* also for those that are there, should a later one fail */
  }
  return 0;
}

/* Where there is room already. */
static void copy_rows(struct tide_vec *vec, size_t at, const struct tide_vec *source, size_t first, size_t rows) {
  if (source->tag == NULL) {
    memset(vec->tag + at, TIDE_VAL_NULL, rows);
    memset(vec->num + at, 0, rows * sizeof *vec->num);
    memset(vec->size + at, 0, rows * sizeof *vec->size);
    return;
  }
  memcpy(vec->tag + at, source->tag + first, rows);
  memcpy(vec->num + at, source->num + first, rows * sizeof *vec->num);
  memcpy(vec->size + at, source->size + first, rows * sizeof *vec->size);
  for (size_t row = at; row < at + rows; row++) {
    if (vec->tag[row] < TIDE_VAL_TEXT)
      continue;
    const size_t size = vec->size[row];
    if (size > 0)
      memcpy(vec->bytes.data + vec->bytes.len, source->base + vec->num[row], size);
    vec->num[row] = (int64_t)vec->bytes.len;
    vec->bytes.len += size;
  }
}

int tide_batch_append_rows(struct tide_batch *batch, const struct tide_batch *from, size_t first, size_t rows,
                           struct tide_err *err) {
  assert(batch->ncolumns == from->ncolumns);
  if (reserve_rows(batch, from, first, rows, err) != 0)
    return err->rc;
  for (size_t i = 0; i < batch->ncolumns; i++)
    copy_rows(&batch->columns[i], batch->rows, &from->columns[i], first, rows);
  memcpy(batch->since + batch->rows, from->since + first, rows * sizeof *batch->since);
  memcpy(batch->ingested_at + batch->rows, from->ingested_at + first, rows * sizeof *batch->ingested_at);
  batch->raw_bytes += tide_batch_raw_bytes(from, first, rows);
  batch->rows += rows;
  return 0;
}

uint64_t tide_batch_raw_bytes(const struct tide_batch *batch, size_t first, size_t rows) {
  uint64_t bytes = 16 * (uint64_t)rows;
  for (size_t i = 0; i < batch->ncolumns; i++) {
    const struct tide_vec *vec = &batch->columns[i];
    if (vec->tag == NULL)
      bytes += rows;
    for (size_t row = first; vec->tag != NULL && row < first + rows; row++)
      bytes += vec->tag[row] >= TIDE_VAL_TEXT ? vec->size[row] : fixed_bytes[vec->tag[row]];
  }
  return bytes;
}
