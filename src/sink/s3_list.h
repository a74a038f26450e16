/* What a bucket holds: objects (ListObjectsV2), and uploads in parts that were neither completed nor aborted
 * (ListMultipartUploads), page by page. */
#ifndef TIDE_SINK_S3_LIST_H
#define TIDE_SINK_S3_LIST_H

#include "sink/s3_request.h"

/* Calls each for every object whose key has the prefix and sorts above `after` (NULL: every one), in the order of the
 * keys. each gives false to stop, with or without an error; a page was read whole before, so that it may send. */
int tide_s3_list_objects(struct tide_s3 *s3, const char *prefix, const char *after,
                         bool (*each)(void *context, const char *key, int64_t size, struct tide_err *err),
                         void *context, struct tide_err *err);

/* Calls each for every upload whose key has the prefix, likewise. */
int tide_s3_list_uploads(struct tide_s3 *s3, const char *prefix,
                         bool (*each)(void *context, const char *key, const char *upload, struct tide_err *err),
                         void *context, struct tide_err *err);

#ifdef TIDE_TEST_HOOKS
/* How many a page is to hold at the most; NULL: what the service likes, which is 1,000. */
extern const char *tide_s3_list_page;
#endif

#endif
