/* Reading an object from its start, a range of it at a time. Life: open, read until it gives 0, close. All zero is a
 * closed one. Memory: one range. */
#ifndef TIDE_SINK_S3_READ_H
#define TIDE_SINK_S3_READ_H

#include "sink/s3_request.h"

struct tide_s3_reader {
  char *key;            /* NULL: closed */
  char *tag;            /* its ETag: all ranges are of one object */
  struct tide_buf held; /* the range that was fetched last */
  size_t held_at;       /* what of it was read */
  int64_t at;           /* where the next range begins */
  int64_t size;         /* of the object */
};

/* SQLITE_CANTOPEN when there is no such object in a bucket that is there. key is copied. */
void tide_s3_reader_open(struct tide_s3_reader *reader, struct tide_s3 *s3, const char *key, struct tide_err *err);
long tide_s3_reader_read(struct tide_s3_reader *reader, struct tide_s3 *s3, void *into, size_t size,
                         struct tide_err *err);
void tide_s3_reader_close(struct tide_s3_reader *reader);

#ifdef TIDE_TEST_HOOKS
extern int64_t tide_s3_reader_range; /* the bytes of a range */
#endif

#endif
