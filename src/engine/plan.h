/* Which rows a query can mean. Pure: xBestIndex's constraints become a plan, the plan becomes idxStr; at xFilter
 * idxStr and the values become a scan request. A request may give more rows than the query wants, never fewer:
 * SQLite checks every constraint again, but a range of since, which gives just the rows that SQLite would.
 *
 * idxStr: 'O' when rows must come ascending in since over the whole dataset, 'D' descending, then for each value in
 * argv's order one term: what and op.
 *   what  'S' since, 'L' since as a list of values, any of which may be equal (its value in argv is not one of them:
 *         tide_scan_request_list), 'P' partition, 'C' and the column's number in decimal
 *   op    one letter of "eghlmino": EQ GT GE LT LE IS ISNULL NOTNULL (enum tide_op's order) */
#ifndef TIDE_ENGINE_PLAN_H
#define TIDE_ENGINE_PLAN_H

#include "base/buf.h"
#include "model/pred.h"
#include "model/spec.h"

/* By partition, ascending in since inside each; or ascending or descending in since over all partitions. */
enum tide_scan_order { TIDE_SCAN_BY_PARTITION, TIDE_SCAN_UPWARDS, TIDE_SCAN_DOWNWARDS };

/* ---- choosing ---- */

/* A usable constraint. column: an index into the spec's columns, or TIDE_PLAN_SINCE, TIDE_PLAN_PARTITION. */
struct tide_plan_constraint {
  int column;
  enum tide_op op;
  bool list; /* of since: equal to any of a list that is given whole */
};
enum { TIDE_PLAN_SINCE = -1, TIDE_PLAN_PARTITION = -2, TIDE_PLAN_OTHER = -3 };

/* Whether the plan has a use for that constraint. */
bool tide_plan_takes(const struct tide_plan_constraint *constraint);

/* Begins idxStr with the order; appends a constraint's term to it. */
void tide_plan_put_order(struct tide_buf *out, enum tide_scan_order order, struct tide_err *err);
void tide_plan_put_term(struct tide_buf *out, const struct tide_plan_constraint *constraint, struct tide_err *err);

/* What a plan with those constraints costs when the dataset has total_rows: falls with every constraint. */
struct tide_plan_cost {
  double cost;
  int64_t rows;
  bool unique; /* at most one row: since = value */
};
struct tide_plan_cost tide_plan_estimate(const struct tide_plan_constraint *constraints, size_t count,
                                         int64_t total_rows);

/* ---- asking ---- */

struct tide_scan_request {
  bool empty; /* no row can be meant */
  enum tide_scan_order order;
  bool by_rows;  /* by tide_scan_next alone: a row's since may be left undecoded until tide_scan_number asks for it,
                         and what lies in no row that is given for good */
  int64_t above; /* rows with above < since <= upto */
  int64_t upto;
  int64_t *list; /* only these of them, ascending, each once; NULL: all. Not with TIDE_SCAN_DOWNWARDS */
  size_t list_size;
  char *partition; /* that one only; NULL: all */
  size_t partition_size;
  int64_t partition_id;    /* the same by its id; 0: not so */
  struct tide_pred *preds; /* rows that they rule out may be left out; values are owned */
  size_t npreds;
};

void tide_scan_request_init(struct tide_scan_request *request); /* all rows */
void tide_scan_request_clear(struct tide_scan_request *request);

/* Narrows the request by since OP value. value: numeric-looking text has become a number, as the column's affinity
 * makes it. */
void tide_scan_request_since(struct tide_scan_request *request, enum tide_op op, const struct tide_val *value);
/* Narrows it to a list of numbers, which it takes over: an array of tide_alloc's, in any order. A second list narrows
 * nothing. */
void tide_scan_request_list(struct tide_scan_request *request, int64_t *list, size_t count);
/* The lowest number of the list above a since (without a list: the next number); INT64_MAX when there is none. */
int64_t tide_scan_request_next(const struct tide_scan_request *request, int64_t above);
/* Narrows it to one partition; a second, other one leaves none. */
int tide_scan_request_partition(struct tide_scan_request *request, const char *text, size_t size, struct tide_err *err);
/* The partition that the predicates leave alone, as its text: they say what each column of partition_by is equal to,
 * and in its own type. false when they do not, and on error. */
bool tide_scan_request_one_partition(const struct tide_scan_request *request, const struct tide_spec *spec,
                                     struct tide_buf *ret_text, struct tide_err *err);
int tide_scan_request_pred(struct tide_scan_request *request, const struct tide_pred *pred, struct tide_err *err);

/* What value i in argv's order is for, before values are asked of a request: since, which compares numbers as an
 * INTEGER column does; since as a list. */
bool tide_plan_is_since(const char *idx, size_t i);
bool tide_plan_is_list(const char *idx, size_t i);

/* Decodes idxStr: values[i] belongs to term i. A string that is none of ours is SQLITE_ERROR. */
int tide_plan_request(const char *idx, const struct tide_val *values, size_t nvalues, const struct tide_spec *spec,
                      struct tide_scan_request *ret_request, struct tide_err *err);

#endif
