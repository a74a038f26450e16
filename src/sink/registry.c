#include "sink/registry.h"

#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "sink/filter.h"
#include "sink/json.h"
#include "sink/target.h"

enum { ZSTD_LEVEL = 3, ZSTD_LEVEL_MIN = 1, ZSTD_LEVEL_MAX = 19 };

/* ---- formats ---- */

static const struct tide_format *const formats[] = {&tide_format_ndjson, &tide_format_ndjson_zst};

const char *tide_format_names(void) {
  return "ndjson, ndjson.zst";
}

const struct tide_format *tide_format_find(const char *name) {
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    if (strcmp(formats[i]->name, name) == 0)
      return formats[i];
  }
  return NULL;
}

/* ---- target and format ---- */

static void parse_target(const char *target, struct tide_sink_config *config, struct tide_err *err) {
  static const char expected[] = "expected file:///folder, or NULL for a sink you drive yourself";
  size_t scheme = strcspn(target, ":");
  if (target[scheme] == '\0' || scheme == 0 || memchr(target, '/', scheme) != NULL)
    tide_err_set(err, SQLITE_ERROR, "target \"%s\" has no scheme: %s", target, expected);
  else if (scheme != strlen("file") || sqlite3_strnicmp(target, "file", (int)scheme) != 0)
    tide_err_set(err, SQLITE_ERROR, "target scheme \"%.*s\" is not known here: %s", (int)scheme, target, expected);
  else
    config->folder = tide_target_dir_path(target, err);
}

static void parse_format(const char *format, struct tide_sink_config *config, struct tide_err *err) {
  config->format = format != NULL ? tide_format_find(format) : NULL;
  if (format == NULL)
    tide_err_set(err, SQLITE_ERROR, "a sink with a target needs a format: expected one of %s", tide_format_names());
  else if (config->format == NULL)
    tide_err_set(err, SQLITE_ERROR, "format \"%s\" is not known here: expected one of %s", format, tide_format_names());
}

static void refuse_without_target(const char *format, const char *options, struct tide_err *err) {
  const char *given = format != NULL ? "format" : options != NULL ? "options" : NULL;
  if (given != NULL)
    tide_err_set(err, SQLITE_ERROR,
                 "%s is given but target is NULL: expected a target such as file:///folder, or no %s for a sink you "
                 "drive yourself",
                 given, given);
}

/* ---- JSON, taken apart by SQLite on a private connection ---- */

static sqlite3 *open_connection(struct tide_err *err) {
  sqlite3 *db = NULL;
  int rc = sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
  if (rc == SQLITE_OK)
    return db;
  tide_err_set(err, rc, "cannot open a connection to read JSON: %s", sqlite3_errmsg(db));
  sqlite3_close(db);
  return NULL;
}

/* A column of the row as text, "" when it is NULL, or when there is no memory for it, which err then says. */
static const char *row_text(sqlite3_stmt *stmt, int column, struct tide_err *err) {
  const char *text = tide_stmt_text(stmt, column, NULL, err);
  return text != NULL ? text : "";
}

/* Whether the text is strict JSON whose outermost value opens with that bracket. */
static bool json_is(const char *json, char bracket, struct tide_err *err) {
  struct tide_buf compact = {0};
  bool is = tide_json_put_strict(&compact, json, strlen(json), err) && compact.data[0] == (unsigned char)bracket;
  tide_buf_clear(&compact);
  return is;
}

/* json_each's rows: key, value, type. */
static sqlite3_stmt *prepare_each(sqlite3 *db, const char *json, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_prepare(db, err, "SELECT key, value, type FROM json_each(?1)");
  int rc = stmt != NULL ? sqlite3_bind_text(stmt, 1, json, -1, SQLITE_STATIC) : SQLITE_OK;
  if (rc != SQLITE_OK)
    tide_stmt_error(db, rc, err);
  return stmt;
}

/* ---- columns ---- */

static bool find_column(const struct tide_spec *spec, const char *name, int *ret_column) {
  static const int hidden[TIDE_HIDDEN_COLUMNS] = {[TIDE_HIDDEN_SINCE] = TIDE_ENCODER_SINCE,
                                                  [TIDE_HIDDEN_PARTITION] = TIDE_ENCODER_PARTITION,
                                                  [TIDE_HIDDEN_INGESTED_AT] = TIDE_ENCODER_INGESTED_AT};
  int found = tide_spec_find(spec, name, strlen(name));
  for (int i = 0; i < TIDE_HIDDEN_COLUMNS && found < 0; i++) {
    if (sqlite3_stricmp(name, tide_spec_hidden_name(i)) == 0) {
      *ret_column = hidden[i];
      return true;
    }
  }
  if (found >= 0)
    *ret_column = found;
  return found >= 0;
}

