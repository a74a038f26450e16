/* Thrift's compact protocol (apache/thrift, doc/specs/thrift-compact-protocol.md), as far as Parquet's structures need
 * it to be written. Everything is sticky in err.
 *
 *   field   one byte: (id - previous id) << 4 | type, or the type alone and the id as a zigzag varint; then the value
 *   struct  its fields, then 0x00           i32, i64  zigzag varint           bool  the type itself: 1 true, 2 false
 *   list    one byte: count << 4 | type, or 0xf0 | type and the count as a varint; then the elements
 *   binary  varint size, bytes
 *
 * Life: tide_thrift_init, fields in ascending order of their ids, and each begin with its end. The outermost struct is
 * begun by tide_thrift_begin too. */
#ifndef TIDE_SINK_PARQUET_THRIFT_H
#define TIDE_SINK_PARQUET_THRIFT_H

#include <stdbool.h>

#include "base/buf.h"

enum tide_thrift_type {
  TIDE_THRIFT_TRUE = 1,
  TIDE_THRIFT_FALSE = 2,
  TIDE_THRIFT_I8 = 3,
  TIDE_THRIFT_I16 = 4,
  TIDE_THRIFT_I32 = 5,
  TIDE_THRIFT_I64 = 6,
  TIDE_THRIFT_DOUBLE = 7,
  TIDE_THRIFT_BINARY = 8,
  TIDE_THRIFT_LIST = 9,
  TIDE_THRIFT_SET = 10,
  TIDE_THRIFT_MAP = 11,
  TIDE_THRIFT_STRUCT = 12
};
enum { TIDE_THRIFT_DEPTH_MAX = 8 }; /* of what we write; Parquet's own structures are not deeper */

struct tide_thrift {
  struct tide_buf *out;
  struct tide_err *err;
  int depth;
  int last[TIDE_THRIFT_DEPTH_MAX + 1]; /* the id of the field before, at each depth */
};

void tide_thrift_init(struct tide_thrift *thrift, struct tide_buf *out, struct tide_err *err);

/* A struct without a field of its own: the outermost one, or an element of a list. */
void tide_thrift_begin(struct tide_thrift *thrift);
void tide_thrift_begin_field(struct tide_thrift *thrift, int id);
void tide_thrift_end(struct tide_thrift *thrift);

void tide_thrift_bool(struct tide_thrift *thrift, int id, bool value);
void tide_thrift_i32(struct tide_thrift *thrift, int id, int32_t value);
void tide_thrift_i64(struct tide_thrift *thrift, int id, int64_t value);
void tide_thrift_binary(struct tide_thrift *thrift, int id, const void *bytes, size_t size);
void tide_thrift_string(struct tide_thrift *thrift, int id, const char *text);

/* The head of a list; its elements follow: structs by tide_thrift_begin and _end, the others by the functions below. */
void tide_thrift_list(struct tide_thrift *thrift, int id, enum tide_thrift_type type, size_t count);
void tide_thrift_element_bool(struct tide_thrift *thrift, bool value);
void tide_thrift_element_int(struct tide_thrift *thrift, int64_t value); /* of i32 and i64 */
void tide_thrift_element_binary(struct tide_thrift *thrift, const void *bytes, size_t size);

#endif
