#define ZSTD_STATIC_LINKING_ONLY /* for ZSTD_customMem; shared libraries export its functions too */
#include "codec/zframe.h"

#include <stdbool.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/mem.h"
#include "base/sqlite.h"

static void *allocate(void *opaque, size_t size) {
  struct tide_err ignored = {0}; /* zstd reports the failure itself, as ZSTD_error_memory_allocation */
  (void)opaque;
  return tide_alloc(size, &ignored);
}

static void release(void *opaque, void *block) {
  (void)opaque;
  tide_free(block);
}

static const ZSTD_customMem memory = {allocate, release, NULL};

/* Turns zstd's code into an error; rc is what it means when it is not about memory. */
static int fail(size_t code, int rc, struct tide_err *err) {
  if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation)
    tide_err_nomem(err);
  else
    tide_err_set(err, rc, "zstd: %s", ZSTD_getErrorName(code));
  return err->rc;
}

static ZSTD_CCtx *create_compressor(int level, struct tide_err *err) {
  if (tide_err_is_set(err))
    return NULL;
  ZSTD_CCtx *context = ZSTD_createCCtx_advanced(memory);
  if (context == NULL) {
    tide_err_nomem(err);
    return NULL;
  }
  size_t code = ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  if (ZSTD_isError(code)) {
    fail(code, SQLITE_ERROR, err);
    ZSTD_freeCCtx(context);
    return NULL;
  }
  return context;
}

static ZSTD_DCtx *create_decompressor(struct tide_err *err) {
  if (tide_err_is_set(err))
    return NULL;
  ZSTD_DCtx *context = ZSTD_createDCtx_advanced(memory);
  if (context == NULL)
    tide_err_nomem(err);
  return context;
}

/* ---- one frame ---- */

enum { LONG_MATCH = 7 }; /* the most that zstd's fast strategy can ask for */

struct tide_zpress {
  ZSTD_CCtx *context;
};

struct tide_zpand {
  ZSTD_DCtx *context;
};

struct tide_zpress *tide_zpress_create(int level, struct tide_err *err) {
  ZSTD_CCtx *context = create_compressor(level, err);
  struct tide_zpress *press = context != NULL ? tide_alloc(sizeof *press, err) : NULL;
  if (press == NULL) {
    ZSTD_freeCCtx(context);
    return NULL;
  }
  press->context = context;
  return press;
}

struct tide_zpress *tide_zpress_create_long(int level, struct tide_err *err) {
  if (ZSTD_getCParams(level, 0, 0).strategy != ZSTD_dfast)
    return NULL;
  struct tide_zpress *press = tide_zpress_create(level, err);
  if (press == NULL)
    return NULL;
  size_t code = ZSTD_CCtx_setParameter(press->context, ZSTD_c_strategy, ZSTD_fast);
  if (!ZSTD_isError(code))
    code = ZSTD_CCtx_setParameter(press->context, ZSTD_c_minMatch, LONG_MATCH);
  if (ZSTD_isError(code)) {
    fail(code, SQLITE_ERROR, err);
    tide_zpress_destroy(press);
    return NULL;
  }
  return press;
}

void tide_zpress_destroy(struct tide_zpress *press) {
  if (press == NULL)
    return;
  ZSTD_freeCCtx(press->context);
  tide_free(press);
}

int tide_zpress_frame(struct tide_zpress *press, const void *bytes, size_t size, struct tide_buf *out,
                      struct tide_err *err) {
  size_t bound = ZSTD_compressBound(size);
  if (ZSTD_isError(bound))
    return fail(bound, SQLITE_TOOBIG, err);
  if (tide_buf_reserve(out, bound, err) != 0)
    return err->rc;
  size_t packed = ZSTD_compress2(press->context, out->data + out->len, bound, bytes, size);
  if (ZSTD_isError(packed))
    return fail(packed, SQLITE_ERROR, err);
  out->len += packed;
  return 0;
}

struct tide_zpand *tide_zpand_create(struct tide_err *err) {
  ZSTD_DCtx *context = create_decompressor(err);
  struct tide_zpand *pand = context != NULL ? tide_alloc(sizeof *pand, err) : NULL;
  if (pand == NULL) {
    ZSTD_freeDCtx(context);
    return NULL;
  }
  pand->context = context;
  return pand;
}

void tide_zpand_destroy(struct tide_zpand *pand) {
  if (pand == NULL)
    return;
  ZSTD_freeDCtx(pand->context);
  tide_free(pand);
}

/* Exactly one frame of today's format: a library may also know old formats, and frames that are to be skipped. */
static bool is_one_frame(const unsigned char *bytes, size_t size) {
  static const unsigned char magic[4] = {0x28, 0xb5, 0x2f, 0xfd};
  return size > sizeof magic && memcmp(bytes, magic, sizeof magic) == 0 &&
         ZSTD_findFrameCompressedSize(bytes, size) == size;
}

bool tide_zframe_states(const void *bytes, size_t size, uint64_t raw_size) {
  return ZSTD_getFrameContentSize(bytes, size) == raw_size;
}

int tide_zpand_frame(struct tide_zpand *pand, const void *bytes, size_t size, void *into, size_t raw_size,
                     struct tide_err *err) {
  if (tide_err_is_set(err))
    return err->rc;
  if (!is_one_frame(bytes, size)) {
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "%lld bytes are not one zstd frame", (long long)size);
    return err->rc;
  }
  size_t plain = ZSTD_decompressDCtx(pand->context, into, raw_size, bytes, size);
  if (ZSTD_isError(plain))
    return fail(plain, SQLITE_CORRUPT_VTAB, err);
  if (plain != raw_size)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "a zstd frame gives %lld bytes, expected %lld", (long long)plain,
                 (long long)raw_size);
  return err->rc;
}

