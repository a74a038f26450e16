/* A partition's text: "source=web", "source=web/day=2026-01-01", "" for the one partition of an unpartitioned
 * dataset. It is the partition's name everywhere outside, also as folders (Hive style), so two different values
 * never give the same text, and no part is "." or "..".
 *   part   = column name, '=', value; both percent-encoded: every byte but A-Z a-z 0-9 - _ . ~ becomes %XX (upper case)
 *   value  NULL    __HIVE_DEFAULT_PARTITION__
 *          INTEGER its decimal digits
 *          TEXT    its bytes; '' is the empty string; the text __HIVE_DEFAULT_PARTITION__ itself has its first '_'
 *                  encoded
 *                  (%5F_HIVE...) so that it and NULL stay apart
 * A column's name is never empty and every part holds '=', so no part is "." or "..". Bytes above 0x7F are encoded
 * too. */
#ifndef TIDE_MODEL_PARTITION_H
#define TIDE_MODEL_PARTITION_H

#include "base/buf.h"
#include "model/spec.h"

enum { TIDE_PARTITION_PART_MAX = 255 };

/* Appends the text of the partition whose values are those (spec->npartition of them, in partition_by's order; INT,
 * TEXT or NULL). An encoded part above 255 bytes is SQLITE_CONSTRAINT with a sentence. */
void tide_partition_encode(const struct tide_spec *spec, const struct tide_val *values, struct tide_buf *out,
                           struct tide_err *err);

/* The inverse: values get views into *ret_bytes, which the call appends to (make room first is not needed; views are
 * set at the end), texts with a NUL behind them. SQLITE_ERROR with a sentence when the text is no partition of that
 * spec, in particular not the one encode gives. */
int tide_partition_decode(const struct tide_spec *spec, const char *text, size_t size, struct tide_val *ret_values,
                          struct tide_buf *ret_bytes, struct tide_err *err);

/* The percent-encoding by itself, for names that become files: "." and ".." come out as "%2E" and "%2E%2E". */
void tide_partition_encode_name(const char *text, size_t size, struct tide_buf *out, struct tide_err *err);

#endif
