#include "model/partition.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/sqlite.h"

static const char null_text[] = "__HIVE_DEFAULT_PARTITION__";
enum { NULL_TEXT_SIZE = sizeof null_text - 1 };

static bool is_plain(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         c == '.' || c == '~';
}

static void put_escaped(struct tide_buf *out, unsigned char c, struct tide_err *err) {
  static const char digits[] = "0123456789ABCDEF";
  char escaped[3] = {'%', digits[c >> 4], digits[c & 15]};
  tide_buf_put(out, escaped, sizeof escaped, err);
}

static void put_bytes(struct tide_buf *out, const unsigned char *bytes, size_t size, struct tide_err *err) {
  for (size_t i = 0; i < size; i++) {
    if (is_plain(bytes[i]))
      tide_buf_put_u8(out, bytes[i], err);
    else
      put_escaped(out, bytes[i], err);
  }
}

static bool is_null_text(const void *bytes, size_t size) {
  return size == NULL_TEXT_SIZE && memcmp(bytes, null_text, size) == 0;
}

static void put_value(struct tide_buf *out, const struct tide_val *val, struct tide_err *err) {
  assert(val->type == TIDE_VAL_NULL || val->type == TIDE_VAL_INT || val->type == TIDE_VAL_TEXT);
  const unsigned char *bytes = val->p;
  if (val->type == TIDE_VAL_NULL) {
    tide_buf_put(out, null_text, NULL_TEXT_SIZE, err);
  } else if (val->type == TIDE_VAL_INT) {
    tide_buf_printf(out, err, "%lld", (long long)val->i);
  } else if (is_null_text(bytes, val->n)) {
    put_escaped(out, bytes[0], err);
    put_bytes(out, bytes + 1, val->n - 1, err);
  } else {
    put_bytes(out, bytes, val->n, err);
  }
}

static const struct tide_column *part_column(const struct tide_spec *spec, size_t part) {
  return &spec->columns[spec->partition[part]];
}

static void put_part(struct tide_buf *out, const struct tide_column *column, const struct tide_val *val,
                     struct tide_err *err) {
  size_t start = out->len;
  put_bytes(out, (const unsigned char *)column->name, strlen(column->name), err);
  tide_buf_put_u8(out, '=', err);
  if (val->type != TIDE_VAL_TEXT || val->n < TIDE_PARTITION_PART_MAX) /* a longer one is not worth encoding */
    put_value(out, val, err);
  if (out->len - start > TIDE_PARTITION_PART_MAX || (val->type == TIDE_VAL_TEXT && val->n >= TIDE_PARTITION_PART_MAX))
    tide_err_set(err, SQLITE_CONSTRAINT,
                 "the value of partition column \"%w\" is too long: its part of the partition's text may have at most "
                 "%d bytes",
                 column->name, TIDE_PARTITION_PART_MAX);
}

void tide_partition_encode(const struct tide_spec *spec, const struct tide_val *values, struct tide_buf *out,
                           struct tide_err *err) {
  size_t start = out->len;
  for (size_t i = 0; i < spec->npartition && !tide_err_is_set(err); i++) {
    if (i > 0)
      tide_buf_put_u8(out, '/', err);
    put_part(out, part_column(spec, i), &values[i], err);
  }
  if (tide_err_is_set(err))
    out->len = start;
}

void tide_partition_encode_name(const char *text, size_t size, struct tide_buf *out, struct tide_err *err) {
  if ((size == 1 || size == 2) && memcmp(text, "..", size) == 0) {
    for (size_t i = 0; i < size; i++)
      put_escaped(out, '.', err);
  } else {
    put_bytes(out, (const unsigned char *)text, size, err);
  }
}

/* ---- Decoding: read leniently, encode again, and take only what comes out the same ---- */

static int digit_value(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Appends the decoded bytes; false when an escape is none. */
static bool take_text(const char *at, const char *end, struct tide_buf *bytes, struct tide_val *ret_val,
                      struct tide_err *err) {
  size_t start = bytes->len;
  for (; at < end; at++) {
    int byte = (unsigned char)*at;
    if (*at == '%') {
      int high = end - at > 2 ? digit_value(at[1]) : -1;
      int low = end - at > 2 ? digit_value(at[2]) : -1;
      if (high < 0 || low < 0)
        return false;
      byte = high << 4 | low;
      at += 2;
    }
    tide_buf_put_u8(bytes, (uint8_t)byte, err);
  }
  *ret_val = tide_val_text(NULL, bytes->len - start);
  tide_buf_put_u8(bytes, 0, err);
  return true;
}

static bool take_int(const char *at, const char *end, struct tide_val *ret_val) {
  bool negative = at < end && *at == '-';
  int64_t value = 0;
  if (negative)
    at++;
  if (at == end)
    return false;
  for (; at < end; at++) {
    int digit = digit_value(*at);
    if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, negative ? -digit : digit, &value))
      return false;
  }
  *ret_val = tide_val_int(value);
  return true;
}

