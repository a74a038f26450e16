/* What the bases are made of. */
#ifndef TIDE_TESTS_FUZZ_BASE_SQL_H
#define TIDE_TESTS_FUZZ_BASE_SQL_H

#include <stddef.h>

/* Statements, NULL-ended; a %s is the folder that sinks ship to. Schema "twin" gets for each dataset an ordinary table
 * of its name, with the columns since, part (the partition's text) and live in front. */
const char *const *base_sql(size_t which);
/* The path of the file that it is instead; NULL: it is made. */
const char *base_golden(size_t which);

#endif
