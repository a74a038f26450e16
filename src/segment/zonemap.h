/* What is known of a column's values in a segment, collected when it is written: a reader that asks it may hear "maybe"
 * wrongly, never "no". */
#ifndef TIDE_SEGMENT_ZONEMAP_H
#define TIDE_SEGMENT_ZONEMAP_H

#include "model/batch.h"
#include "model/pred.h"

/* Bounds that are text or blob are kept to so many bytes: min cut off, max raised to the next value of that length or
 * less. Both compare byte by byte, as SQLite's BINARY does in UTF-8, so a cut inside a character does no harm. A max
 * whose kept bytes are all 0xff has no next value; the zone is then not bounded. */
enum { TIDE_ZONEMAP_BYTES_MAX = 32 };

/* The zone of the first `rows` rows of a column. A max that had to be raised lies in `raised`, other texts are views
 * into the column. */
void tide_zonemap_collect(const struct tide_vec *vec, size_t rows, unsigned char raised[TIDE_ZONEMAP_BYTES_MAX],
                          struct tide_zone *ret_zone);

#endif
