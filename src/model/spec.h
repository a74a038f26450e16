/* What a dataset is: its columns. Made by spec_parse.c from CREATE VIRTUAL TABLE's words, or by the
 * catalog from the shadow tables. Reference-counted, since cursors outlive a change of the schema; immutable once
 * shared. */
#ifndef TIDE_MODEL_SPEC_H
#define TIDE_MODEL_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/val.h"

/* Stored in the shadow table _column by name (tide_spec_type_name), never by number. */
enum tide_type {
  TIDE_TYPE_ANY,
  TIDE_TYPE_INTEGER,
  TIDE_TYPE_REAL,
  TIDE_TYPE_TEXT,
  TIDE_TYPE_BLOB,
  TIDE_TYPE_BOOLEAN,     /* an integer, 0 or 1 */
  TIDE_TYPE_JSON,        /* text, not validated */
  TIDE_TYPE_TIMESTAMP_S, /* integers since 1970 UTC */
  TIDE_TYPE_TIMESTAMP_MS,
  TIDE_TYPE_TIMESTAMP_US,
  TIDE_TYPE_TIMESTAMP_NS
};

struct tide_column {
  char *name;
  enum tide_type type;
  bool not_null;
  int partition_at;           /* its place in partition_by, from 0; -1: not a partition column */
  struct tide_val dflt_value; /* what rows read that were written before the column was added: its DEFAULT, of the
                                 column's type, NULL without one; the bytes are the column's own */
};

/* Copies a value's bytes into an empty dflt_value. */
int tide_column_set_default(struct tide_column *column, const struct tide_val *value, struct tide_err *err);
void tide_column_clear(struct tide_column *column); /* frees what it owns */
bool tide_column_equal(const struct tide_column *a, const struct tide_column *b);

enum {
  TIDE_SPEC_COLUMNS_MAX = 1990, /* SQLite's 2,000 less the hidden ones */
  TIDE_SPEC_PARTITION_MAX = 8,  /* columns in partition_by */
  TIDE_SPEC_DEFAULT_MAX = 1024  /* bytes of a DEFAULT, which is decoded once for each row of a tail entry */
};

struct tide_spec {
  int refs;
  size_t ncolumns;
  struct tide_column *columns;
  size_t npartition; /* columns in partition_by; 0: one partition */
  size_t *partition; /* indexes into columns, in the order of partition_by */
};

struct tide_spec *tide_spec_ref(struct tide_spec *spec);
void tide_spec_unref(struct tide_spec *spec); /* NULL is fine */

/* Whether two say the same in every column. */
bool tide_spec_equal(const struct tide_spec *a, const struct tide_spec *b);

/* The column of that name, ASCII case ignored as SQLite does; -1 when there is none. */
int tide_spec_find(const struct tide_spec *spec, const char *name, size_t size);

/* The word of DDL for a type ("TIMESTAMP_MS"; "ANY"), and its inverse, case ignored: false when there is no such
 * type. */
const char *tide_spec_type_name(enum tide_type type);
bool tide_spec_type_of(const char *name, size_t size, enum tide_type *ret_type);

/* The type SQLite sees in sqlite3_declare_vtab: "INTEGER", "REAL", "TEXT", "BLOB", "" (ANY: no affinity). */
const char *tide_spec_declared_type(enum tide_type type);

/* Which stored type a non-NULL value of the column has; TIDE_VAL_NULL for ANY: any. */
uint8_t tide_spec_stored_type(enum tide_type type);

bool tide_spec_is_timestamp(enum tide_type type);

/* The names of the hidden columns, in the order in which they follow the visible ones. */
enum { TIDE_HIDDEN_SINCE, TIDE_HIDDEN_PARTITION, TIDE_HIDDEN_INGESTED_AT, TIDE_HIDDEN_COLUMNS };
const char *tide_spec_hidden_name(int hidden);

#endif