static bool take_value(const char *at, const char *end, enum tide_type type, struct tide_buf *bytes,
                       struct tide_val *ret_val, struct tide_err *err) {
  if (is_null_text(at, (size_t)(end - at))) {
    *ret_val = tide_val_null();
    return true;
  }
  if (tide_spec_stored_type(type) == TIDE_VAL_INT)
    return take_int(at, end, ret_val);
  return take_text(at, end, bytes, ret_val, err);
}

/* Splits the text into its parts and reads their values; names are left to the comparison. Texts get no pointer yet. */
static bool take_parts(const struct tide_spec *spec, const char *text, size_t size, struct tide_val *ret_values,
                       struct tide_buf *bytes, struct tide_err *err) {
  const char *end = text + size;
  if (size > spec->npartition * (TIDE_PARTITION_PART_MAX + 1))
    return false;
  for (size_t i = 0; i < spec->npartition; i++) {
    const char *slash = memchr(text, '/', (size_t)(end - text));
    const char *stop = slash != NULL ? slash : end;
    const char *equals = memchr(text, '=', (size_t)(stop - text));
    bool last = i + 1 == spec->npartition;
    if (equals == NULL || last != (slash == NULL))
      return false;
    if (!take_value(equals + 1, stop, part_column(spec, i)->type, bytes, &ret_values[i], err))
      return false;
    text = last ? end : slash + 1;
  }
  return text == end;
}

static void point_texts(struct tide_val *values, size_t n, const unsigned char *bytes) {
  for (size_t i = 0; i < n; i++) {
    if (values[i].type != TIDE_VAL_TEXT)
      continue;
    values[i].p = bytes;
    bytes = bytes != NULL ? bytes + values[i].n + 1 : NULL;
  }
}

/* "source=..., day=..." for an error's sentence. */
static void refuse(const struct tide_spec *spec, const char *text, size_t size, struct tide_err *err) {
  struct tide_buf form = {0};
  for (size_t i = 0; i < spec->npartition; i++) {
    const char *name = part_column(spec, i)->name;
    tide_buf_put_string(&form, i > 0 ? "/" : "", err);
    put_bytes(&form, (const unsigned char *)name, strlen(name), err);
    tide_buf_put_string(&form, "=...", err);
  }
  tide_err_set(err, SQLITE_ERROR, "'%.*q' is no partition of this dataset: expected '%.*s', percent-encoded",
               size > 100 ? 100 : (int)size, size > 0 ? text : "", (int)form.len,
               form.len > 0 ? (char *)form.data : "");
  tide_buf_clear(&form);
}

int tide_partition_decode(const struct tide_spec *spec, const char *text, size_t size, struct tide_val *ret_values,
                          struct tide_buf *ret_bytes, struct tide_err *err) {
  struct tide_val values[TIDE_SPEC_PARTITION_MAX];
  struct tide_buf again = {0};
  size_t start = ret_bytes->len;
  assert(spec->npartition <= TIDE_SPEC_PARTITION_MAX);
  if (tide_err_is_set(err))
    return err->rc;
  bool good = take_parts(spec, size > 0 ? text : "", size, values, ret_bytes, err);
  if (good && !tide_err_is_set(err)) {
    point_texts(values, spec->npartition, ret_bytes->data != NULL ? ret_bytes->data + start : NULL);
    struct tide_err unlike = {0};
    tide_partition_encode(spec, values, &again, &unlike);
    if (unlike.rc == SQLITE_NOMEM)
      tide_err_nomem(err);
    good = unlike.rc == 0 && again.len == size && (size == 0 || memcmp(again.data, text, size) == 0);
  }
  if (!good)
    refuse(spec, text, size, err);
  tide_buf_clear(&again);
  if (tide_err_is_set(err))
    ret_bytes->len = start;
  else if (spec->npartition > 0)
    memcpy(ret_values, values, spec->npartition * sizeof *values);
  return err->rc;
}
