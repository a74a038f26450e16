#include "best_index.h"

#include "base/mem.h"
#include "engine/plan.h"

enum { ORDERED_PARTITIONS_MAX = 64, UNKNOWN_ROWS = 1000000, TOLD_IN = 32 };

static bool operator_of(unsigned char op, enum tide_op *ret_op) {
  static const struct {
    unsigned char sqlite;
    enum tide_op op;
  } known[] = {
      {SQLITE_INDEX_CONSTRAINT_EQ, TIDE_OP_EQ},          {SQLITE_INDEX_CONSTRAINT_GT, TIDE_OP_GT},
      {SQLITE_INDEX_CONSTRAINT_GE, TIDE_OP_GE},          {SQLITE_INDEX_CONSTRAINT_LT, TIDE_OP_LT},
      {SQLITE_INDEX_CONSTRAINT_LE, TIDE_OP_LE},          {SQLITE_INDEX_CONSTRAINT_IS, TIDE_OP_IS},
      {SQLITE_INDEX_CONSTRAINT_ISNULL, TIDE_OP_IS_NULL}, {SQLITE_INDEX_CONSTRAINT_ISNOTNULL, TIDE_OP_NOT_NULL}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (known[i].sqlite == op) {
      *ret_op = known[i].op;
      return true;
    }
  }
  return false;
}

static bool is_range(enum tide_op op) {
  return op == TIDE_OP_GT || op == TIDE_OP_GE || op == TIDE_OP_LT || op == TIDE_OP_LE;
}

/* Whether an EQ is an IN, or may be one, for SQLite tells of the first 32 only. It does not tell of (a, b) IN (...). */
static bool may_be_in(sqlite3_index_info *info, int i) {
  return info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ && (i >= TOLD_IN || sqlite3_vtab_in(info, i, -1) != 0);
}

/* What a constraint is on; TIDE_PLAN_OTHER for what we have no use for: text compared under another collation than
 * our order of bytes among it, which in a UTF-16 database every range of text is; and a column IN something, for
 * SQLite would then compare by column = value, forgetting the affinity of a subquery's column: of text '7' and '7.0',
 * IN (SELECT integer) finds both, = 7 only one. since and partition have no such values. */
static struct tide_plan_constraint constraint_of(const struct tide_spec *spec, bool utf16, sqlite3_index_info *info,
                                                 int i) {
  struct tide_plan_constraint constraint = {.column = TIDE_PLAN_OTHER};
  const int column = info->aConstraint[i].iColumn;
  const int ncolumns = (int)spec->ncolumns;
  if (!info->aConstraint[i].usable || !operator_of(info->aConstraint[i].op, &constraint.op))
    return constraint;
  if (column == -1 || column == ncolumns + TIDE_HIDDEN_SINCE)
    constraint.column = TIDE_PLAN_SINCE;
  else if (sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
    return constraint;
  else if (column >= 0 && column < ncolumns)
    constraint.column = (utf16 && is_range(constraint.op)) || may_be_in(info, i) ? TIDE_PLAN_OTHER : column;
  else if (column == ncolumns + TIDE_HIDDEN_PARTITION)
    constraint.column = TIDE_PLAN_PARTITION;
  return constraint;
}

/* The order of rows that is asked for and that a scan has; one that looks numbers up in a list only goes upwards. */
static enum tide_scan_order order_of(const struct tide_spec *spec, const sqlite3_index_info *info, bool has_list) {
  if (info->nOrderBy != 1 || (info->aOrderBy[0].desc && has_list) ||
      (info->aOrderBy[0].iColumn != -1 && info->aOrderBy[0].iColumn != (int)spec->ncolumns + TIDE_HIDDEN_SINCE))
    return TIDE_SCAN_BY_PARTITION;
  return info->aOrderBy[0].desc ? TIDE_SCAN_DOWNWARDS : TIDE_SCAN_UPWARDS;
}

/* Few enough partitions to merge. A scan merges any number. */
static bool may_merge(int64_t npartitions, bool one_partition) {
  return one_partition || npartitions <= ORDERED_PARTITIONS_MAX;
}

int tide_best_index(const struct tide_spec *spec, bool utf16, int64_t npartitions, sqlite3_index_info *info,
                    struct tide_err *err) {
  struct tide_buf idx = {0};
  struct tide_plan_constraint *taken = tide_alloc_zero((size_t)info->nConstraint + 1, sizeof *taken, err);
  size_t count = 0;
  bool one_partition = false;
  bool has_list = false;
  if (taken == NULL)
    return err->rc;
  for (int i = 0; i < info->nConstraint; i++) {
    const struct tide_plan_constraint constraint = constraint_of(spec, utf16, info, i);
    one_partition = one_partition || constraint.column == TIDE_PLAN_PARTITION;
    if (!tide_plan_takes(&constraint))
      continue;
    taken[count] = constraint;
    taken[count].list =
        constraint.column == TIDE_PLAN_SINCE && constraint.op == TIDE_OP_EQ && sqlite3_vtab_in(info, i, 1);
    has_list = has_list || taken[count].list;
    count++;
    info->aConstraintUsage[i].argvIndex = (int)count;
    info->aConstraintUsage[i].omit = constraint.column == TIDE_PLAN_SINCE && is_range(constraint.op); /* it is exact */
  }
  const enum tide_scan_order order = order_of(spec, info, has_list);
  if (order != TIDE_SCAN_BY_PARTITION && may_merge(npartitions, one_partition)) {
    tide_plan_put_order(&idx, order, err);
    info->orderByConsumed = 1;
  }
  for (size_t i = 0; i < count; i++)
    tide_plan_put_term(&idx, &taken[i], err);
  tide_buf_put_u8(&idx, 0, err);
  const struct tide_plan_cost cost = tide_plan_estimate(taken, count, UNKNOWN_ROWS);
  info->estimatedCost = cost.cost;
  info->estimatedRows = cost.rows;
  if (cost.unique)
    info->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
  tide_free(taken);
  if (tide_err_is_set(err)) {
    tide_buf_clear(&idx);
    return err->rc;
  }
  info->idxStr = (char *)idx.data;
  info->needToFreeIdxStr = 1;
  return SQLITE_OK;
}
