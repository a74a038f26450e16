/* Damage to a base, as one who has the file but not the extension can do it. */
#ifndef TIDE_TESTS_FUZZ_DAMAGE_H
#define TIDE_TESTS_FUZZ_DAMAGE_H

#include "bases.h"

enum damage_kind {
  /* a value becomes */
  DAMAGE_NULL,
  DAMAGE_NUMBER, /* an extreme one */
  DAMAGE_NEAR,   /* a number, one or a few away */
  DAMAGE_OTHER,  /* that of another row of the table */
  DAMAGE_TYPE,   /* one of another type */
  DAMAGE_FLIP,   /* with bits that are flipped */
  DAMAGE_CUT,
  DAMAGE_EXTEND,
  DAMAGE_SPLICE, /* its front with another row's back */
  /* a row is */
  DAMAGE_DELETE,
  DAMAGE_COPY, /* inserted again, with one value near that of before */
  DAMAGE_SWAP, /* another in one value, and that row this one */
  DAMAGE_ROWS, /* all that are of the table are deleted */
  /* what is not a row */
  DAMAGE_SCHEMA_FLIP, /* a byte of an entry of sqlite_schema */
  DAMAGE_SCHEMA_DROP, /* an entry is gone */
  DAMAGE_SCHEMA_ROOT, /* two have each other's pages */
  DAMAGE_PAGE,        /* bytes of the file */
  DAMAGE_KINDS
};

struct damage {
  uint8_t kind;
  uint8_t table; /* which, row and column: taken modulo how many there are */
  uint8_t column;
  uint16_t row;
  uint16_t at;  /* where in the value */
  uint8_t with; /* what it becomes, among the possible */
  bool mended;  /* checksums are made right afterwards */
};

/* What can be said of a damaged file beforehand. */
struct damage_reach {
  bool rows;         /* of tables; false: also the schema or the pages */
  bool covered;      /* only bytes that a checksum covers, and it was left as it is */
  bool done;         /* something did change */
  int dataset;       /* when covered: whose bytes they are, -1: of several */
  int64_t partition; /* and of which of its partitions, -1: of several */
};

/* The image with the damage done to it; the caller frees its bytes with sqlite3_free. */
struct base_image damage_do(const struct base *base, const struct damage *damages, size_t count,
                            struct damage_reach *ret_reach);

/* Whether one of them is of those that nothing in the file contradicts: what is damaged is said there alone. */
bool damage_is_unseen(const struct base *base, const struct damage *damages, size_t count);

/* In words, in one line; for whoever reads what was found. */
void damage_describe(const struct base *base, const struct damage *damage, char *text, size_t size);

#endif
