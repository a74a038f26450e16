/* The only place that knows zstd. One-shot frames for column chunks; streams for exported objects. zstd allocates
 * through our allocator, where its API allows it, so that each allocation can be made to fail. */
#ifndef TIDE_CODEC_ZFRAME_H
#define TIDE_CODEC_ZFRAME_H

#include <stdbool.h>

#include "base/buf.h"

/* ---- one frame; contexts are kept by the caller, so that a run of frames costs one set-up ---- */

struct tide_zpress; /* a compressor */
struct tide_zpand;  /* a decompressor */

struct tide_zpress *tide_zpress_create(int level, struct tide_err *err);
void tide_zpress_destroy(struct tide_zpress *press); /* NULL is fine */

/* One that takes long matches alone and looks for each in one place, at a level where zstd looks for short ones too:
 * text full of numbers and addresses, whose short matches are chance, comes out smaller and in half the time; other
 * text does not. NULL without an error at levels where zstd does something else. */
struct tide_zpress *tide_zpress_create_long(int level, struct tide_err *err);

/* Appends one frame. Returns 0 or the code. */
int tide_zpress_frame(struct tide_zpress *press, const void *bytes, size_t size, struct tide_buf *out,
                      struct tide_err *err);

/* Whether bytes begin as a frame that says of itself that it gives so many bytes, as all of tide_zpress_frame do: to be
 * asked before memory is taken for them. */
bool tide_zframe_states(const void *bytes, size_t size, uint64_t raw_size);

struct tide_zpand *tide_zpand_create(struct tide_err *err);
void tide_zpand_destroy(struct tide_zpand *pand); /* NULL is fine */

/* Decompresses one frame that must give exactly `raw_size` bytes (a size from our own header, checked by the caller
 * against its limits before memory is taken). Anything else is SQLITE_CORRUPT_VTAB. */
int tide_zpand_frame(struct tide_zpand *pand, const void *bytes, size_t size, void *into, size_t raw_size,
                     struct tide_err *err);

/* ---- a stream: the same bytes written give the same bytes out, however they are cut into calls ---- */

struct tide_zstream;
struct tide_zstream *tide_zstream_create(int level, struct tide_err *err);
void tide_zstream_destroy(struct tide_zstream *stream); /* NULL is fine */
int tide_zstream_write(struct tide_zstream *stream, const void *bytes, size_t size, struct tide_buf *out,
                       struct tide_err *err);
int tide_zstream_finish(struct tide_zstream *stream, struct tide_buf *out, struct tide_err *err);

/* Reads a compressed stream: `read` fills up to size bytes and gives their number, 0 at the end, -1 with err.
 * tide_zreader_read gives plain bytes the same way; a truncated or damaged stream is SQLITE_CORRUPT. Memory is bounded
 * by a window of 128 MiB at the most. */
struct tide_zreader;
struct tide_zreader *tide_zreader_create(long (*read)(void *context, void *into, size_t size, struct tide_err *err),
                                         void *context, struct tide_err *err);
long tide_zreader_read(struct tide_zreader *reader, void *into, size_t size, struct tide_err *err);
void tide_zreader_destroy(struct tide_zreader *reader); /* NULL is fine */

#endif
