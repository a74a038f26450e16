#include "sink/registry.h"

#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/filter.h"
#include "sink/json_each.h"

enum { ZSTD_LEVEL = 3, ZSTD_LEVEL_MIN = 1, ZSTD_LEVEL_MAX = 19 };

/* ---- formats ---- */

static const struct tide_format *const formats[] = {&tide_format_ndjson, &tide_format_ndjson_zst, &tide_format_csv,
                                                    &tide_format_csv_zst, &tide_format_parquet};

const char *tide_format_names(void) {
  return "ndjson, ndjson.zst, csv, csv.zst, parquet";
}

const struct tide_format *tide_format_find(const char *name) {
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    if (strcmp(formats[i]->name, name) == 0)
      return formats[i];
  }
  return NULL;
}

const struct tide_format *tide_format_of_object(const char *name) {
  const size_t size = strlen(name);
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    const size_t extension = strlen(formats[i]->extension);
    if (size > extension && name[size - extension - 1] == '.' &&
        strcmp(name + size - extension, formats[i]->extension) == 0)
      return formats[i];
  }
  return NULL;
}

/* ---- words ---- */

struct tide_sink_words tide_sink_words_of_row(const struct tide_sink *sink) {
  return (struct tide_sink_words){sink->target, sink->format, sink->columns, sink->filter, sink->options};
}

struct tide_sink_words tide_sink_words_of(const struct tide_frozen *frozen) {
  return (struct tide_sink_words){frozen->target, frozen->format, frozen->columns, frozen->filter, frozen->options};
}

/* ---- target and format ---- */

static void parse_target(const struct tide_schemes *schemes, const char *target, struct tide_sink_config *config,
                         struct tide_err *err) {
  config->scheme = tide_schemes_find(schemes, target, err);
  if (config->scheme != NULL)
    config->url = tide_copy_string(target, err);
  if (config->url != NULL)
    config->place = config->scheme->check(target, &config->options, err);
}

static void parse_format(const char *format, struct tide_sink_config *config, struct tide_err *err) {
  config->format = format != NULL ? tide_format_find(format) : NULL;
  if (format == NULL)
    tide_err_set(err, SQLITE_ERROR, "a sink with a target needs a format: expected one of %s", tide_format_names());
  else if (config->format == NULL)
    tide_err_set(err, SQLITE_ERROR, "format \"%s\" is not known here: expected one of %s", format, tide_format_names());
}

/* A receiver reads lines: that is how it can say which row it refuses. */
static void check_forwarded(const struct tide_sink_config *config, struct tide_err *err) {
  if (config->scheme->forwards && strcmp(config->format->media_type, tide_format_ndjson.media_type) != 0)
    tide_err_set(err, SQLITE_ERROR, "format %s cannot be forwarded to %s: expected ndjson or ndjson.zst",
                 config->format->name, config->scheme->expect);
}

