/* The options of a dataset: given to CREATE VIRTUAL TABLE, changed by tidemark_set unless they are fixed, kept by name
 * in the shadow table _config. partition_by is not among them: it is part of the columns and never changes. */
#ifndef TIDE_MODEL_OPTIONS_H
#define TIDE_MODEL_OPTIONS_H

#include "model/spec.h"

enum {
  TIDE_OPTIONS_SEGMENT_ROWS_MIN = 16,
  TIDE_OPTIONS_SEGMENT_ROWS_MAX = 1048576,
  TIDE_OPTIONS_SEGMENT_ROWS = 65536,
  TIDE_OPTIONS_ZSTD_LEVEL_MIN = 1,
  TIDE_OPTIONS_ZSTD_LEVEL_MAX = 19,
  TIDE_OPTIONS_ZSTD_LEVEL = 3,
  TIDE_OPTIONS_NO_LIMIT = -1,
  TIDE_OPTIONS_BY_INGEST = -1,
  TIDE_OPTIONS_NOT_UNIQUE = -1
};

/* All of one type, so that one table describes them (tide_options_facts). */
struct tide_options {
  int64_t segment_rows;
  int64_t zstd_level;
  int64_t autoflush;       /* 0 or 1 */
  int64_t retention_age;   /* ms; TIDE_OPTIONS_NO_LIMIT, as the next two */
  int64_t retention_rows;  /* of a partition */
  int64_t retention_bytes; /* of a partition, as stored */
  int64_t retention_by;    /* the index of a TIMESTAMP column, or TIDE_OPTIONS_BY_INGEST */
  int64_t unique;          /* the index of the column whose values are there once, or TIDE_OPTIONS_NOT_UNIQUE */
};

enum tide_option_kind {
  TIDE_OPTION_NUMBER,
  TIDE_OPTION_LIMIT,    /* a number, or NULL for none */
  TIDE_OPTION_DURATION, /* milliseconds, or NULL for none */
  TIDE_OPTION_TIME,     /* a TIMESTAMP column's name, or NULL for the time of ingest */
  TIDE_OPTION_FIXED /* a column's name, or NULL for none; given to CREATE alone, for there are tables that go by it */
};

struct tide_option_facts {
  const char *name;
  enum tide_option_kind kind;
  int64_t min; /* what may be stored */
  int64_t max;
  int64_t fallback; /* when it is not given */
  size_t offset;    /* in struct tide_options */
};

enum { TIDE_OPTIONS = 8 };
extern const struct tide_option_facts tide_options_facts[TIDE_OPTIONS];

static inline int64_t *tide_options_at(struct tide_options *options, const struct tide_option_facts *facts) {
  return (int64_t *)((char *)options + facts->offset);
}

void tide_options_init(struct tide_options *options); /* the fallbacks */

/* All names, each behind a comma or "or": for the end of a sentence. */
enum { TIDE_OPTIONS_NAMES_SIZE = 200 };
void tide_options_names(char ret_names[TIDE_OPTIONS_NAMES_SIZE]);

/* The option of that name, ASCII case ignored; NULL when there is none. */
const struct tide_option_facts *tide_options_find(const char *name, size_t size);

/* Sets an option to a value as a user wrote it: a number may be text, a column is named. On SQLITE_ERROR, which names
 * option and value and says what was expected, nothing is changed. Returns 0 or the code. */
int tide_options_set(struct tide_options *options, const struct tide_option_facts *facts, const struct tide_spec *spec,
                     const struct tide_val *value, struct tide_err *err);

#endif
