#include "engine/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "model/partition.h"

static const char op_letters[] = "eghlmino";

/* ---- choosing ---- */

bool tide_plan_takes(const struct tide_plan_constraint *constraint) {
  switch (constraint->column) {
  case TIDE_PLAN_OTHER:
    return false;
  case TIDE_PLAN_PARTITION:
    return constraint->op == TIDE_OP_EQ || constraint->op == TIDE_OP_IS;
  default:
    return true;
  }
}

void tide_plan_put_order(struct tide_buf *out, enum tide_scan_order order, struct tide_err *err) {
  if (order != TIDE_SCAN_BY_PARTITION)
    tide_buf_put_u8(out, order == TIDE_SCAN_UPWARDS ? 'O' : 'D', err);
}

void tide_plan_put_term(struct tide_buf *out, const struct tide_plan_constraint *constraint, struct tide_err *err) {
  if (constraint->column == TIDE_PLAN_SINCE)
    tide_buf_put_u8(out, constraint->list ? 'L' : 'S', err);
  else if (constraint->column == TIDE_PLAN_PARTITION)
    tide_buf_put_u8(out, 'P', err);
  else
    tide_buf_printf(out, err, "C%d", constraint->column);
  tide_buf_put_u8(out, (uint8_t)op_letters[constraint->op], err);
}

/* The share of rows that a constraint leaves. A guess, but one that puts `since` before a partition and that before
 * any column. */
static double share(const struct tide_plan_constraint *constraint) {
  const bool equal = constraint->op == TIDE_OP_EQ || constraint->op == TIDE_OP_IS;
  if (constraint->column == TIDE_PLAN_SINCE && constraint->list)
    return 1.0 / 1024;
  if (constraint->column == TIDE_PLAN_SINCE)
    return equal ? 0.0 : 1.0 / 32;
  if (constraint->column == TIDE_PLAN_PARTITION)
    return 1.0 / 16;
  return equal ? 1.0 / 4 : 3.0 / 4;
}

struct tide_plan_cost tide_plan_estimate(const struct tide_plan_constraint *constraints, size_t count,
                                         int64_t total_rows) {
  struct tide_plan_cost cost = {.cost = 0};
  double rows = total_rows > 0 ? (double)total_rows : 1.0;
  for (size_t i = 0; i < count; i++) {
    rows *= share(&constraints[i]);
    if (constraints[i].column == TIDE_PLAN_SINCE && constraints[i].op == TIDE_OP_EQ && !constraints[i].list)
      cost.unique = true;
  }
  cost.rows = rows < 1.0 ? 1 : (int64_t)rows;
  cost.cost = 50.0 + rows / 2; /* a scan has a price before its first row */
  return cost;
}

/* ---- asking ---- */

void tide_scan_request_init(struct tide_scan_request *request) {
  *request = (struct tide_scan_request){.above = 0, .upto = INT64_MAX};
}

static void free_pred(struct tide_pred *pred) {
  if (pred->value.type == TIDE_VAL_TEXT || pred->value.type == TIDE_VAL_BLOB)
    tide_free((void *)(uintptr_t)pred->value.p);
}

void tide_scan_request_clear(struct tide_scan_request *request) {
  for (size_t i = 0; i < request->npreds; i++)
    free_pred(&request->preds[i]);
  tide_free(request->preds);
  tide_free(request->list);
  tide_free(request->partition);
  *request = (struct tide_scan_request){.empty = true};
}

/* above = max(above, since) and so on: since runs from 1. */
static void narrow_int(struct tide_scan_request *request, enum tide_op op, int64_t bound) {
  const bool equal = op == TIDE_OP_EQ || op == TIDE_OP_IS;
  if (op == TIDE_OP_GT || op == TIDE_OP_GE || equal) {
    const int64_t above = op == TIDE_OP_GT || bound == INT64_MIN ? bound : bound - 1;
    if (above > request->above)
      request->above = above;
  }
  if (op == TIDE_OP_LT || op == TIDE_OP_LE || equal) {
    const int64_t upto = op == TIDE_OP_LT && bound > INT64_MIN ? bound - 1 : bound;
    if (upto < request->upto)
      request->upto = upto;
  }
}

