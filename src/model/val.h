/* One SQL value, as a view: text and blob point at bytes that somebody else owns. All zero is NULL. */
#ifndef TIDE_MODEL_VAL_H
#define TIDE_MODEL_VAL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* In SQLite's sort order, and stored in segments and tail rows: never renumber. */
enum tide_val_type { TIDE_VAL_NULL = 0, TIDE_VAL_INT = 1, TIDE_VAL_REAL = 2, TIDE_VAL_TEXT = 3, TIDE_VAL_BLOB = 4 };
enum { TIDE_VAL_TYPES = 5 };

struct tide_val {
  uint8_t type;  /* enum tide_val_type */
  int64_t i;     /* INT */
  double r;      /* REAL; never NaN, SQLite stores that as NULL */
  const void *p; /* TEXT (UTF-8, no NUL behind it), BLOB; not NULL when n > 0 */
  size_t n;      /* bytes of p */
};

/* A double beside integers, as columns and files hold one: the same 64 bits. */
static inline double tide_real_of_bits(int64_t bits) {
  double real;
  memcpy(&real, &bits, sizeof real);
  return real;
}

static inline int64_t tide_bits_of_real(double real) {
  int64_t bits;
  memcpy(&bits, &real, sizeof bits);
  return bits;
}

static inline struct tide_val tide_val_null(void) {
  return (struct tide_val){.type = TIDE_VAL_NULL};
}
static inline struct tide_val tide_val_int(int64_t i) {
  return (struct tide_val){.type = TIDE_VAL_INT, .i = i};
}
static inline struct tide_val tide_val_real(double r) {
  return (struct tide_val){.type = TIDE_VAL_REAL, .r = r};
}
static inline struct tide_val tide_val_text(const char *p, size_t n) {
  return (struct tide_val){.type = TIDE_VAL_TEXT, .p = p, .n = n};
}
static inline struct tide_val tide_val_blob(const void *p, size_t n) {
  return (struct tide_val){.type = TIDE_VAL_BLOB, .p = p, .n = n};
}

/* SQLite's order with collation BINARY and no affinity: NULL, numbers (an integer and a real compare by exact
 * value), text, blobs. Below 0, 0, above 0. NULL equals NULL here. */
int tide_val_compare(const struct tide_val *a, const struct tide_val *b);

/* "INTEGER", "REAL", "TEXT", "BLOB", "NULL" */
const char *tide_val_type_name(uint8_t type);

#endif
