/* A frame: a run of rows of one column in bytes that decode by themselves.
 *
 *   byte 0  STORED 0   the body follows as it is
 *           ZSTD   1   varint size of the body, then the body as one zstd frame
 *   body    tag section            (tagcol.h)  one tag a row
 *           integer section        (intcol.h)  only when a row is INT: the values of those rows
 *           real section           (realcol.h) only when a row is REAL
 *           text and blob section  (textcol.h) only when a row is TEXT or BLOB
 *           and nothing behind it
 *
 * Three rows with the integers 5 7 6: 00 (stored) 01 (all INT) 01 02 0a 18 (two bits each above 5: 0 2 1).
 *
 * The size of the body is believed up to TIDE_FRAME_RATIO_MAX times the bytes that are there, which is the most that
 * zstd can do (a block of at least 4 bytes gives at most 128 KiB), so that a small frame never asks for much memory. */
#ifndef TIDE_CODEC_CHUNK_H
#define TIDE_CODEC_CHUNK_H

#include "codec/zframe.h"
#include "model/batch.h"

enum { TIDE_FRAME_STORED = 0, TIDE_FRAME_ZSTD = 1, TIDE_FRAME_RATIO_MAX = 32768 };

/* ---- encoding; the same rows and level give the same bytes ---- */

struct tide_frame_encoder; /* what a run of frames shares: compressors and scratch memory */

struct tide_frame_encoder *tide_frame_encoder_create(int zstd_level, struct tide_err *err);
void tide_frame_encoder_destroy(struct tide_frame_encoder *encoder); /* NULL is fine */

/* Appends the frame of rows [first, first + rows) of a column, 1 to 2^20 of them, all decoded. Returns 0 or the code.
 * */
int tide_frame_encode(struct tide_frame_encoder *encoder, const struct tide_vec *vec, size_t first, size_t rows,
                      struct tide_buf *out, struct tide_err *err);

/* The same of rows that are all INT. */
int tide_frame_encode_ints(struct tide_frame_encoder *encoder, const int64_t *values, size_t rows, struct tide_buf *out,
                           struct tide_err *err);

/* ---- decoding; hostile input welcome: damage is SQLITE_CORRUPT_VTAB ---- */

struct tide_frame_decoder; /* a decompressor, made when first needed, and scratch memory */

struct tide_frame_decoder *tide_frame_decoder_create(struct tide_err *err);
void tide_frame_decoder_destroy(struct tide_frame_decoder *decoder); /* NULL is fine */

/* Decodes a frame of 1 to 2^20 rows into a column, whatever it held before. The body comes to lie in vec->bytes, and
 * the texts and blobs are views into it. Returns 0 or the code; the column is worthless after a failure. */
int tide_frame_decode(struct tide_frame_decoder *decoder, const void *bytes, size_t size, size_t rows,
                      struct tide_vec *vec, struct tide_err *err);

/* The same of rows that are all INT (others are damage) into room for `rows` values. */
int tide_frame_decode_ints(struct tide_frame_decoder *decoder, const void *bytes, size_t size, size_t rows,
                           int64_t *ret_values, struct tide_err *err);

#endif
