/* Whether a service can put an object only where there is none, which some cannot: they refuse the condition
 * (If-None-Match: *), or pass it over without a word. */
#ifndef TIDE_SINK_S3_EXCLUSIVE_H
#define TIDE_SINK_S3_EXCLUSIVE_H

#include "sink/s3_request.h"

extern const struct tide_sigv4_pair tide_s3_if_none;

/* About the last answer: the key was taken. 409 is when two are at it, and then it may be tried again. */
bool tide_s3_is_taken(const struct tide_s3 *s3);
bool tide_s3_knows_no_condition(const struct tide_s3 *s3);

/* Finds out by the object "<prefix>_tidemark/exclusive", which stays: of two puts the second must be told that it is
 * there. An error where the service cannot do it, and when it does not say. */
void tide_s3_exclusive_check(struct tide_s3 *s3, struct tide_err *err);

/* Sets SQLITE_ERROR: the sentence of a service that cannot. */
void tide_s3_exclusive_fail(const struct tide_s3 *s3, struct tide_err *err);

#endif
