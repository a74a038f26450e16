#include "engine/check_deleted.h"

#include "base/stmt.h"
#include "store/checks.h"

static void advance(struct tide_check_deleted *deleted, struct tide_check *check, struct tide_err *err) {
  while ((deleted->there = tide_stmt_row(deleted->stmt, err)) && !tide_stmt_are_ints(deleted->stmt, 0, 2))
    tide_check_report_add(check->report, err, "%s_deleted: since '%!.60s' of partition '%!.60s': both must be integers",
                          check->names.dataset, sqlite3_column_text(deleted->stmt, 1),
                          sqlite3_column_text(deleted->stmt, 0));
  if (tide_check_report_take(check->report, "deleted rows", err))
    check->unreadable = true;
  if (deleted->there) {
    deleted->partition = sqlite3_column_int64(deleted->stmt, 0);
    deleted->since = sqlite3_column_int64(deleted->stmt, 1);
  }
}

void tide_check_deleted_open(struct tide_check_deleted *deleted, struct tide_check *check, struct tide_err *err) {
  *deleted = (struct tide_check_deleted){.stmt = tide_checks_deleted(check->db, check->names, err)};
  advance(deleted, check, err);
}

void tide_check_deleted_close(struct tide_check_deleted *deleted) {
  sqlite3_finalize(deleted->stmt);
}

static bool is_before(const struct tide_check_deleted *deleted, int64_t partition, int64_t since) {
  return deleted->there &&
         (deleted->partition < partition || (deleted->partition == partition && deleted->since < since));
}

void tide_check_deleted_pass(struct tide_check_deleted *deleted, struct tide_check *check, int64_t partition,
                             int64_t since, struct tide_err *err) {
  while (is_before(deleted, partition, since) && !tide_err_is_set(err)) {
    tide_check_report_add(check->report, err, "%s_deleted: since %lld is no row of partition %lld",
                          check->names.dataset, (long long)deleted->since, (long long)deleted->partition);
    advance(deleted, check, err);
  }
}

bool tide_check_deleted_meet(struct tide_check_deleted *deleted, struct tide_check *check, int64_t partition,
                             int64_t since, struct tide_err *err) {
  tide_check_deleted_pass(deleted, check, partition, since, err);
  if (!deleted->there || deleted->partition != partition || deleted->since != since)
    return false;
  advance(deleted, check, err);
  return true;
}

int64_t tide_check_deleted_skip(struct tide_check_deleted *deleted, struct tide_check *check, int64_t partition,
                                int64_t upto, struct tide_err *err) {
  int64_t skipped = 0;
  while (deleted->there && deleted->partition == partition && deleted->since <= upto && !tide_err_is_set(err)) {
    skipped++;
    advance(deleted, check, err);
  }
  return skipped;
}
