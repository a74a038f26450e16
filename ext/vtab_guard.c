#include "vtab_guard.h"

#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "glue.h"
#include "model/duration.h"
#include "model/partition.h"
#include "sink/registry.h"
#include "store/sink_row.h"
#include "store/sinks.h"

/* The hidden columns, in the order in which the triggers give them. */
enum {
  GUARD_FOLDER,
  GUARD_SINK,
  GUARD_DATASET,
  GUARD_TARGET,
  GUARD_FORMAT,
  GUARD_COLUMNS,
  GUARD_FILTER,
  GUARD_OPTIONS,
  GUARD_START,
  GUARD_HOLD_AGE,
  GUARD_MAX_DELAY,
  GUARD_END
};

enum { NAME_MAX_ENCODED = 200 };

struct guard_vtab {
  sqlite3_vtab base;
  struct tide_shared *shared;
  struct tide_conn *conn; /* of shared */
  char *schema;
};

struct guard_cursor {
  sqlite3_vtab_cursor base;
  bool at_end;
  char *folder;
};

static int guard_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret_vtab,
                         char **ret_message) {
  (void)argc;
  struct tide_err err = {0};
  struct guard_vtab *vtab = tide_alloc_zero(1, sizeof *vtab, &err);
  if (vtab == NULL)
    return err.rc;
  vtab->schema = tide_copy_string(argv[1], &err);
  if (tide_glue_declare(db,
                        "CREATE TABLE x(folder TEXT, sink HIDDEN, dataset HIDDEN, target HIDDEN, format HIDDEN,"
                        " columns HIDDEN, filter HIDDEN, options HIDDEN, start HIDDEN, hold_age HIDDEN,"
                        " max_delay HIDDEN)",
                        &err) != SQLITE_OK) {
    *ret_message = sqlite3_mprintf("tidemark_guard: %s", err.msg);
    tide_free(vtab->schema);
    tide_free(vtab);
    return err.rc;
  }
  sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
  vtab->shared = tide_shared_ref(aux);
  vtab->conn = vtab->shared->conn;
  *ret_vtab = &vtab->base;
  return SQLITE_OK;
}

/* Its own, so that the module's name by itself is no table. */
static int guard_create(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret_vtab,
                        char **ret_message) {
  return guard_connect(db, aux, argc, argv, ret_vtab, ret_message);
}

static int guard_disconnect(sqlite3_vtab *base) {
  struct guard_vtab *vtab = (struct guard_vtab *)base;
  tide_shared_unref(vtab->shared);
  tide_free(vtab->schema);
  tide_free(vtab);
  return SQLITE_OK;
}

static int guard_best_index(sqlite3_vtab *base, sqlite3_index_info *info) {
  (void)base;
  int given = 0;
  for (int i = 0; i < info->nConstraint; i++) {
    const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
    if (constraint->iColumn < GUARD_SINK || constraint->op != SQLITE_INDEX_CONSTRAINT_EQ)
      continue;
    if (!constraint->usable)
      return SQLITE_CONSTRAINT;
    info->aConstraintUsage[i].argvIndex = constraint->iColumn;
    info->aConstraintUsage[i].omit = 1;
    given++;
  }
  info->idxNum = given;
  info->estimatedCost = 1;
  info->estimatedRows = 1;
  return SQLITE_OK;
}

static int guard_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor) {
  struct tide_err err = {0};
  struct guard_cursor *cursor = tide_alloc_zero(1, sizeof *cursor, &err);
  if (cursor != NULL)
    *ret_cursor = &cursor->base;
  return tide_glue_vtab_error(base, &err);
}

static int guard_close(sqlite3_vtab_cursor *base) {
  tide_free(((struct guard_cursor *)base)->folder);
  tide_free(base);
  return SQLITE_OK;
}

/* ---- the checks ---- */

static sqlite3_value *argument(sqlite3_value **argv, int column) {
  return argv[column - GUARD_SINK];
}

static void check_duration(sqlite3_value *value, const char *what, struct tide_err *err) {
  int64_t ms = 0;
  const struct tide_val val = tide_glue_value(value);
  if (val.type != TIDE_VAL_NULL && !tide_err_is_set(err))
    tide_duration_parse(&val, what, &ms, err);
}

