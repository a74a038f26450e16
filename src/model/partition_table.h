/* The words of a partition table, which presents one partition of a dataset as a table of its own:
 *   CREATE VIRTUAL TABLE name USING tidemark_partition([schema.]dataset, column=value, ...)
 * with a constant (model/literal.h) for each partition column. What they mean needs the dataset: parse first, then match.
 * All zero is an empty one. */
#ifndef TIDE_MODEL_PARTITION_TABLE_H
#define TIDE_MODEL_PARTITION_TABLE_H

#include "model/spec.h"

#define TIDE_PARTITION_TABLE_MODULE "tidemark_partition"

struct tide_partition_value {
  char *column;
  char *constant; /* as written */
};

struct tide_partition_table {
  char *schema; /* before the dataset's name; NULL: none was written */
  char *dataset;
  size_t nvalues;
  struct tide_partition_value *values; /* no column twice */
};

/* Reads the arguments of the module. Returns 0, or the code of a sentence that names the word at fault; nothing is to
 * be cleared then. */
int tide_partition_table_parse(int argc, const char *const *args, struct tide_partition_table *ret_table,
                               struct tide_err *err);

/* Reads schema and dataset, without the values, from a statement of sqlite_schema. false when it makes no partition
 * table, and on error. */
bool tide_partition_table_of_sql(const char *sql, struct tide_partition_table *ret_table, struct tide_err *err);

void tide_partition_table_clear(struct tide_partition_table *table);

/* The values in partition_by's order, spec->npartition of them, as views. SQLITE_ERROR with a sentence unless they are
 * for the partition columns, each of them. */
int tide_partition_table_match(const struct tide_partition_table *table, const struct tide_spec *spec,
                               const struct tide_partition_value *ret_values[TIDE_SPEC_PARTITION_MAX],
                               struct tide_err *err);

#endif