static void add_column(const struct tide_spec *spec, sqlite3_stmt *each, struct tide_sink_config *config,
                       struct tide_err *err) {
  const char *name = row_text(each, 1, err);
  int column = 0;
  if (strcmp(row_text(each, 2, err), "text") != 0) {
    tide_err_set(err, SQLITE_ERROR, "columns holds %s: expected names of columns in double quotes",
                 name[0] != '\0' ? name : "null");
    return;
  }
  if (!find_column(spec, name, &column)) {
    tide_err_set(err, SQLITE_ERROR,
                 "columns names \"%s\", which the dataset does not have: expected its columns, or since, partition, "
                 "ingested_at",
                 name);
    return;
  }
  for (size_t i = 0; i < config->ncolumns; i++) {
    if (config->columns[i] == column)
      tide_err_set(err, SQLITE_ERROR, "columns names \"%s\" twice: expected each column once", name);
  }
  if (!tide_err_is_set(err))
    config->columns[config->ncolumns++] = column;
}

static void parse_columns(const struct tide_spec *spec, sqlite3 *db, const char *columns,
                          struct tide_sink_config *config, struct tide_err *err) {
  config->columns = tide_alloc_zero(spec->ncolumns + TIDE_HIDDEN_COLUMNS, sizeof *config->columns, err);
  if (config->columns == NULL)
    return;
  if (columns == NULL) {
    for (size_t i = 0; i < spec->ncolumns; i++)
      config->columns[config->ncolumns++] = (int)i;
    return;
  }
  if (!json_is(columns, '[', err)) {
    tide_err_set(err, SQLITE_ERROR,
                 "columns is not a JSON list: expected names of columns such as [\"since\",\"body\"], not %s", columns);
    return;
  }
  sqlite3_stmt *each = prepare_each(db, columns, err);
  while (tide_stmt_row(each, err))
    add_column(spec, each, config, err);
  sqlite3_finalize(each);
  if (config->ncolumns == 0)
    tide_err_set(err, SQLITE_ERROR, "columns is an empty list: expected at least one column, or NULL for all");
}

/* ---- options ---- */

static void parse_zstd_level(sqlite3_stmt *each, struct tide_sink_config *config, struct tide_err *err) {
  sqlite3_int64 level = sqlite3_column_int64(each, 1);
  if (!config->format->compressed)
    tide_err_set(err, SQLITE_ERROR, "option zstd_level does nothing for format %s: expected a compressed format",
                 config->format->name);
  else if (config->zstd_level != 0)
    tide_err_set(err, SQLITE_ERROR, "option zstd_level is given twice");
  else if (strcmp(row_text(each, 2, err), "integer") != 0 || level < ZSTD_LEVEL_MIN || level > ZSTD_LEVEL_MAX)
    tide_err_set(err, SQLITE_ERROR, "option zstd_level is %s: expected an integer from %d to %d",
                 sqlite3_column_type(each, 1) != SQLITE_NULL ? row_text(each, 1, err) : "null", ZSTD_LEVEL_MIN,
                 ZSTD_LEVEL_MAX);
  else
    config->zstd_level = (int)level;
}

static void parse_options(sqlite3 *db, const char *options, struct tide_sink_config *config, struct tide_err *err) {
  if (!json_is(options, '{', err)) {
    tide_err_set(err, SQLITE_ERROR, "options is not a JSON object: expected one such as {\"zstd_level\":9}, not %s",
                 options);
    return;
  }
  sqlite3_stmt *each = prepare_each(db, options, err);
  while (tide_stmt_row(each, err)) {
    const char *name = row_text(each, 0, err);
    if (strcmp(name, "zstd_level") == 0)
      parse_zstd_level(each, config, err);
    else
      tide_err_set(err, SQLITE_ERROR, "option \"%s\" is not known: expected zstd_level", name);
  }
  sqlite3_finalize(each);
}

/* ---- the row ---- */

static void parse_filter(const struct tide_spec *spec, const char *filter, struct tide_sink_config *config,
                         struct tide_err *err) {
  tide_filter_destroy(tide_filter_create(spec, filter, err));
  if (!tide_err_is_set(err))
    config->filter = tide_copy_string(filter, err);
}

int tide_sink_config_parse(const struct tide_spec *spec, const char *target, const char *format, const char *columns,
                           const char *filter, const char *options, struct tide_sink_config *ret,
                           struct tide_err *err) {
  struct tide_sink_config config = {0};
  sqlite3 *db = NULL;
  if (target != NULL) {
    parse_target(target, &config, err);
    if (!tide_err_is_set(err))
      parse_format(format, &config, err);
  } else {
    refuse_without_target(format, options, err);
  }
  if (!tide_err_is_set(err) && (columns != NULL || options != NULL))
    db = open_connection(err);
  if (!tide_err_is_set(err))
    parse_columns(spec, db, columns, &config, err);
  if (!tide_err_is_set(err) && options != NULL)
    parse_options(db, options, &config, err);
  if (!tide_err_is_set(err) && filter != NULL)
    parse_filter(spec, filter, &config, err);
  sqlite3_close(db);
  if (tide_err_is_set(err)) {
    tide_sink_config_clear(&config);
    return err->rc;
  }
  if (config.zstd_level == 0)
    config.zstd_level = ZSTD_LEVEL;
  *ret = config;
  return 0;
}

void tide_sink_config_clear(struct tide_sink_config *config) {
  tide_free(config->folder);
  tide_free(config->columns);
  tide_free(config->filter);
  *config = (struct tide_sink_config){0};
}