/* start: 'earliest', 'latest' or a since. */
static void check_start(sqlite3_value *value, struct tide_err *err) {
  const struct tide_val start = tide_glue_value(value);
  const char *text = tide_glue_text(value, err);
  const bool word = start.type == TIDE_VAL_TEXT && text != NULL &&
                    (sqlite3_stricmp(text, "earliest") == 0 || sqlite3_stricmp(text, "latest") == 0);
  if (!word && (start.type != TIDE_VAL_INT || start.i < 0))
    tide_err_set(err, SQLITE_CONSTRAINT, "start is '%s', expected 'earliest', 'latest' or a since (0 or more)",
                 text != NULL ? text : "NULL");
}

static void check_folder(const struct guard_vtab *vtab, sqlite3_value **argv, const struct tide_sink_config *config,
                         struct tide_err *err) {
  const char *sink = tide_glue_text(argument(argv, GUARD_SINK), err);
  const char *dataset = tide_glue_text(argument(argv, GUARD_DATASET), err);
  const char *folder = config->place;
  const bool is_folder = folder != NULL && !config->scheme->forwards;
  char *user = is_folder ? tide_sink_folder_user(vtab->conn->db, vtab->schema, sink, dataset, folder, err) : NULL;
  if (user != NULL)
    tide_err_set(err, SQLITE_CONSTRAINT,
                 "folder %s is, holds or lies in the folder of sink %s for the same dataset's name: give each its own",
                 folder, user);
  tide_free(user);
}

/* Who reads a text up to its first NUL would take it for another. */
static void check_texts(sqlite3_value **argv, struct tide_err *err) {
  static const char *const columns[GUARD_END] = {
      [GUARD_SINK] = "sink",       [GUARD_DATASET] = "dataset", [GUARD_TARGET] = "target",  [GUARD_FORMAT] = "format",
      [GUARD_COLUMNS] = "columns", [GUARD_FILTER] = "filter",   [GUARD_OPTIONS] = "options"};
  for (int i = GUARD_SINK; i <= GUARD_OPTIONS; i++) {
    const char *text = tide_glue_text(argument(argv, i), err);
    if (text != NULL && strlen(text) != (size_t)sqlite3_value_bytes(argument(argv, i)))
      tide_err_set(err, SQLITE_CONSTRAINT, "%s holds a NUL: expected a text without one", columns[i]);
  }
}

/* Names outside are made of those of the sink and its dataset, with something beside. */
static void check_name_size(const char *what, const char *name, struct tide_err *err) {
  struct tide_buf encoded = {0};
  tide_partition_encode_name(name, strlen(name), &encoded, err);
  if (encoded.len > NAME_MAX_ENCODED)
    tide_err_set(
        err, SQLITE_CONSTRAINT,
        "the name of a %s that has a target takes %d bytes at the most where files are named after it, not %lld", what,
        NAME_MAX_ENCODED, (long long)encoded.len);
  tide_buf_clear(&encoded);
}

/* Beside the folders of datasets lie those of their generations, "<dataset>.g<number>", and what is ours. */
static void check_dataset_name(const char *dataset, struct tide_err *err) {
  const char *dot = strrchr(dataset, '.');
  const bool generation =
      dot != NULL && dot[1] == 'g' && dot[2] != '\0' && dot[2 + strspn(dot + 2, "0123456789")] == '\0';
  if (generation || strcmp(dataset, "_tidemark") == 0)
    tide_err_set(
        err, SQLITE_CONSTRAINT,
        "files of a dataset named %s would lie among others: expected another name than _tidemark or one that ends "
        "like the generation of a dataset, in .g and a number",
        dataset);
  check_name_size("dataset", dataset, err);
}

