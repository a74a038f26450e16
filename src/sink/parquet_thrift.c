#include "sink/parquet_thrift.h"

#include <assert.h>
#include <string.h>

enum { SHORT_LIST_MAX = 14, SHORT_STEP_MAX = 15 };

void tide_thrift_init(struct tide_thrift *thrift, struct tide_buf *out, struct tide_err *err) {
  *thrift = (struct tide_thrift){.out = out, .err = err};
}

static void put_field(struct tide_thrift *thrift, int id, enum tide_thrift_type type) {
  int step = id - thrift->last[thrift->depth];
  assert(step > 0 && thrift->depth > 0);
  if (step <= SHORT_STEP_MAX) {
    tide_buf_put_u8(thrift->out, (uint8_t)(step << 4 | (int)type), thrift->err);
  } else {
    tide_buf_put_u8(thrift->out, (uint8_t)type, thrift->err);
    tide_buf_put_zigzag(thrift->out, id, thrift->err);
  }
  thrift->last[thrift->depth] = id;
}

void tide_thrift_begin(struct tide_thrift *thrift) {
  assert(thrift->depth < TIDE_THRIFT_DEPTH_MAX);
  thrift->last[++thrift->depth] = 0;
}

void tide_thrift_begin_field(struct tide_thrift *thrift, int id) {
  put_field(thrift, id, TIDE_THRIFT_STRUCT);
  tide_thrift_begin(thrift);
}

void tide_thrift_end(struct tide_thrift *thrift) {
  assert(thrift->depth > 0);
  tide_buf_put_u8(thrift->out, 0, thrift->err);
  thrift->depth--;
}

void tide_thrift_bool(struct tide_thrift *thrift, int id, bool value) {
  put_field(thrift, id, value ? TIDE_THRIFT_TRUE : TIDE_THRIFT_FALSE);
}

void tide_thrift_i32(struct tide_thrift *thrift, int id, int32_t value) {
  put_field(thrift, id, TIDE_THRIFT_I32);
  tide_buf_put_zigzag(thrift->out, value, thrift->err);
}

void tide_thrift_i64(struct tide_thrift *thrift, int id, int64_t value) {
  put_field(thrift, id, TIDE_THRIFT_I64);
  tide_buf_put_zigzag(thrift->out, value, thrift->err);
}

void tide_thrift_binary(struct tide_thrift *thrift, int id, const void *bytes, size_t size) {
  put_field(thrift, id, TIDE_THRIFT_BINARY);
  tide_thrift_element_binary(thrift, bytes, size);
}

void tide_thrift_string(struct tide_thrift *thrift, int id, const char *text) {
  tide_thrift_binary(thrift, id, text, strlen(text));
}

void tide_thrift_list(struct tide_thrift *thrift, int id, enum tide_thrift_type type, size_t count) {
  put_field(thrift, id, TIDE_THRIFT_LIST);
  if (count <= SHORT_LIST_MAX) {
    tide_buf_put_u8(thrift->out, (uint8_t)(count << 4 | (size_t)type), thrift->err);
  } else {
    tide_buf_put_u8(thrift->out, (uint8_t)(0xf0 | (int)type), thrift->err);
    tide_buf_put_varint(thrift->out, count, thrift->err);
  }
}

void tide_thrift_element_bool(struct tide_thrift *thrift, bool value) {
  tide_buf_put_u8(thrift->out, value ? TIDE_THRIFT_TRUE : TIDE_THRIFT_FALSE, thrift->err);
}

void tide_thrift_element_int(struct tide_thrift *thrift, int64_t value) {
  tide_buf_put_zigzag(thrift->out, value, thrift->err);
}

void tide_thrift_element_binary(struct tide_thrift *thrift, const void *bytes, size_t size) {
  tide_buf_put_varint(thrift->out, size, thrift->err);
  tide_buf_put(thrift->out, bytes, size, thrift->err);
}
