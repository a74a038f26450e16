#include "store/interrupt.h"

#include "base/stmt.h"

/* Some steps long, so that a progress handler is asked now and then. */
sqlite3_stmt *tide_interrupt_prepare(sqlite3 *db, struct tide_err *err) {
  return tide_stmt_prepare(
      db, err, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100) SELECT max(n) FROM c");
}

bool tide_interrupt_is_pending(void *stmt, struct tide_err *err) {
  tide_stmt_row(stmt, err);
  sqlite3_reset(stmt);
  return tide_err_is_set(err);
}
