/* A frame: a run of rows of one column in bytes that decode by themselves, or with the column's templates.
 *
 *   byte 0  STORED 0   the sections follow as they are
 *           ZSTD   1   varint size of the sections, then these as one zstd frame
 *           SPLIT  2   varint size of the bits (body.h), the bits, then the sections as a STORED or ZSTD frame has
 *                      them, byte 0 included; of format version 2
 *   sections  tags              (tagcol.h)  one tag a row
 *             integers          (intcol.h)  only when a row is INT: the values of those rows
 *             reals             (realcol.h) only when a row is REAL
 *             texts and blobs   (textcol.h) only when a row is TEXT or BLOB
 *             and nothing behind it
 *
 * The templates of a column (template_book.h) are packed in the same way.
 *
 * Three rows with the integers 5 7 6: 00 (stored) 01 (all INT) 01 02 0a 18 (two bits each above 5: 0 2 1).
 *
 * The size of the sections is believed when the zstd frame states the same, up to TIDE_FRAME_RATIO_MAX times the bytes
 * that are there, which is the most that zstd can do (a block of at least 4 bytes gives at most 128 KiB), and to
 * TIDE_FRAME_SIZE_MAX, so that a small frame never asks for much memory. One that says what it gives and is a bomb all
 * the same takes what a text of that size would: the host's heap limit is its limit. */
#ifndef TIDE_CODEC_CHUNK_H
#define TIDE_CODEC_CHUNK_H

#include "codec/template_book.h"
#include "codec/template_set.h"
#include "model/batch.h"

enum { TIDE_FRAME_STORED = 0, TIDE_FRAME_ZSTD = 1, TIDE_FRAME_SPLIT = 2, TIDE_FRAME_RATIO_MAX = 32768 };
enum { TIDE_FRAME_SIZE_MAX = 1 << 30 }; /* the most that can be had in one piece of memory */

/* ---- encoding; the same rows and level give the same bytes ---- */

struct tide_frame_encoder; /* what a run of frames shares: compressors and scratch memory */

struct tide_frame_encoder *tide_frame_encoder_create(int zstd_level, struct tide_err *err);
void tide_frame_encoder_destroy(struct tide_frame_encoder *encoder); /* NULL is fine */

/* Appends the frame of rows [first, first + rows) of a column, 1 to 2^20 of them, all decoded. set: the templates of
 * the column in the segment, which it adds to; NULL: none are used. Returns 0 or the code. */
int tide_frame_encode(struct tide_frame_encoder *encoder, struct tide_template_set *set, const struct tide_vec *vec,
                      size_t first, size_t rows, struct tide_buf *out, struct tide_err *err);

/* The same of rows that are all INT. */
int tide_frame_encode_ints(struct tide_frame_encoder *encoder, const int64_t *values, size_t rows, struct tide_buf *out,
                           struct tide_err *err);

/* Appends the templates that the frames of a column refer to; nothing when there are none. Returns 0 or the code. */
int tide_frame_encode_templates(struct tide_frame_encoder *encoder, const struct tide_template_set *set,
                                struct tide_buf *out, struct tide_err *err);

/* ---- decoding; hostile input welcome: damage is SQLITE_CORRUPT_VTAB ---- */

struct tide_frame_decoder; /* a decompressor, made when first needed, and scratch memory */

struct tide_frame_decoder *tide_frame_decoder_create(struct tide_err *err);
void tide_frame_decoder_destroy(struct tide_frame_decoder *decoder); /* NULL is fine */

/* Decodes the templates of a column into a book that is all zero. Returns 0 or the code; the book is to be cleared in
 * any case. */
int tide_frame_decode_templates(struct tide_frame_decoder *decoder, const void *bytes, size_t size,
                                struct tide_template_book *book, struct tide_err *err);

/* Decodes a frame of 1 to 2^20 rows into a column, whatever it held before. The sections come to lie in vec->bytes,
 * texts are built behind them, and all texts and blobs are views into it. book: the column's templates, NULL when it
 * has none. wanted, by row: 0 where no value is asked for, which may then come out as any number, or empty; NULL: all
 * are asked for. Returns 0 or the code; the column is worthless after a failure. */
int tide_frame_decode(struct tide_frame_decoder *decoder, const struct tide_template_book *book, const void *bytes,
                      size_t size, size_t rows, const uint8_t *wanted, struct tide_vec *vec, struct tide_err *err);

/* The same of rows that are all INT (others are damage) into room for `rows` values. */
int tide_frame_decode_ints(struct tide_frame_decoder *decoder, const void *bytes, size_t size, size_t rows,
                           int64_t *ret_values, struct tide_err *err);

#endif
