/* A JSON text taken apart: one that is strict and has no white space between its tokens, as tide_json_put_strict
 * writes it, and as nobody else may be trusted to. Nothing is copied: a slice is a view of the text.
 *
 *   struct tide_json_walk walk = tide_json_walk_into(object);
 *   while (tide_json_walk_next(&walk, &name, &value)) ... */
#ifndef TIDE_SINK_JSON_WALK_H
#define TIDE_SINK_JSON_WALK_H

#include <stdbool.h>

#include "base/buf.h"

/* A value: its text, the quotes of a string included. size 0: there is none. */
struct tide_json_slice {
  const char *at;
  size_t size;
};

struct tide_json_walk {
  const char *at;
  const char *end;
  bool named; /* an object's members have names */
};

/* Of anything but an object or array there is nothing to walk. */
struct tide_json_walk tide_json_walk_into(struct tide_json_slice value);

/* The next member or element; false behind the last. The name is a string's text between its quotes, as it is escaped;
 * of an array's element it has size 0. */
bool tide_json_walk_next(struct tide_json_walk *walk, struct tide_json_slice *ret_name,
                         struct tide_json_slice *ret_value);

/* The first member of an object by its name, which has nothing to escape. size 0: there is none, or it is null. */
struct tide_json_slice tide_json_member(struct tide_json_slice object, const char *name);

bool tide_json_is_string(struct tide_json_slice value);
bool tide_json_is_object(struct tide_json_slice value);
bool tide_json_is_array(struct tide_json_slice value);

/* Whether a slice has that very text. */
bool tide_json_slice_is(struct tide_json_slice slice, const char *text);

/* The integer that a number is; false when it is none, or has no room in 64 bits. */
bool tide_json_integer(struct tide_json_slice value, int64_t *ret_integer);

/* Appends what a string stands for. */
void tide_json_put_unescaped(struct tide_buf *out, struct tide_json_slice string, struct tide_err *err);

#endif
