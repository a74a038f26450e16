#include "engine/check.h"

#include "base/mem.h"
#include "base/stmt.h"
#include "engine/check_chunks.h"
#include "engine/check_index.h"
#include "engine/check_log.h"
#include "engine/check_rows.h"
#include "store/checks.h"
#include "store/durable.h"
#include "store/sinks.h"

/* Whether there is a dataset to look at. */
static bool has_tables(struct tide_check *check, struct tide_err *err) {
  char *missing = tide_checks_missing_table(check->db, check->names, err);
  if (missing != NULL)
    tide_check_report_add(check->report, err, "dataset %s: table %s is missing", check->names.dataset, missing);
  char *entered = missing == NULL ? tide_sinks_find_dataset(check->db, check->names, err) : NULL;
  if (missing == NULL && entered == NULL)
    tide_check_report_add(check->report, err, "dataset %s: it is not in tidemark_registry", check->names.dataset);
  const bool found = entered != NULL;
  tide_free(missing);
  tide_free(entered);
  return found && !tide_err_is_set(err);
}

static bool read_catalog(struct tide_check *check, struct tide_err *err) {
  tide_catalog_config(check->db, check->names, &check->config, err);
  check->spec = tide_catalog_spec(check->db, check->names, err);
  if (tide_check_report_take(check->report, NULL, err) || tide_err_is_set(err))
    return false;
  return tide_batch_init(&check->batch, check->spec->ncolumns, err) == 0;
}

void tide_check(struct tide_dataset *ds, bool quick, struct tide_check_report *report, struct tide_err *err) {
  struct tide_check check = {
      .ds = ds, .db = ds->conn->db, .names = tide_dataset_names(ds), .quick = quick, .report = report};
  sqlite3_stmt *snapshot = NULL;
  tide_txn_flush(ds, err);
  tide_check_report_take(report, NULL, err);
  if (!tide_err_is_set(err) && has_tables(&check, err))
    snapshot = tide_read_begin(check.db, ds->schema, err);
  if (snapshot != NULL && read_catalog(&check, err)) {
    tide_check_rows(&check, err);
    tide_check_unique(&check, err);
    tide_check_chunks(&check, err);
    tide_check_index(&check, err);
    tide_check_log(&check, err);
  }
  tide_check_report_take(report, NULL, err);
  sqlite3_finalize(snapshot);
  tide_batch_clear(&check.batch);
  tide_spec_unref(check.spec);
}
