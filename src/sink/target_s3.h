/* s3://bucket/prefix: objects in Amazon S3 or a service that speaks its language. The options are those of s3_place.h.
 * The access key must be granted s3:PutObject, s3:GetObject, s3:ListBucket (without which a key that is not there looks
 * like one that is forbidden), s3:AbortMultipartUpload and s3:ListBucketMultipartUploads.
 *
 * Nothing that is there is replaced, as far as the service goes: Amazon S3 and most others know If-None-Match. Where it
 * is refused (Swift) or passed over, a HEAD before the put stands alone: two that work on one batch at the same moment
 * could then both put, and would put the same rows. An exclusive object (target.h) is not put there, unless option
 * single_writer says that there are never two; who passes the condition over is found out by the object
 * "_tidemark/exclusive" below the prefix, before the first of them that a target puts. */
#ifndef TIDE_SINK_TARGET_S3_H
#define TIDE_SINK_TARGET_S3_H

#include "sink/scheme.h"

extern const struct tide_scheme tide_scheme_s3;

#endif
