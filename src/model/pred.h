/* A comparison that a scan may use to leave out segments and rows: column OP value. Its answer may be "maybe", never a
 * wrong "no": SQLite checks every row again. */
#ifndef TIDE_MODEL_PRED_H
#define TIDE_MODEL_PRED_H

#include "model/spec.h"
#include "model/val.h"

enum tide_op {
  TIDE_OP_EQ,
  TIDE_OP_GT,
  TIDE_OP_GE,
  TIDE_OP_LT,
  TIDE_OP_LE,
  TIDE_OP_IS,
  TIDE_OP_IS_NULL,
  TIDE_OP_NOT_NULL
};

struct tide_pred {
  int column; /* index into the spec's columns */
  enum tide_op op;
  struct tide_val value; /* a view; the right-hand side as SQLite hands it over, no affinity applied */
};

/* What is known of all values of a column in some run of rows. Every non-NULL value v has min <= v <= max in
 * tide_val_compare's order: a text or blob min may be cut short, for a prefix is never above the whole, and a max
 * raised. */
struct tide_zone {
  uint8_t types; /* bit (1 << enum tide_val_type) for each type that occurs, TIDE_VAL_NULL among them */
  bool bounded;  /* min and max hold; false: nothing is known but the types (some are too long to keep, say) */
  struct tide_val min;
  struct tide_val max;
};

/* Whether a row whose column lies in the zone may satisfy the predicate under SQLite's rules, for a column of that
 * type, collation BINARY. Comparison in SQL depends on the affinities of both sides and only the column's is known
 * here, so "no" is said only where every possible affinity of the right-hand side agrees. The order of texts is that
 * of their UTF-8: in a UTF-16 database, where SQLite compares the bytes of UTF-16, the caller must not ask GT, GE,
 * LT or LE of a text. */
bool tide_pred_may_match(const struct tide_pred *pred, enum tide_type type, const struct tide_zone *zone);

/* Whether the value is a text that no affinity makes a number: a text is equal to it only byte by byte. */
bool tide_pred_is_of_text(const struct tide_pred *pred);

#endif