static void refuse_without_target(const struct tide_sink_words *words, struct tide_err *err) {
  const char *given = words->format != NULL ? "format" : words->options != NULL ? "options" : NULL;
  if (given != NULL)
    tide_err_set(err, SQLITE_ERROR,
                 "%s is given but target is NULL: expected a target such as file:///folder, or no %s for a sink you "
                 "drive yourself",
                 given, given);
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

static void add_column(const struct tide_spec *spec, struct tide_json_each *each, struct tide_sink_config *config,
                       struct tide_err *err) {
  const char *name = tide_json_each_text(each, err);
  int column = 0;
  if (strcmp(tide_json_each_type(each, err), "text") != 0) {
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

static void parse_columns(const struct tide_spec *spec, const char *columns, struct tide_sink_config *config,
                          struct tide_err *err) {
  struct tide_json_each each;
  config->columns = tide_alloc_zero(spec->ncolumns + TIDE_HIDDEN_COLUMNS, sizeof *config->columns, err);
  if (config->columns == NULL)
    return;
  if (columns == NULL) {
    for (size_t i = 0; i < spec->ncolumns; i++)
      config->columns[config->ncolumns++] = (int)i;
    return;
  }
  if (!tide_json_each_open(&each, columns, '[', err))
    tide_err_set(err, SQLITE_ERROR,
                 "columns is not a JSON list: expected names of columns such as [\"since\",\"body\"], not %s", columns);
  while (!tide_err_is_set(err) && tide_json_each_next(&each, err))
    add_column(spec, &each, config, err);
  tide_json_each_close(&each);
  if (config->ncolumns == 0)
    tide_err_set(err, SQLITE_ERROR, "columns is an empty list: expected at least one column, or NULL for all");
}

/* ---- options ---- */

static void take_format_options(struct tide_sink_config *config, struct tide_err *err) {
  const struct tide_format *format = config->format;
  if (format->compressed)
    config->zstd_level = (int)tide_sink_options_take_integer(&config->options, "zstd_level", ZSTD_LEVEL_MIN,
                                                             ZSTD_LEVEL_MAX, ZSTD_LEVEL, err);
  else if (tide_sink_options_has(&config->options, "zstd_level"))
    tide_err_set(err, SQLITE_ERROR, "option zstd_level does nothing for format %s: expected a compressed format",
                 format->name);
  if (format->takes_iso)
    config->iso = tide_sink_options_take_boolean(&config->options, "iso", false, err);
  else if (tide_sink_options_has(&config->options, "iso"))
    tide_err_set(err, SQLITE_ERROR, "option iso does nothing for format %s, which has timestamps of its own",
                 format->name);
}

static void take_table_option(struct tide_sink_config *config, struct tide_err *err) {
  if (!config->scheme->takes_tables)
    return;
  const char *table = tide_sink_options_take_text(&config->options, "table", NULL, err);
  if (table == NULL || tide_err_is_set(err))
    return;
  if (strcmp(table, "delta") != 0)
    tide_err_set(err, SQLITE_ERROR, "option table is \"%s\": expected delta", table);
  else if (strcmp(config->format->name, "parquet") != 0)
    tide_err_set(err, SQLITE_ERROR, "option table=delta needs format parquet, not %s", config->format->name);
  config->delta = true;
}

/* ---- the row ---- */

static void parse_filter(const struct tide_spec *spec, const char *filter, struct tide_sink_config *config,
                         struct tide_err *err) {
  tide_filter_destroy(tide_filter_create(spec, filter, err));
  if (!tide_err_is_set(err))
    config->filter = tide_copy_string(filter, err);
}

static void parse_outside(const struct tide_schemes *schemes, const struct tide_sink_words *words,
                          struct tide_sink_config *config, struct tide_err *err) {
  tide_sink_options_parse(words->options, &config->options, err);
  if (!tide_err_is_set(err))
    parse_target(schemes, words->target, config, err);
  if (!tide_err_is_set(err))
    parse_format(words->format, config, err);
  if (!tide_err_is_set(err))
    check_forwarded(config, err);
  if (!tide_err_is_set(err))
    take_format_options(config, err);
  if (!tide_err_is_set(err))
    take_table_option(config, err);
  if (!tide_err_is_set(err))
    tide_sink_options_end(&config->options, err);
}

int tide_sink_config_parse(const struct tide_schemes *schemes, const struct tide_spec *spec,
                           const struct tide_sink_words *words, struct tide_sink_config *ret, struct tide_err *err) {
  struct tide_sink_config config = {.zstd_level = ZSTD_LEVEL};
  if (words->target != NULL)
    parse_outside(schemes, words, &config, err);
  else
    refuse_without_target(words, err);
  if (!tide_err_is_set(err))
    parse_columns(spec, words->columns, &config, err);
  if (!tide_err_is_set(err) && words->filter != NULL)
    parse_filter(spec, words->filter, &config, err);
  if (tide_err_is_set(err)) {
    tide_sink_config_clear(&config);
    return err->rc;
  }
  *ret = config;
  return 0;
}

void tide_sink_config_clear(struct tide_sink_config *config) {
  tide_free(config->url);
  tide_free(config->place);
  tide_sink_options_clear(&config->options);
  tide_free(config->columns);
  tide_free(config->filter);
  *config = (struct tide_sink_config){0};
}

struct tide_target *tide_sink_config_open(struct tide_sink_config *config, const struct tide_patience *patience,
                                          struct tide_err *err) {
  return config->scheme->open(config->url, &config->options, patience, err);
}