/* As a comparison with the whole number below it, for reals above 2^53 have no room for a step of one. */
static void narrow_real(struct tide_scan_request *request, enum tide_op op, double bound) {
  const bool wants_above = op == TIDE_OP_GT || op == TIDE_OP_GE;
  const bool wants_below = op == TIDE_OP_LT || op == TIDE_OP_LE;
  if (bound >= 9223372036854775808.0 || bound < -9223372036854775808.0) {
    if (bound > 0 ? !wants_below : !wants_above)
      request->empty = true;
    return;
  }
  const int64_t whole = (int64_t)floor(bound);
  if ((double)whole == bound)
    narrow_int(request, op, whole);
  else if (wants_above || wants_below)
    narrow_int(request, wants_above ? TIDE_OP_GT : TIDE_OP_LE, whole);
  else
    request->empty = true;
}

void tide_scan_request_since(struct tide_scan_request *request, enum tide_op op, const struct tide_val *value) {
  if (op == TIDE_OP_NOT_NULL)
    return;
  if (op == TIDE_OP_IS_NULL || value->type == TIDE_VAL_NULL)
    request->empty = true;
  else if (value->type == TIDE_VAL_INT)
    narrow_int(request, op, value->i);
  else if (value->type == TIDE_VAL_REAL)
    narrow_real(request, op, value->r);
  else if (op != TIDE_OP_LT && op != TIDE_OP_LE)
    request->empty = true; /* every number is below every text and blob */
}

static int by_number(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a;
  const int64_t y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

void tide_scan_request_list(struct tide_scan_request *request, int64_t *list, size_t count) {
  if (count == 0 || request->list != NULL) {
    request->empty = request->empty || count == 0;
    tide_free(list);
    return;
  }
  qsort(list, count, sizeof *list, by_number);
  size_t kept = 1;
  for (size_t i = 1; i < count; i++) {
    if (list[i] != list[kept - 1])
      list[kept++] = list[i];
  }
  request->list = list;
  request->list_size = kept;
  narrow_int(request, TIDE_OP_GE, list[0]);
  narrow_int(request, TIDE_OP_LE, list[kept - 1]);
}

int64_t tide_scan_request_next(const struct tide_scan_request *request, int64_t above) {
  size_t low = 0;
  size_t high = request->list_size;
  if (request->list == NULL)
    return above < INT64_MAX ? above + 1 : INT64_MAX;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (request->list[middle] > above)
      high = middle;
    else
      low = middle + 1;
  }
  return low < request->list_size ? request->list[low] : INT64_MAX;
}

int tide_scan_request_partition(struct tide_scan_request *request, const char *text, size_t size,
                                struct tide_err *err) {
  if (request->partition != NULL) {
    if (request->partition_size != size || memcmp(request->partition, text, size) != 0)
      request->empty = true;
    return 0;
  }
  request->partition = tide_copy_text(text, size, err);
  request->partition_size = size;
  return err->rc;
}

/* The value that a predicate says a column has; NULL when none does. */
static const struct tide_val *equal_to(const struct tide_scan_request *request, const struct tide_spec *spec,
                                       size_t column) {
  const uint8_t type = spec->columns[column].type == TIDE_TYPE_TEXT ? TIDE_VAL_TEXT : TIDE_VAL_INT;
  for (size_t i = 0; i < request->npreds; i++) {
    const struct tide_pred *pred = &request->preds[i];
    if ((size_t)pred->column == column && (pred->op == TIDE_OP_EQ || pred->op == TIDE_OP_IS) &&
        pred->value.type == type)
      return &pred->value;
  }
  return NULL;
}

