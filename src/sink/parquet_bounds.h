/* The least and the greatest of a page's or a column chunk's values, for its statistics: in the order of the column's
 * type (signed numbers; doubles with -0.0 as the least zero and 0.0 as the greatest, as parquet.thrift wants it under
 * ColumnOrder; false before true; bytes unsigned, byte by byte). Long byte strings are cut to TIDE_PARQUET_BOUND_SIZE,
 * the greatest rounded up, and text is cut between characters; such bounds are not exact.
 *
 * Life: all zero; any number of adds and merges; clear. */
#ifndef TIDE_SINK_PARQUET_BOUNDS_H
#define TIDE_SINK_PARQUET_BOUNDS_H

#include "sink/parquet_schema.h"

enum { TIDE_PARQUET_BOUND_SIZE = 64 };

struct tide_parquet_bound {
  bool exact;
  size_t size;
  unsigned char bytes[TIDE_PARQUET_BOUND_SIZE]; /* the value as Statistics has it: numbers little-endian */
};

struct tide_parquet_bounds {
  bool any;       /* there is a value that is no NaN */
  bool unlimited; /* a value has no upper bound of that size: max is without meaning */
  int64_t nans;
  struct tide_parquet_bound min;
  struct tide_parquet_bound max;
};

/* All values of one page: numbers as in struct tide_parquet_leaf, or n byte strings of those sizes one behind the
 * other. text: they are well-formed UTF-8. */
struct tide_parquet_bounds tide_parquet_bounds_of_numbers(enum tide_parquet_type type, const int64_t *numbers,
                                                          size_t n);
struct tide_parquet_bounds tide_parquet_bounds_of_bytes(const unsigned char *bytes, const int64_t *sizes, size_t n,
                                                        bool text);

/* Widens bounds by others of the same type. */
void tide_parquet_bounds_merge(struct tide_parquet_bounds *bounds, enum tide_parquet_type type,
                               const struct tide_parquet_bounds *other);

/* The order of two bounds of a type: below 0, 0, above 0. */
int tide_parquet_bound_compare(enum tide_parquet_type type, const struct tide_parquet_bound *a,
                               const struct tide_parquet_bound *b);

/* The number in a bound: an integer, or the bits of a double. */
int64_t tide_parquet_bound_number(enum tide_parquet_type type, const struct tide_parquet_bound *bound);

#endif
