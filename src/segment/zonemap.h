/* What is known of a column's values in a segment, collected when it is written: a reader that asks it may hear "maybe"
 * wrongly, never "no".
 *
 *   zone   u8 types, bit (1 << enum tide_val_type)
 *          u8 1: bounds follow, 0: none
 *          value min, value max
 *   value  u8 1 INT   zigzag
 *          u8 2 REAL  u64 bits
 *          u8 3 TEXT  u8 size (0 to 32), bytes      the same for u8 4 BLOB */
#ifndef TIDE_SEGMENT_ZONEMAP_H
#define TIDE_SEGMENT_ZONEMAP_H

#include "base/rd.h"
#include "model/batch.h"
#include "model/pred.h"

/* Bounds that are text or blob are kept to so many bytes: min cut off, max raised to the next value of that length or
 * less. Both compare byte by byte, as SQLite's BINARY does in UTF-8, so a cut inside a character does no harm. A max
 * whose kept bytes are all 0xff has no next value; the zone is then not bounded. */
enum { TIDE_ZONEMAP_BYTES_MAX = 32 };

/* A zone that owns its texts: it must stay where it is. All zero is the zone of no rows. */
struct tide_zonemap {
  struct tide_zone zone;
  unsigned char min[TIDE_ZONEMAP_BYTES_MAX];
  unsigned char max[TIDE_ZONEMAP_BYTES_MAX];
};

/* Makes it the zone of rows first to first + rows - 1 of a column. */
void tide_zonemap_collect(struct tide_zonemap *map, const struct tide_vec *vec, size_t first, size_t rows);

/* Widens it by what another zone holds, whose texts are copied. */
void tide_zonemap_widen(struct tide_zonemap *map, const struct tide_zone *zone);

/* Appends a zone; reads one, of whose texts it gives views. What cannot be sets rd->bad. */
void tide_zonemap_put(const struct tide_zone *zone, struct tide_buf *out, struct tide_err *err);
void tide_zonemap_read(struct tide_rd *rd, struct tide_zone *ret_zone);

#endif
