#include "sink/parquet_column.h"

#include <string.h>

#include "base/sqlite.h"
#include "sink/encoder.h"
#include "sink/json.h"
#include "sink/text.h"

enum { NUMBER_SIZE = 8, LENGTH_SIZE = 4 };

/* ---- one value ---- */

bool tide_parquet_column_is_bytes(enum tide_type type) {
  return type == TIDE_TYPE_TEXT || type == TIDE_TYPE_JSON || type == TIDE_TYPE_BLOB || type == TIDE_TYPE_ANY;
}

/* A value of ANY as JSON. */
static void put_any(struct tide_buf *out, const struct tide_val *val, bool *altered, struct tide_err *err) {
  switch (val->type) {
  case TIDE_VAL_INT:
    tide_text_put_int(out, val->i, err);
    break;
  case TIDE_VAL_REAL:
    tide_json_put_real(out, val->r, altered, err);
    break;
  case TIDE_VAL_TEXT:
    tide_json_put_string(out, val->p, val->n, altered, err);
    break;
  default:
    tide_buf_put_u8(out, '"', err);
    tide_text_put_base64(out, val->p, val->n, err);
    tide_buf_put_u8(out, '"', err);
  }
}

void tide_parquet_put_value(enum tide_type type, const struct tide_val *val, struct tide_buf *out,
                            struct tide_buf *scratch, bool *altered, struct tide_err *err) {
  switch (type) {
  case TIDE_TYPE_TEXT:
    tide_text_put_utf8(out, val->p, val->n, altered, err);
    break;
  case TIDE_TYPE_JSON:
    tide_buf_reset(scratch);
    if (tide_json_put_strict(scratch, val->p, val->n, err)) {
      tide_buf_put(out, val->p, val->n, err);
    } else {
      *altered = true;
      tide_json_put_string(out, val->p, val->n, altered, err);
    }
    break;
  case TIDE_TYPE_BLOB:
    tide_buf_put(out, val->p, val->n, err);
    break;
  default:
    put_any(out, val, altered, err);
  }
}

/* ---- the values of a block ---- */

/* NULL in a column that cannot hold it, or a value that is not of the column's type. */
static void refuse(const struct tide_parquet_column *column, int64_t since, struct tide_err *err) {
  tide_err_set(err, SQLITE_CORRUPT_VTAB, "column %s holds no value of its type in the row with since %lld",
               column->name, (long long)since);
}

/* A column's values in a batch. */
struct view {
  const uint8_t *tags; /* NULL: all are of the wanted type, or the column was never decoded */
  uint8_t without;     /* the type of all when tags is NULL */
  uint8_t wanted;      /* the type of a value that is not NULL; TIDE_VAL_NULL: any */
  const int64_t *numbers;
};

static struct view view_of(const struct tide_parquet_column *column, const struct tide_batch *batch) {
  struct view view = {.wanted = tide_spec_stored_type(column->type)};
  view.without = column->source < 0 ? view.wanted : TIDE_VAL_NULL;
  if (column->source == TIDE_ENCODER_SINCE)
    view.numbers = batch->since;
  else if (column->source == TIDE_ENCODER_INGESTED_AT)
    view.numbers = batch->ingested_at;
  else
    view.numbers = batch->columns[column->source].num;
  if (column->source >= 0)
    view.tags = batch->columns[column->source].tag;
  return view;
}

/* Whether a row has a value, which is then of the wanted type. */
static bool has_value(const struct tide_parquet_column *column, const struct view *view, const struct tide_batch *batch,
                      size_t row, struct tide_err *err) {
  const uint8_t tag = view->tags != NULL ? view->tags[row] : view->without;
  if (tag == TIDE_VAL_NULL ? column->required : view->wanted != TIDE_VAL_NULL && tag != view->wanted)
    refuse(column, batch->since[row], err);
  return tag != TIDE_VAL_NULL && !tide_err_is_set(err);
}

static uint64_t number_weight(const struct tide_parquet_column *column) {
  return column->type == TIDE_TYPE_BOOLEAN ? 1 : NUMBER_SIZE;
}

/* Whether row i of the block has a number, which may have no room. */
static bool take_number(const struct tide_parquet_column *column, const struct view *view,
                        struct tide_parquet_block *block, size_t i, int64_t *ret_number, struct tide_err *err) {
  if (!has_value(column, view, block->batch, block->row[i], err))
    return false;
  *ret_number = view->numbers[block->row[i]];
  const bool fits = tide_parquet_column_scale(column, ret_number);
  block->altered[i] |= !fits;
  return fits;
}

