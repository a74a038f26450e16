/* What lies in a sink's folder, as it may have been changed there: objects of each format, whose hash is asked for, and
 * the marker of a sink's ticks. Also a zstd stream of our own, cut anywhere.
 *
 *   u8   0 to 4: a format; 5: a marker; 6: bytes that go through a stream, in pieces of u8 size
 *   the bytes, to the end */
#include <stdlib.h>
#include <string.h>

#include "codec/zframe.h"
#include "fuzz.h"
#include "sink/encoder.h"
#include "sink/marker.h"

enum { FORMATS = 5, MEMORY = 200 << 20 }; /* a reader of zstd takes a window of 128 MiB when it is told to */

static void hash_object(size_t which, struct fuzz_input *input) {
  static const struct tide_format *const formats[FORMATS] = {
      &tide_format_ndjson, &tide_format_csv, &tide_format_ndjson_zst, &tide_format_csv_zst, &tide_format_parquet};
  struct tide_err err = {0};
  char hash[TIDE_ENCODER_HASH_SIZE];
  if (formats[which]->hash_object(fuzz_read, input, hash, &err) == 0)
    FUZZ_CHECK(strspn(hash, "0123456789abcdef") == TIDE_ENCODER_HASH_SIZE - 1);
  fuzz_check_error(&err, SQLITE_CORRUPT, 0);
}

static void look_at_marker(struct fuzz_input *input) {
  struct tide_err err = {0};
  const char *log_id = "0123456789abcdef0123456789abcdef";
  const struct tide_object object = {.name = "_tidemark/0123456789abcdef0123456789abcdef.s", .log_id = log_id};
  const struct tide_sink_count count = {.tick = 12, .token = 0xc0ffee, .previous = 0xbeef};
  int64_t tick = -1;
  struct tide_target *target = tide_target_memory_create(&err);
  target->methods->replace(target, &object, input->at, input->left, &err);
  tide_marker_look(target, log_id, "s", &count, &tick, &err);
  FUZZ_CHECK(err.rc != 0 || tick >= 0);
  fuzz_check_error(&err, SQLITE_CORRUPT, SQLITE_ERROR);
  tide_err_clear(&err);
  tide_marker_write(target, log_id, "s", &count, 1, &err);
  FUZZ_CHECK(tide_marker_look(target, log_id, "s", &count, &tick, &err) == TIDE_MARKER_OURS && tick == 12);
  fuzz_check_error(&err, 0, 0);
  tide_target_destroy(target);
}

static void go_through_stream(struct fuzz_input *input) {
  struct tide_err err = {0};
  struct tide_buf out = {0};
  const size_t piece = 1 + fuzz_u8(input);
  const struct fuzz_input whole = *input;
  struct tide_zstream *stream = tide_zstream_create(3, &err);
  for (size_t at = 0; at < whole.left; at += piece)
    tide_zstream_write(stream, whole.at + at, piece < whole.left - at ? piece : whole.left - at, &out, &err);
  tide_zstream_finish(stream, &out, &err);
  tide_zstream_destroy(stream);
  fuzz_check_error(&err, 0, 0);
  for (int cut = 0; cut < 2; cut++) {
    unsigned char plain[300];
    struct fuzz_input source = {out.data, cut ? out.len - 1 - whole.left % out.len : out.len};
    struct tide_zreader *reader = tide_zreader_create(fuzz_read, &source, &err);
    size_t at = 0;
    for (long got; (got = tide_zreader_read(reader, plain, piece, &err)) > 0; at += (size_t)got)
      FUZZ_CHECK(at + (size_t)got <= whole.left && memcmp(plain, whole.at + at, (size_t)got) == 0);
    FUZZ_CHECK(cut ? err.rc == SQLITE_CORRUPT : err.rc == 0 && at == whole.left);
    tide_zreader_destroy(reader);
  }
  tide_buf_clear(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  const uint8_t what = fuzz_u8(&input) % (FORMATS + 2);
  fuzz_begin(MEMORY);
  if (what < FORMATS)
    hash_object(what, &input);
  else if (what == FORMATS)
    look_at_marker(&input);
  else
    go_through_stream(&input);
  fuzz_end();
  return 0;
}
