#include "base/buf.h"

#include "base/mem.h"
#include "base/sqlite.h"

void tide_buf_clear(struct tide_buf *buf) {
  tide_free(buf->data);
  *buf = (struct tide_buf){0};
}

int tide_buf_grow(struct tide_buf *buf, size_t more, struct tide_err *err) {
  if (tide_err_is_set(err))
    return err->rc;
  if (more <= buf->cap - buf->len)
    return 0;
  if (more > SIZE_MAX - buf->len) {
    tide_err_nomem(err);
    return err->rc;
  }
  void *block = buf->data;
  int rc = tide_grow(&block, &buf->cap, buf->len + more, 1, err);
  buf->data = block;
  return rc;
}

void tide_buf_put_string(struct tide_buf *buf, const char *text, struct tide_err *err) {
  tide_buf_put(buf, text, strlen(text), err);
}

void tide_buf_printf(struct tide_buf *buf, struct tide_err *err, const char *format, ...) {
  if (tide_err_is_set(err))
    return;
  va_list args;
  va_start(args, format);
  char *text = sqlite3_vmprintf(format, args);
  va_end(args);
  if (text == NULL)
    tide_err_nomem(err);
  else
    tide_buf_put_string(buf, text, err);
  sqlite3_free(text);
}

void tide_buf_put_u8(struct tide_buf *buf, uint8_t value, struct tide_err *err) {
  tide_buf_put(buf, &value, 1, err);
}

static void put_little_endian(struct tide_buf *buf, uint64_t value, size_t size, struct tide_err *err) {
  unsigned char bytes[8];
  for (size_t i = 0; i < size; i++)
    bytes[i] = (unsigned char)(value >> (8 * i));
  tide_buf_put(buf, bytes, size, err);
}

void tide_buf_put_u32(struct tide_buf *buf, uint32_t value, struct tide_err *err) {
  put_little_endian(buf, value, 4, err);
}

void tide_buf_put_u64(struct tide_buf *buf, uint64_t value, struct tide_err *err) {
  put_little_endian(buf, value, 8, err);
}

void tide_buf_put_varint(struct tide_buf *buf, uint64_t value, struct tide_err *err) {
  unsigned char bytes[10];
  size_t size = 0;
  while (value >= 0x80) {
    bytes[size++] = (unsigned char)(value | 0x80);
    value >>= 7;
  }
  bytes[size++] = (unsigned char)value;
  tide_buf_put(buf, bytes, size, err);
}

void tide_buf_put_zigzag(struct tide_buf *buf, int64_t value, struct tide_err *err) {
  tide_buf_put_varint(buf, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63), err);
}
