#include "sink/parquet_stats.h"

#include <string.h>

#include "sink/iso_time.h"
#include "sink/json.h"
#include "sink/text.h"

enum { MICROSECONDS = 1000 }; /* a millisecond */

static void put_name(struct tide_buf *out, bool *first, const char *name, struct tide_err *err) {
  bool altered = false;
  if (!*first)
    tide_buf_put_u8(out, ',', err);
  *first = false;
  tide_json_put_string(out, name, strlen(name), &altered, err);
  tide_buf_put_u8(out, ':', err);
}

static void put_number(struct tide_buf *out, bool *first, const char *name, int64_t number, struct tide_err *err) {
  char text[TIDE_TEXT_INT_SIZE];
  put_name(out, first, name, err);
  tide_buf_put(out, text, tide_text_int(number, text), err);
}

static void put_real(struct tide_buf *out, bool *first, const char *name, int64_t bits, struct tide_err *err) {
  const double real = tide_real_of_bits(bits);
  bool infinite = false;
  if (real - real != 0)
    return;
  put_name(out, first, name, err);
  tide_json_put_real(out, real, &infinite, err);
}

static void put_time(struct tide_buf *out, bool *first, const char *name, int64_t ms, struct tide_err *err) {
  char text[TIDE_ISO_TIME_SIZE];
  bool altered = false;
  const size_t size = tide_iso_time(ms, TIDE_TYPE_TIMESTAMP_MS, text);
  if (size == 0)
    return;
  put_name(out, first, name, err);
  tide_json_put_string(out, text, size, &altered, err);
}

/* Microseconds as milliseconds, down or up. */
static int64_t round_microseconds(int64_t us, bool up) {
  const int64_t rest = us % MICROSECONDS;
  return us / MICROSECONDS + (up && rest > 0) - (!up && rest < 0);
}

static void put_bound(struct tide_buf *out, bool *first, const struct tide_parquet_stats_column *column, bool max,
                      struct tide_err *err) {
  const struct tide_parquet_bounds *bounds = &column->totals->bounds;
  const struct tide_parquet_bound *bound = max ? &bounds->max : &bounds->min;
  const int64_t number = tide_parquet_bound_number(TIDE_PARQUET_INT64, bound);
  bool altered = false;
  if (!bounds->any || bounds->nans > 0 || (max && bounds->unlimited))
    return;
  switch (column->logical) {
  case TIDE_PARQUET_TIMESTAMP_MS:
    put_time(out, first, column->name, number, err);
    break;
  case TIDE_PARQUET_TIMESTAMP_US:
    put_time(out, first, column->name, round_microseconds(number, max), err);
    break;
  case TIDE_PARQUET_STRING:
  case TIDE_PARQUET_JSON:
    put_name(out, first, column->name, err);
    tide_json_put_string(out, bound->bytes, bound->size, &altered, err);
    break;
  default:
    if (column->type == TIDE_PARQUET_INT64)
      put_number(out, first, column->name, number, err);
    else if (column->type == TIDE_PARQUET_DOUBLE)
      put_real(out, first, column->name, number, err);
  }
}

void tide_parquet_put_stats(int64_t rows, const struct tide_parquet_stats_column *columns, size_t ncolumns,
                            struct tide_buf *out, struct tide_err *err) {
  bool first = true;
  tide_buf_put_u8(out, '{', err);
  put_number(out, &first, "numRecords", rows, err);
  for (int max = 0; max < 2; max++) {
    tide_buf_put_string(out, max ? ",\"maxValues\":{" : ",\"minValues\":{", err);
    first = true;
    for (size_t i = 0; i < ncolumns; i++)
      put_bound(out, &first, &columns[i], max != 0, err);
    tide_buf_put_u8(out, '}', err);
  }
  tide_buf_put_string(out, ",\"nullCount\":{", err);
  first = true;
  for (size_t i = 0; i < ncolumns; i++)
    put_number(out, &first, columns[i].name, columns[i].totals->nulls, err);
  tide_buf_put_string(out, "}}", err);
}