/* ---- writing a stream ---- */

struct tide_zstream {
  ZSTD_CCtx *context;
};

struct tide_zstream *tide_zstream_create(int level, struct tide_err *err) {
  ZSTD_CCtx *context = create_compressor(level, err);
  struct tide_zstream *stream = context != NULL ? tide_alloc(sizeof *stream, err) : NULL;
  if (stream == NULL) {
    ZSTD_freeCCtx(context);
    return NULL;
  }
  stream->context = context;
  return stream;
}

void tide_zstream_destroy(struct tide_zstream *stream) {
  if (stream == NULL)
    return;
  ZSTD_freeCCtx(stream->context);
  tide_free(stream);
}

/* Feeds all input. For ZSTD_e_end until the frame is closed, for ZSTD_e_continue until the input is taken. */
static int feed(struct tide_zstream *stream, const void *bytes, size_t size, ZSTD_EndDirective end,
                struct tide_buf *out, struct tide_err *err) {
  ZSTD_inBuffer input = {bytes, size, 0};
  bool more = true;
  while (more) {
    if (tide_buf_reserve(out, ZSTD_CStreamOutSize(), err) != 0)
      return err->rc;
    ZSTD_outBuffer output = {out->data + out->len, out->cap - out->len, 0};
    size_t left = ZSTD_compressStream2(stream->context, &output, &input, end);
    if (ZSTD_isError(left))
      return fail(left, SQLITE_ERROR, err);
    out->len += output.pos;
    more = end == ZSTD_e_end ? left != 0 : input.pos < input.size;
  }
  return 0;
}

/* Input only ever arrives with ZSTD_e_continue: an end that brings bytes along would tell zstd their size, and the
 * frame would then depend on how the bytes were cut into calls. */
int tide_zstream_write(struct tide_zstream *stream, const void *bytes, size_t size, struct tide_buf *out,
                       struct tide_err *err) {
  if (size == 0 || tide_err_is_set(err))
    return err->rc;
  return feed(stream, bytes, size, ZSTD_e_continue, out, err);
}

int tide_zstream_finish(struct tide_zstream *stream, struct tide_buf *out, struct tide_err *err) {
  if (tide_err_is_set(err))
    return err->rc;
  return feed(stream, NULL, 0, ZSTD_e_end, out, err);
}

/* ---- reading a stream ---- */

enum { WINDOW_LOG_MAX = 27 }; /* 128 MiB */

struct tide_zreader {
  long (*read)(void *context, void *into, size_t size, struct tide_err *err);
  void *read_context;
  ZSTD_DCtx *context;
  ZSTD_inBuffer input; /* a view of bytes */
  bool inside;         /* within a frame, or before the first one: the end of input is then a truncation */
  bool held;           /* the last call filled its output, so zstd may hold more without new input */
  size_t bytes_size;
  unsigned char bytes[];
};

struct tide_zreader *tide_zreader_create(long (*read)(void *context, void *into, size_t size, struct tide_err *err),
                                         void *context, struct tide_err *err) {
  ZSTD_DCtx *decompressor = create_decompressor(err);
  size_t bytes_size = ZSTD_DStreamInSize();
  struct tide_zreader *reader = decompressor != NULL ? tide_alloc(sizeof *reader + bytes_size, err) : NULL;
  if (reader == NULL) {
    ZSTD_freeDCtx(decompressor);
    return NULL;
  }
  ZSTD_DCtx_setParameter(decompressor, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
  *reader = (struct tide_zreader){.read = read, .read_context = context, .context = decompressor, .inside = true};
  reader->bytes_size = bytes_size;
  return reader;
}

void tide_zreader_destroy(struct tide_zreader *reader) {
  if (reader == NULL)
    return;
  ZSTD_freeDCtx(reader->context);
  tide_free(reader);
}

/* The number of bytes gained; 0 at a proper end; -1 with err. */
static long refill(struct tide_zreader *reader, struct tide_err *err) {
  long got = reader->read(reader->read_context, reader->bytes, reader->bytes_size, err);
  if (got == 0 && reader->inside) {
    tide_err_set(err, SQLITE_CORRUPT, "the zstd stream ends in the middle of a frame");
    return -1;
  }
  if (got > 0)
    reader->input = (ZSTD_inBuffer){reader->bytes, (size_t)got, 0};
  return got;
}

long tide_zreader_read(struct tide_zreader *reader, void *into, size_t size, struct tide_err *err) {
  if (tide_err_is_set(err))
    return -1;
  ZSTD_outBuffer output = {into, size, 0};
  while (size > 0 && output.pos == 0) {
    if (reader->input.pos == reader->input.size && !reader->held) {
      long got = refill(reader, err);
      if (got <= 0)
        return got;
    }
    size_t hint = ZSTD_decompressStream(reader->context, &output, &reader->input);
    if (ZSTD_isError(hint)) {
      fail(hint, SQLITE_CORRUPT, err);
      return -1;
    }
    reader->inside = hint != 0;
    reader->held = hint != 0 && output.pos == output.size;
  }
  return (long)output.pos;
}
