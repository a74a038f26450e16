/* A set of names of any number: on a private connection to a temporary file, so that memory is bounded, and nothing of
 * the host's connection is touched. */
#ifndef TIDE_STORE_NAME_SET_H
#define TIDE_STORE_NAME_SET_H

#include <stdbool.h>

#include "base/err.h"

struct tide_name_set;

struct tide_name_set *tide_name_set_create(struct tide_err *err);
void tide_name_set_destroy(struct tide_name_set *set); /* NULL is fine */

/* A name that is in it already stays. */
void tide_name_set_add(struct tide_name_set *set, const char *name, struct tide_err *err);
bool tide_name_set_has(struct tide_name_set *set, const char *name, struct tide_err *err);

#endif