static void check_sink(const struct guard_vtab *vtab, sqlite3_value **argv, char **ret_folder, struct tide_err *err) {
  const char *text[GUARD_END] = {0};
  for (int i = GUARD_SINK; i <= GUARD_OPTIONS; i++)
    text[i] = tide_glue_text(argument(argv, i), err);
  const struct tide_names names = {.schema = vtab->schema,
                                   .dataset = text[GUARD_DATASET] != NULL ? text[GUARD_DATASET] : ""};
  check_texts(argv, err);
  if (text[GUARD_TARGET] != NULL && text[GUARD_SINK] != NULL) {
    check_name_size("sink", text[GUARD_SINK], err);
    check_dataset_name(names.dataset, err);
  }
  sqlite3_stmt *stmt = tide_sink_datasets_prepare(vtab->conn->db, vtab->schema, names.dataset, err);
  const bool found = tide_stmt_row(stmt, err);
  if (!found)
    tide_glue_refuse_partition_table(vtab->conn, vtab->schema, names.dataset, err);
  if (!found)
    tide_err_set(err, SQLITE_CONSTRAINT, "no such dataset in schema %s: %s", vtab->schema, names.dataset);
  sqlite3_finalize(stmt);
  struct tide_dataset *ds =
      tide_err_is_set(err) ? NULL : tide_dataset_acquire(vtab->conn, vtab->schema, names.dataset, err);
  struct tide_sink_config config = {0};
  const struct tide_sink_words words = {text[GUARD_TARGET], text[GUARD_FORMAT], text[GUARD_COLUMNS], text[GUARD_FILTER],
                                        text[GUARD_OPTIONS]};
  if (ds != NULL)
    tide_sink_config_parse(&vtab->shared->schemes, ds->spec, &words, &config, err);
  if (!tide_err_is_set(err))
    check_start(argument(argv, GUARD_START), err);
  check_duration(argument(argv, GUARD_HOLD_AGE), "hold_age", err);
  check_duration(argument(argv, GUARD_MAX_DELAY), "max_delay", err);
  if (!tide_err_is_set(err))
    check_folder(vtab, argv, &config, err);
  if (!tide_err_is_set(err) && config.place != NULL)
    *ret_folder = tide_copy_string(config.place, err);
  tide_sink_config_clear(&config);
  tide_dataset_release(ds);
  tide_err_prefix(err, "sink %s", text[GUARD_SINK] != NULL ? text[GUARD_SINK] : "NULL");
}

static int guard_filter(sqlite3_vtab_cursor *base, int idx_num, const char *idx, int argc, sqlite3_value **argv) {
  (void)idx;
  struct tide_err err = {0};
  struct guard_cursor *cursor = (struct guard_cursor *)base;
  tide_free(cursor->folder);
  cursor->folder = NULL;
  cursor->at_end = false;
  if (idx_num != GUARD_END - GUARD_SINK || argc != idx_num)
    tide_err_set(&err, SQLITE_ERROR, "tidemark_guard takes %d arguments: it is for the triggers of tidemark_sink",
                 GUARD_END - GUARD_SINK);
  else
    check_sink((struct guard_vtab *)base->pVtab, argv, &cursor->folder, &err);
  if (err.rc == SQLITE_ERROR)
    err.rc = SQLITE_CONSTRAINT;
  return tide_glue_vtab_error(base->pVtab, &err);
}

static int guard_next(sqlite3_vtab_cursor *base) {
  ((struct guard_cursor *)base)->at_end = true;
  return SQLITE_OK;
}

static int guard_eof(sqlite3_vtab_cursor *base) {
  return ((struct guard_cursor *)base)->at_end;
}

static int guard_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_rowid) {
  (void)base;
  *ret_rowid = 1;
  return SQLITE_OK;
}

static int guard_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
  const char *folder = ((struct guard_cursor *)base)->folder;
  if (column == GUARD_FOLDER && folder != NULL)
    sqlite3_result_text(context, folder, -1, SQLITE_TRANSIENT);
  return SQLITE_OK;
}

static const sqlite3_module module = {
    .iVersion = 1,
    .xCreate = guard_create,
    .xConnect = guard_connect,
    .xBestIndex = guard_best_index,
    .xDisconnect = guard_disconnect,
    .xDestroy = guard_disconnect,
    .xOpen = guard_open,
    .xClose = guard_close,
    .xFilter = guard_filter,
    .xNext = guard_next,
    .xEof = guard_eof,
    .xColumn = guard_column,
    .xRowid = guard_rowid,
};

static void unref_shared(void *shared) {
  tide_shared_unref(shared);
}

int tide_vtab_guard_register(struct tide_shared *shared) {
  return sqlite3_create_module_v2(shared->conn->db, "tidemark_guard", &module, tide_shared_ref(shared), unref_shared);
}
