#include "engine/configure.h"

#include <string.h>

#include "engine/work.h"

static void unknown_option(const struct tide_dataset *ds, const char *option, struct tide_err *err) {
  char names[TIDE_OPTIONS_NAMES_SIZE];
  tide_options_names(names);
  tide_err_set(err, SQLITE_ERROR, "dataset %s: there is no option \"%.100w\": expected%s", ds->name, option, names + 1);
}

static const struct tide_option_facts *find(const struct tide_dataset *ds, const char *option, struct tide_err *err) {
  const struct tide_option_facts *facts = tide_options_find(option, strlen(option));
  if (facts == NULL && sqlite3_stricmp(option, "partition_by") == 0)
    tide_err_set(err, SQLITE_ERROR, "dataset %s: partition_by is part of the columns and does not change", ds->name);
  else if (facts == NULL)
    unknown_option(ds, option, err);
  else if (facts->kind == TIDE_OPTION_FIXED)
    tide_err_set(err, SQLITE_ERROR, "dataset %s: %s is given by CREATE VIRTUAL TABLE and does not change", ds->name,
                 facts->name);
  return tide_err_is_set(err) ? NULL : facts;
}

/* Whether the file has another value than the one wanted. */
static bool differs(struct tide_dataset *ds, const struct tide_option_facts *facts, struct tide_options *wanted,
                    struct tide_err *err) {
  sqlite3_stmt *snapshot = tide_read_begin(ds->conn->db, ds->schema, err);
  if (!tide_err_is_set(err))
    tide_dataset_refresh(ds, err);
  sqlite3_finalize(snapshot);
  return *tide_options_at(&ds->config.options, facts) != *tide_options_at(wanted, facts);
}

static void store(struct tide_dataset *ds, const struct tide_option_facts *facts, struct tide_options *wanted,
                  struct tide_err *err) {
  struct tide_work work;
  tide_work_begin(ds, "tidemark_set", &work, err);
  if (!tide_err_is_set(err)) {
    tide_dataset_touched(ds);
    *tide_options_at(&ds->config.options, facts) = *tide_options_at(wanted, facts);
    tide_catalog_store_option(ds->conn->db, tide_dataset_names(ds), &ds->config, facts, err);
  }
  tide_work_end(&work, err);
}

int tide_configure(struct tide_dataset *ds, const char *option, const struct tide_val *value, struct tide_err *err) {
  struct tide_options wanted = ds->config.options;
  const struct tide_option_facts *facts = find(ds, option, err);
  if (facts == NULL)
    return err->rc;
  if (tide_options_set(&wanted, facts, ds->spec, value, err) != 0) {
    tide_err_prefix(err, "dataset %s", ds->name);
    return err->rc;
  }
  if (differs(ds, facts, &wanted, err) && !tide_err_is_set(err))
    store(ds, facts, &wanted, err);
  return err->rc;
}
