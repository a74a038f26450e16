/* A section of doubles, handled as their 64 bits, so that -0.0, infinities and every last digit come back. A NaN is
 * damage: SQLite stores none.
 *
 *   byte 0    kind
 *   CONSTANT  u64 bits             all n are it
 *   PLAIN     n times u64 bits     little-endian
 *   PLANES    n numbers in eight planes (bitpack.h), which zstd often compresses better
 *   DECIMAL   u8 digits (0 to 6), intcol of n integers; value = integer / 10^digits, both as doubles, and
 *             rounded once to a double
 *
 * The last one is of format version 2. */
#ifndef TIDE_CODEC_REALCOL_H
#define TIDE_CODEC_REALCOL_H

#include "codec/body.h"
#include "codec/trial.h"

enum tide_realcol_kind {
  TIDE_REALCOL_CONSTANT = 0,
  TIDE_REALCOL_PLAIN = 1,
  TIDE_REALCOL_PLANES = 2,
  TIDE_REALCOL_DECIMAL = 3
};
enum { TIDE_REALCOL_DIGITS_MAX = 6 };

/* Appends the section of n bit patterns, n at least 1: as decimals when all are such numbers, as they are in what is
 * written by people and most instruments. Without a trial (NULL) never in planes. */
void tide_realcol_write(struct tide_trial *trial, const int64_t *bits, size_t n, struct tide_body *body,
                        struct tide_err *err);

/* Reads a section of n bit patterns, n at least 1. Damage sets rd->sections.bad; the values are then worthless. */
void tide_realcol_read(struct tide_body_rd *rd, size_t n, int64_t *ret_bits);

#endif