static void put_numbers(const struct tide_parquet_column *column, struct tide_parquet_block *block,
                        struct tide_err *err) {
  const struct view view = view_of(column, block->batch);
  const uint64_t weight = number_weight(column);
  for (size_t i = 0; i < block->rows && !tide_err_is_set(err); i++) {
    int64_t number;
    if (take_number(column, &view, block, i, &number, err)) {
      tide_parquet_put_number(column->leaf, 0, number);
      block->encoded[i] += weight;
    } else if (!tide_err_is_set(err)) {
      tide_parquet_put_null(column->leaf, 0, 0);
      block->encoded[i] += 1;
    }
  }
}

static void put_bytes(const struct tide_parquet_column *column, struct tide_parquet_block *block,
                      struct tide_buf *scratch, struct tide_err *err) {
  struct tide_parquet_leaf *leaf = column->leaf;
  const struct view view = view_of(column, block->batch);
  const struct tide_vec *vec = &block->batch->columns[column->source];
  for (size_t i = 0; i < block->rows && !tide_err_is_set(err); i++) {
    const size_t start = leaf->bytes.len;
    if (has_value(column, &view, block->batch, block->row[i], err)) {
      const struct tide_val val = tide_vec_get(vec, block->row[i]);
      tide_parquet_put_value(column->type, &val, &leaf->bytes, scratch, &block->altered[i], err);
      tide_parquet_put_appended(leaf, 0, start);
      block->encoded[i] += LENGTH_SIZE + leaf->bytes.len - start;
    } else if (!tide_err_is_set(err)) {
      tide_parquet_put_null(leaf, 0, 0);
      block->encoded[i] += 1;
    }
  }
}

static void count_constant(const struct tide_parquet_column *column, struct tide_parquet_block *block) {
  const struct tide_val *value = &column->value;
  const uint64_t weight = value->type == TIDE_VAL_NULL                 ? 1
                          : tide_parquet_column_is_bytes(column->type) ? LENGTH_SIZE + value->n
                                                                       : number_weight(column);
  for (size_t i = 0; i < block->rows; i++) {
    block->encoded[i] += weight;
    block->altered[i] |= column->constant_altered;
  }
}

static void put_constant(const struct tide_parquet_column *column, struct tide_parquet_block *block,
                         struct tide_err *err) {
  struct tide_parquet_leaf *leaf = column->leaf;
  const struct tide_val *value = &column->value;
  const bool is_bytes = tide_parquet_column_is_bytes(column->type);
  for (size_t i = 0; i < block->rows && !tide_err_is_set(err); i++) {
    if (value->type == TIDE_VAL_NULL) {
      tide_parquet_put_null(leaf, 0, 0);
      continue;
    }
    if (is_bytes)
      tide_buf_put(&leaf->bytes, value->p, value->n, err);
    tide_parquet_put_number(leaf, 0, is_bytes ? (int64_t)value->n : value->i);
  }
}

void tide_parquet_column_put(const struct tide_parquet_column *column, struct tide_parquet_block *block,
                             struct tide_buf *scratch, struct tide_err *err) {
  tide_parquet_leaf_reserve(column->leaf, block->rows, err);
  if (tide_err_is_set(err))
    return;
  if (column->constant) {
    count_constant(column, block);
    put_constant(column, block, err);
  } else if (tide_parquet_column_is_bytes(column->type)) {
    put_bytes(column, block, scratch, err);
  } else {
    put_numbers(column, block, err);
  }
}

void tide_parquet_column_measure(const struct tide_parquet_column *column, struct tide_parquet_block *block,
                                 struct tide_buf *value, struct tide_buf *scratch, struct tide_err *err) {
  if (column->constant) {
    count_constant(column, block);
    return;
  }
  const struct view view = view_of(column, block->batch);
  const bool is_bytes = tide_parquet_column_is_bytes(column->type);
  for (size_t i = 0; i < block->rows && !tide_err_is_set(err); i++) {
    int64_t number;
    if (!is_bytes) {
      block->encoded[i] += take_number(column, &view, block, i, &number, err) ? number_weight(column) : 1;
    } else if (has_value(column, &view, block->batch, block->row[i], err)) {
      const struct tide_val val = tide_vec_get(&block->batch->columns[column->source], block->row[i]);
      tide_buf_reset(value);
      tide_parquet_put_value(column->type, &val, value, scratch, &block->altered[i], err);
      block->encoded[i] += LENGTH_SIZE + value->len;
    } else {
      block->encoded[i] += 1;
    }
  }
}
