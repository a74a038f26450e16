/* What S3 says when it does not do what was asked, and what that means to whoever runs the sink. Pure. */
#ifndef TIDE_SINK_S3_REFUSAL_H
#define TIDE_SINK_S3_REFUSAL_H

#include "sink/s3_place.h"

/* All empty: nothing that was understood. Cut to size, without control characters. */
struct tide_s3_refusal {
  char code[64]; /* "NoSuchKey" */
  char message[160];
  char region[40]; /* where the bucket is said to be */
};

/* Reads the XML of an error; bytes that are none leave *ret empty. err: no memory. */
void tide_s3_refusal_read(const void *bytes, size_t size, struct tide_s3_refusal *ret, struct tide_err *err);

/* Sets an error: "subject: " and a sentence. SQLITE_PERM when the service will not have us, SQLITE_IOERR when it is in
 * trouble or busy, otherwise SQLITE_ERROR. */
void tide_s3_refusal_say(const struct tide_s3_refusal *refusal, int status, const struct tide_s3_place *place,
                         const char *subject, struct tide_err *err);

#endif
