#include "model/options.h"

#include <stddef.h>
#include <string.h>

#include "base/sqlite.h"
#include "model/duration.h"

#define AT(field) offsetof(struct tide_options, field)

const struct tide_option_facts tide_options_facts[TIDE_OPTIONS] = {
    {"segment_rows", TIDE_OPTION_NUMBER, TIDE_OPTIONS_SEGMENT_ROWS_MIN, TIDE_OPTIONS_SEGMENT_ROWS_MAX,
     TIDE_OPTIONS_SEGMENT_ROWS, AT(segment_rows)},
    {"zstd_level", TIDE_OPTION_NUMBER, TIDE_OPTIONS_ZSTD_LEVEL_MIN, TIDE_OPTIONS_ZSTD_LEVEL_MAX,
     TIDE_OPTIONS_ZSTD_LEVEL, AT(zstd_level)},
    {"autoflush", TIDE_OPTION_NUMBER, 0, 1, 1, AT(autoflush)},
    {"retention_age", TIDE_OPTION_DURATION, TIDE_OPTIONS_NO_LIMIT, INT64_MAX, TIDE_OPTIONS_NO_LIMIT, AT(retention_age)},
    {"retention_rows", TIDE_OPTION_LIMIT, TIDE_OPTIONS_NO_LIMIT, INT64_MAX, TIDE_OPTIONS_NO_LIMIT, AT(retention_rows)},
    {"retention_bytes", TIDE_OPTION_LIMIT, TIDE_OPTIONS_NO_LIMIT, INT64_MAX, TIDE_OPTIONS_NO_LIMIT,
     AT(retention_bytes)},
    {"retention_by", TIDE_OPTION_TIME, TIDE_OPTIONS_BY_INGEST, TIDE_SPEC_COLUMNS_MAX - 1, TIDE_OPTIONS_BY_INGEST,
     AT(retention_by)},
    {"unique", TIDE_OPTION_FIXED, TIDE_OPTIONS_NOT_UNIQUE, TIDE_SPEC_COLUMNS_MAX - 1, TIDE_OPTIONS_NOT_UNIQUE,
     AT(unique)},
};

void tide_options_init(struct tide_options *options) {
  for (int i = 0; i < TIDE_OPTIONS; i++)
    *tide_options_at(options, &tide_options_facts[i]) = tide_options_facts[i].fallback;
}

const struct tide_option_facts *tide_options_find(const char *name, size_t size) {
  for (int i = 0; i < TIDE_OPTIONS; i++) {
    if (strlen(tide_options_facts[i].name) == size &&
        sqlite3_strnicmp(tide_options_facts[i].name, name, (int)size) == 0)
      return &tide_options_facts[i];
  }
  return NULL;
}

void tide_options_names(char ret_names[TIDE_OPTIONS_NAMES_SIZE]) {
  ret_names[0] = '\0';
  for (int i = 0; i < TIDE_OPTIONS; i++) {
    const size_t used = strlen(ret_names);
    sqlite3_snprintf((int)(TIDE_OPTIONS_NAMES_SIZE - used), ret_names + used, "%s%s",
                     i == TIDE_OPTIONS - 1 ? " or " : ", ", tide_options_facts[i].name);
  }
}

/* Decimal digits alone; -1 when there is anything else, or more of them than any sensible number has. */
static int64_t digits_value(const char *text, size_t size) {
  int64_t value = 0;
  if (size == 0 || size > 18)
    return -1;
  for (size_t i = 0; i < size; i++) {
    if (text[i] < '0' || text[i] > '9')
      return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

static void refuse(const struct tide_option_facts *facts, const struct tide_val *value, const char *expected,
                   struct tide_err *err) {
  if (value->type == TIDE_VAL_TEXT)
    tide_err_set(err, SQLITE_ERROR, "%s is \"%.*w\": expected %s", facts->name, value->n > 100 ? 100 : (int)value->n,
                 value->n > 0 ? (const char *)value->p : "", expected);
  else if (value->type == TIDE_VAL_INT)
    tide_err_set(err, SQLITE_ERROR, "%s is %lld: expected %s", facts->name, (long long)value->i, expected);
  else
    tide_err_set(err, SQLITE_ERROR, "%s is a %s value: expected %s", facts->name, tide_val_type_name(value->type),
                 expected);
}

static int64_t parse_number(const struct tide_option_facts *facts, const struct tide_val *value, struct tide_err *err) {
  char expected[120];
  const bool limit = facts->kind == TIDE_OPTION_LIMIT;
  const int64_t min = limit ? 0 : facts->min;
  const int64_t number = value->type == TIDE_VAL_INT    ? value->i
                         : value->type == TIDE_VAL_TEXT ? digits_value(value->p, value->n)
                                                        : -1;
  if (number >= min && number <= facts->max)
    return number;
  if (limit)
    sqlite3_snprintf((int)sizeof expected, expected, "an integer from 0 on, or NULL for no limit");
  else
    sqlite3_snprintf((int)sizeof expected, expected, "an integer from %lld to %lld", (long long)min,
                     (long long)facts->max);
  refuse(facts, value, expected, err);
  return facts->fallback;
}

static int64_t parse_column(const struct tide_option_facts *facts, const struct tide_spec *spec,
                            const struct tide_val *value, struct tide_err *err) {
  const int column = value->type == TIDE_VAL_TEXT ? tide_spec_find(spec, value->p, value->n) : -1;
  const bool any = facts->kind == TIDE_OPTION_FIXED;
  if (column >= 0 && (any || tide_spec_is_timestamp(spec->columns[column].type)))
    return column;
  refuse(facts, value,
         any ? "the name of one column, or NULL for none"
             : "the name of a TIMESTAMP column, or NULL for the time of ingest",
         err);
  return facts->fallback;
}

int tide_options_set(struct tide_options *options, const struct tide_option_facts *facts, const struct tide_spec *spec,
                     const struct tide_val *value, struct tide_err *err) {
  int64_t parsed = facts->fallback;
  if (value->type != TIDE_VAL_NULL || facts->kind == TIDE_OPTION_NUMBER) {
    if (facts->kind == TIDE_OPTION_DURATION)
      tide_duration_parse(value, facts->name, &parsed, err);
    else if (facts->kind == TIDE_OPTION_TIME || facts->kind == TIDE_OPTION_FIXED)
      parsed = parse_column(facts, spec, value, err);
    else
      parsed = parse_number(facts, value, err);
  }
  if (!tide_err_is_set(err))
    *tide_options_at(options, facts) = parsed;
  return err->rc;
}
