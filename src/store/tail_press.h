/* Batches of the tail that are large enough are packed: a transaction's rows take a third of the pages then, in the
 * write-ahead log, in the file, and when they are read back to be sealed. What is kept for that, of one connection: all
 * zero is one that has done nothing yet. store/tail.h draws the bytes. */
#ifndef TIDE_STORE_TAIL_PRESS_H
#define TIDE_STORE_TAIL_PRESS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/rd.h"
#include "codec/zframe.h"

enum {
  TIDE_TAIL_PLAIN = 1, /* an entry's version: the rows as they are, */
  TIDE_TAIL_PACKED = 2,
  TIDE_TAIL_PACKED_FROM = 2 << 10, /* rows of fewer bytes are not packed, nor are those */
  TIDE_TAIL_PACKED_MAX = 4 << 20,  /* of more: what a reader takes memory for */
  TIDE_TAIL_PACKED_LEAST = 512,    /* a packed entry has no fewer bytes: who looks for them passes over smaller ones */
  TIDE_TAIL_FRONT_MAX = 32,        /* bytes before the rows or what they are packed into, at the most */
  TIDE_TAIL_HASH_SIZE = 8          /* and behind them */
};

struct tide_tail_press {
  struct tide_zpress *press; /* made when they are needed */
  struct tide_zpand *pand;
  struct tide_buf bytes; /* the last result */
};

void tide_tail_press_clear(struct tide_tail_press *press);

/* What an entry's data begins with. */
struct tide_tail_front {
  uint8_t version;
  uint64_t rows;
  uint64_t columns;
  uint64_t raw_size; /* of packed rows, 1 to TIDE_TAIL_PACKED_MAX; 0 of plain ones */
};

/* Leaves the reader behind it. One that is none, or of a version that is not known, turns the reader bad. */
struct tide_tail_front tide_tail_front_read(struct tide_rd *rd);

/* Packs rows of an entry, TIDE_TAIL_PACKED_FROM to _MAX bytes of them. Gives the entry's data but for the hash at its
 * end, for which there is room, as a view until the press is used again, and its size. NULL when it would not be much
 * smaller than the rows, and when err is set. */
unsigned char *tide_tail_press_pack(struct tide_tail_press *press, const struct tide_tail_front *front,
                                    const unsigned char *rows, size_t *ret_size, struct tide_err *err);

/* Takes the last result out of the press, so that it stays while SQL runs: what triggers do may use the press again.
 * Given back, its memory serves the next one. */
struct tide_buf tide_tail_press_lend(struct tide_tail_press *press);
void tide_tail_press_give_back(struct tide_tail_press *press, struct tide_buf *lent);
/* The last result is done with: memory beyond what most batches take is freed. */
void tide_tail_press_rest(struct tide_tail_press *press);

/* The rows of what lies behind a packed entry's front, up to its hash: front->raw_size bytes, as a view until the press
 * is used again. NULL when they are not what they should be, and when err is set (SQLITE_NOMEM alone). */
const unsigned char *tide_tail_press_unpack(struct tide_tail_press *press, const struct tide_tail_front *front,
                                            struct tide_rd packed, struct tide_err *err);

#endif
