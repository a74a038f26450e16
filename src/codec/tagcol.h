/* A section of type tags (enum tide_val_type), one a row: the first section of every column frame.
 *
 *   byte 0  0 to 4  all rows have that tag
 *           0x10    BITS: u8 mask of the tags that occur (bit 1 << tag), then each row's place among them from the
 * lowest, in bits
 *                   (bitpack.h) of the smallest width: 1 for two tags, 2 for three and four, 3 for five
 *           0x11    RUNS: runs that fill the rows, each varint length (1 or more), u8 tag */
#ifndef TIDE_CODEC_TAGCOL_H
#define TIDE_CODEC_TAGCOL_H

#include "base/buf.h"
#include "base/rd.h"
#include "model/val.h"

enum { TIDE_TAGCOL_BITS = 0x10, TIDE_TAGCOL_RUNS = 0x11 };

/* Appends the section of n tags, n at least 1, and counts them. */
void tide_tagcol_write(const uint8_t *tags, size_t n, size_t ret_counts[TIDE_VAL_TYPES], struct tide_buf *out,
                       struct tide_err *err);

/* Reads a section of n tags, n at least 1, and counts them. Damage sets rd->bad; what was read is then worthless. */
void tide_tagcol_read(struct tide_rd *rd, size_t n, uint8_t *ret_tags, size_t ret_counts[TIDE_VAL_TYPES]);

#endif
