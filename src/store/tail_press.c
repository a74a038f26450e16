#include "store/tail_press.h"

#include <string.h>

#include "base/sqlite.h"

enum {
  LEVEL = -1,          /* zstd's: what it saves more at 1 takes longer to unpack than pages take to be written */
  KEPT_BYTES = 1 << 18 /* more memory than that is not kept */
};

void tide_tail_press_clear(struct tide_tail_press *press) {
  tide_zpress_destroy(press->press);
  tide_zpand_destroy(press->pand);
  tide_buf_clear(&press->bytes);
  *press = (struct tide_tail_press){0};
}

struct tide_tail_front tide_tail_front_read(struct tide_rd *rd) {
  struct tide_tail_front front = {.version = tide_rd_u8(rd)};
  front.rows = tide_rd_varint(rd);
  front.columns = tide_rd_varint(rd);
  if (front.version == TIDE_TAIL_PACKED) {
    front.raw_size = tide_rd_varint_max(rd, TIDE_TAIL_PACKED_MAX);
    rd->bad = rd->bad || front.raw_size == 0;
  } else if (front.version != TIDE_TAIL_PLAIN) {
    rd->bad = true;
  }
  return front;
}

/* The front, without the size of what follows, which is put in place when it is known. */
static void put_front(struct tide_buf *bytes, const struct tide_tail_front *front, struct tide_err *err) {
  tide_buf_put_u8(bytes, TIDE_TAIL_PACKED, err);
  tide_buf_put_varint(bytes, front->rows, err);
  tide_buf_put_varint(bytes, front->columns, err);
  tide_buf_put_varint(bytes, front->raw_size, err);
}

unsigned char *tide_tail_press_pack(struct tide_tail_press *press, const struct tide_tail_front *front,
                                    const unsigned char *rows, size_t *ret_size, struct tide_err *err) {
  struct tide_buf *bytes = &press->bytes;
  tide_buf_reset(bytes);
  if (press->press == NULL)
    press->press = tide_zpress_create(LEVEL, err);
  put_front(bytes, front, err);
  const size_t size_at = bytes->len;
  tide_buf_put_u32(bytes, 0, err);
  if (tide_err_is_set(err) || tide_zpress_frame(press->press, rows, front->raw_size, bytes, err) != 0)
    return NULL;
  const size_t size = bytes->len - size_at - sizeof(uint32_t);
  for (size_t i = 0; i < sizeof(uint32_t); i++)
    bytes->data[size_at + i] = (unsigned char)(size >> (8 * i));
  if (size > front->raw_size / 4 * 3)
    return NULL;
  const size_t least = TIDE_TAIL_PACKED_LEAST - TIDE_TAIL_HASH_SIZE;
  const size_t padding = bytes->len < least ? least - bytes->len : 0;
  if (tide_buf_reserve(bytes, padding + TIDE_TAIL_HASH_SIZE, err) != 0)
    return NULL;
  memset(bytes->data + bytes->len, 0, padding);
  *ret_size = bytes->len + padding;
  return bytes->data;
}

struct tide_buf tide_tail_press_lend(struct tide_tail_press *press) {
  const struct tide_buf lent = press->bytes;
  press->bytes = (struct tide_buf){0};
  return lent;
}

void tide_tail_press_give_back(struct tide_tail_press *press, struct tide_buf *lent) {
  tide_buf_clear(&press->bytes);
  press->bytes = *lent;
  *lent = (struct tide_buf){0};
  tide_tail_press_rest(press);
}

void tide_tail_press_rest(struct tide_tail_press *press) {
  if (press->bytes.cap > KEPT_BYTES)
    tide_buf_clear(&press->bytes);
}

const unsigned char *tide_tail_press_unpack(struct tide_tail_press *press, const struct tide_tail_front *front,
                                            struct tide_rd packed, struct tide_err *err) {
  struct tide_buf *bytes = &press->bytes;
  struct tide_err unpacking = {0};
  const size_t size = tide_rd_u32(&packed);
  const unsigned char *frame = tide_rd_bytes(&packed, size);
  if (frame == NULL)
    return NULL;
  tide_buf_reset(bytes);
  if (press->pand == NULL)
    press->pand = tide_zpand_create(&unpacking);
  if (tide_buf_reserve(bytes, front->raw_size, &unpacking) == 0)
    tide_zpand_frame(press->pand, frame, size, bytes->data, front->raw_size, &unpacking);
  if (unpacking.rc == SQLITE_NOMEM)
    tide_err_nomem(err);
  return tide_err_is_set(&unpacking) ? NULL : bytes->data;
}
