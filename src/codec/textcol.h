/* A section of texts and blobs (their bytes; which is which the tags say), plain or with each different one once.
 *
 *   byte 0      kind
 *   PLAIN       intcol of n lengths, then the bytes of all, one behind the other
 *   DICTIONARY  varint number of entries, intcol of their lengths, their bytes, intcol of n indexes from 0
 *
 * Entries stand in the order of their first use. */
#ifndef TIDE_CODEC_TEXTCOL_H
#define TIDE_CODEC_TEXTCOL_H

#include "base/rd.h"
#include "codec/trial.h"

enum tide_textcol_kind { TIDE_TEXTCOL_PLAIN = 0, TIDE_TEXTCOL_DICTIONARY = 1 };

struct tide_slice {
  const unsigned char *bytes; /* may be NULL when size is 0 */
  uint32_t size;
};

/* Appends the section of n slices, 1 to 2^20 of them. Without a trial (NULL) numbers are laid out as they are smallest
 * uncompressed. */
void tide_textcol_write(struct tide_trial *trial, const struct tide_slice *slices, size_t n, struct tide_buf *out,
                        struct tide_err *err);

/* Reads a section of n slices, n at least 1: value i has ret_sizes[i] bytes at base + ret_offsets[i], all of them
 * within rd's bytes. base is at or before these. scratch has room for n + 1 numbers. Damage sets rd->bad; what was read
 * is then worthless. */
void tide_textcol_read(struct tide_rd *rd, size_t n, const unsigned char *base, int64_t *ret_offsets,
                       uint32_t *ret_sizes, int64_t *scratch);

#endif
