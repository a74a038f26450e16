/* Putting an object's bytes under a key where there is none: in one request up to a part's size, above it as an
 * upload in parts that appears when it is completed. Memory: one part. Life: begin, write any number of times, then
 * commit or abort; each failure ends it. All zero is none under way.
 *
 * Nothing that is there is replaced: the service is told so (If-None-Match: *), and asked before. Where it does not
 * know the header, the asking alone stands against another who puts the same key in between: unless the upload is
 * exclusive, which fails there. */
#ifndef TIDE_SINK_S3_UPLOAD_H
#define TIDE_SINK_S3_UPLOAD_H

#include "sink/s3_request.h"

struct tide_s3_upload {
  char *key;            /* NULL: none */
  struct tide_buf part; /* not sent yet */
  char *id;             /* of the upload in parts; NULL: not begun */
  struct tide_buf tags; /* an XML element for each part that was sent */
  int parts;
  bool exclusive; /* in one request up to the largest part's size: not every service that knows the header there knows
                     it for parts */
  bool exists;    /* the key was found taken: what is written goes nowhere */
};

/* key is copied. An exclusive upload's memory is all of it, up to the largest part. */
void tide_s3_upload_begin(struct tide_s3_upload *upload, const char *key, bool exclusive, struct tide_err *err);
void tide_s3_upload_write(struct tide_s3_upload *upload, struct tide_s3 *s3, const void *bytes, size_t size,
                          struct tide_err *err);
void tide_s3_upload_commit(struct tide_s3_upload *upload, struct tide_s3 *s3, bool *ret_exists, struct tide_err *err);

/* Takes away the parts that were sent, as well as it can: what is left, tide_s3_upload_clean finds. */
void tide_s3_upload_abort(struct tide_s3_upload *upload, struct tide_s3 *s3);

/* Aborts an upload in parts; one that is not there is fine. */
void tide_s3_upload_drop(struct tide_s3 *s3, const char *key, const char *id, struct tide_err *err);

/* Aborts every upload in parts of that key. */
void tide_s3_upload_clean(struct tide_s3 *s3, const char *key, struct tide_err *err);

#endif
