/* A section of 64-bit integers: values of a column, lengths of texts, indexes into a dictionary. The writer sees all of
 * them, then takes the smallest layout. Arithmetic is modulo 2^64, so nothing overflows: any integers come back.
 *
 *   byte 0    kind
 *   CONSTANT       zigzag value                                        all n are it
 *   OFFSET_BITS    u8 width, zigzag base, n numbers in bits            value = base + number
 *   OFFSET_PLANES  u8 planes, zigzag base, n numbers in planes         the same
 *   DELTA_BITS     u8 width, zigzag first, zigzag base, n-1 numbers    value = the one before + base + number
 *   DELTA_PLANES   u8 planes, zigzag first, zigzag base, n-1 numbers   the same
 *   OFFSET_BESIDE  as OFFSET_BITS, but the numbers are the next of the frame's bits (body.h), from a whole byte on
 *   DELTA_BESIDE   as DELTA_BITS, the same
 *
 * The last two are of format version 2. zigzag as in base/buf.h, bits and planes as in bitpack.h. */
#ifndef TIDE_CODEC_INTCOL_H
#define TIDE_CODEC_INTCOL_H

#include "codec/body.h"
#include "codec/trial.h"
#include "codec/wanted.h"

enum tide_intcol_kind {
  TIDE_INTCOL_CONSTANT = 0,
  TIDE_INTCOL_OFFSET_BITS = 1,
  TIDE_INTCOL_OFFSET_PLANES = 2,
  TIDE_INTCOL_DELTA_BITS = 3,
  TIDE_INTCOL_DELTA_PLANES = 4,
  TIDE_INTCOL_OFFSET_BESIDE = 5,
  TIDE_INTCOL_DELTA_BESIDE = 6
};

/* Appends the section of n values, n at least 1. Planes are taken when they compress well: by the entropy of their
 * bytes, or, with a trial, as measured. Other numbers are laid out in bits, and many of them beside the sections. */
void tide_intcol_write(struct tide_trial *trial, const int64_t *values, size_t n, struct tide_body *body,
                       struct tide_err *err);

/* Appends the section in that layout (all but CONSTANT), whether it is small or not. */
void tide_intcol_write_as(enum tide_intcol_kind kind, const int64_t *values, size_t n, struct tide_body *body,
                          struct tide_err *err);

/* Reads a section of n values, n at least 1. Damage sets rd->sections.bad; the values are then worthless. */
void tide_intcol_read(struct tide_body_rd *rd, size_t n, int64_t *ret_values);

/* The same when only the values of a span are asked for, which come to their places in ret_values; what the others'
 * places hold then is worthless. */
void tide_intcol_read_span(struct tide_body_rd *rd, size_t n, struct tide_span span, int64_t *ret_values);

#endif
