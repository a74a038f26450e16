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

static void take_numbers(const struct tide_parquet_column *column, struct tide_parquet_block *block,
                         struct tide_err *err) {
  const struct view view = view_of(column, block->batch);
  const uint64_t weight = number_weight(column);
  for (size_t i = 0; i < block->rows && !tide_err_is_set(err); i++) {
    const size_t row = block->row[i];
    bool present = has_value(column, &view, block->batch, row, err);
    block->number[i] = present ? view.numbers[row] : 0;
    if (!tide_parquet_column_scale(column, &block->number[i])) {
      block->altered[i] = true;
      present = false;
    }
    block->present[i] = present;
    block->encoded[i] += present ? weight : 1;
  }
}

static void take_bytes(const struct tide_parquet_column *column, struct tide_parquet_block *block,
                       struct tide_buf *bytes, struct tide_buf *scratch, struct tide_err *err) {
  const struct view view = view_of(column, block->batch);
  const struct tide_vec *vec = &block->batch->columns[column->source];
  for (size_t i = 0; i < block->rows && !tide_err_is_set(err); i++) {
    const bool present = has_value(column, &view, block->batch, block->row[i], err);
    const size_t start = bytes->len;
    if (present) {
      const struct tide_val val = tide_vec_get(vec, block->row[i]);
      tide_parquet_put_value(column->type, &val, bytes, scratch, &block->altered[i], err);
    }
    block->present[i] = present;
    block->number[i] = (int64_t)(bytes->len - start);
    block->encoded[i] += present ? LENGTH_SIZE + bytes->len - start : 1;
  }
}

static void take_constant(const struct tide_parquet_column *column, struct tide_parquet_block *block,
                          struct tide_buf *bytes, struct tide_err *err) {
  const struct tide_val *value = &column->value;
  const bool present = value->type != TIDE_VAL_NULL;
  const bool is_bytes = tide_parquet_column_is_bytes(column->type);
  const uint64_t weight = !present ? 1 : is_bytes ? LENGTH_SIZE + value->n : number_weight(column);
  for (size_t i = 0; i < block->rows; i++) {
    block->present[i] = present;
    block->number[i] = is_bytes ? (int64_t)value->n : value->i;
    block->encoded[i] += weight;
    block->altered[i] |= column->constant_altered;
    if (present && is_bytes)
      tide_buf_put(bytes, value->p, value->n, err);
  }
}

void tide_parquet_column_take(const struct tide_parquet_column *column, struct tide_parquet_block *block,
                              struct tide_buf *bytes, struct tide_buf *scratch, struct tide_err *err) {
  if (column->constant)
    take_constant(column, block, bytes, err);
  else if (tide_parquet_column_is_bytes(column->type))
    take_bytes(column, block, bytes, scratch, err);
  else
    take_numbers(column, block, err);
}