bool tide_scan_request_one_partition(const struct tide_scan_request *request, const struct tide_spec *spec,
                                     struct tide_buf *ret_text, struct tide_err *err) {
  struct tide_val values[TIDE_SPEC_PARTITION_MAX];
  struct tide_err too_long = {0}; /* no partition has that value */
  if (spec->npartition == 0)
    return false;
  for (size_t i = 0; i < spec->npartition; i++) {
    const struct tide_val *value = equal_to(request, spec, spec->partition[i]);
    if (value == NULL)
      return false;
    values[i] = *value;
  }
  tide_partition_encode(spec, values, ret_text, &too_long);
  if (too_long.rc == SQLITE_NOMEM)
    tide_err_nomem(err);
  return !tide_err_is_set(&too_long);
}

int tide_scan_request_pred(struct tide_scan_request *request, const struct tide_pred *pred, struct tide_err *err) {
  struct tide_pred *preds = tide_realloc(request->preds, request->npreds + 1, sizeof *preds, err);
  if (preds == NULL)
    return err->rc;
  request->preds = preds;
  struct tide_pred copy = *pred;
  if (copy.value.type == TIDE_VAL_TEXT || copy.value.type == TIDE_VAL_BLOB) {
    copy.value.p = tide_copy_text(pred->value.p, pred->value.n, err);
    if (copy.value.p == NULL)
      return err->rc;
  }
  preds[request->npreds++] = copy;
  return 0;
}

static int add_term(struct tide_scan_request *request, char what, int column, enum tide_op op,
                    const struct tide_val *value, const struct tide_spec *spec, struct tide_err *err) {
  if (what == 'S') {
    tide_scan_request_since(request, op, value);
  } else if (what == 'L') {
    return 0; /* the caller reads the list */
  } else if (what == 'P') {
    if (value->type == TIDE_VAL_TEXT)
      return tide_scan_request_partition(request, value->p, value->n, err);
    if (value->type == TIDE_VAL_NULL)
      request->empty = true; /* the column is never NULL; other types are left to SQLite */
  } else if (column >= 0 && (size_t)column < spec->ncolumns) {
    const struct tide_pred pred = {.column = column, .op = op, .value = *value};
    return tide_scan_request_pred(request, &pred, err);
  }
  return 0;
}

/* The first letter of a term; a NUL when there are not so many. */
static char term_of(const char *idx, size_t i) {
  const char *at = idx + strspn(idx, "OD");
  for (size_t term = 0; term < i && *at != '\0'; term++) {
    at += strcspn(at, op_letters);
    at += *at != '\0';
  }
  return *at;
}

bool tide_plan_is_since(const char *idx, size_t i) {
  return term_of(idx, i) == 'S';
}

bool tide_plan_is_list(const char *idx, size_t i) {
  return term_of(idx, i) == 'L';
}

int tide_plan_request(const char *idx, const struct tide_val *values, size_t nvalues, const struct tide_spec *spec,
                      struct tide_scan_request *ret_request, struct tide_err *err) {
  struct tide_scan_request request;
  tide_scan_request_init(&request);
  request.order = *idx == 'O' ? TIDE_SCAN_UPWARDS : *idx == 'D' ? TIDE_SCAN_DOWNWARDS : TIDE_SCAN_BY_PARTITION;
  const char *at = idx + (request.order != TIDE_SCAN_BY_PARTITION ? 1 : 0);
  for (size_t i = 0; i < nvalues && !tide_err_is_set(err); i++) {
    const char what = *at != '\0' ? *at++ : '?';
    char *end = (char *)(uintptr_t)at;
    const int column = what == 'C' ? (int)strtol(at, &end, 10) : 0;
    const char *op = *end != '\0' ? strchr(op_letters, *end) : NULL;
    if (op == NULL || strchr("SLPC", what) == NULL) {
      tide_err_set(err, SQLITE_ERROR, "plan \"%s\" is not one of Tidemark's", idx);
      break;
    }
    at = end + 1;
    add_term(&request, what, column, (enum tide_op)(op - op_letters), &values[i], spec, err);
  }
  if (tide_err_is_set(err)) {
    tide_scan_request_clear(&request);
    return err->rc;
  }
  *ret_request = request;
  return 0;
}
