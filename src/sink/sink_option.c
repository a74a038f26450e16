#include "sink/sink_option.h"

#include <string.h>

#include "base/mem.h"
#include "sink/json_each.h"

static enum tide_sink_option_kind kind_of(const char *type) {
  return strcmp(type, "text") == 0                                 ? TIDE_SINK_OPTION_TEXT
         : strcmp(type, "integer") == 0                            ? TIDE_SINK_OPTION_INTEGER
         : strcmp(type, "true") == 0 || strcmp(type, "false") == 0 ? TIDE_SINK_OPTION_BOOLEAN
                                                                   : TIDE_SINK_OPTION_OTHER;
}

static void add_option(struct tide_sink_options *options, size_t *cap, struct tide_json_each *each,
                       struct tide_err *err) {
  const char *name = tide_json_each_key(each, err);
  for (size_t i = 0; i < options->count; i++) {
    if (strcmp(options->list[i].name, name) == 0)
      tide_err_set(err, SQLITE_ERROR, "option %s is given twice", name);
  }
  if (options->count == TIDE_SINK_OPTIONS_MAX)
    tide_err_set(err, SQLITE_ERROR, "options has more than %d names: expected those that its format and target know",
                 TIDE_SINK_OPTIONS_MAX);
  void *list = options->list;
  if (tide_err_is_set(err) || tide_grow(&list, cap, options->count + 1, sizeof *options->list, err) != 0)
    return;
  options->list = list;
  struct tide_sink_option *option = &options->list[options->count++];
  const char *type = tide_json_each_type(each, err);
  *option = (struct tide_sink_option){.kind = kind_of(type), .integer = tide_json_each_integer(each)};
  option->name = tide_copy_string(name, err);
  const char *text = tide_json_each_text(each, err);
  if (option->kind == TIDE_SINK_OPTION_BOOLEAN || text[0] == '\0')
    text = option->kind == TIDE_SINK_OPTION_TEXT ? "" : type;
  option->text = tide_copy_string(text, err);
}

int tide_sink_options_parse(const char *json, struct tide_sink_options *ret, struct tide_err *err) {
  struct tide_sink_options options = {0};
  struct tide_json_each each;
  size_t cap = 0;
  if (json != NULL) {
    if (!tide_json_each_open(&each, json, '{', err))
      tide_err_set(err, SQLITE_ERROR, "options is not a JSON object: expected one such as {\"zstd_level\":9}, not %s",
                   json);
    while (!tide_err_is_set(err) && tide_json_each_next(&each, err))
      add_option(&options, &cap, &each, err);
    tide_json_each_close(&each);
  }
  if (tide_err_is_set(err))
    tide_sink_options_clear(&options);
  else
    *ret = options;
  return err->rc;
}

void tide_sink_options_clear(struct tide_sink_options *options) {
  for (size_t i = 0; i < options->count; i++) {
    tide_free(options->list[i].name);
    tide_free(options->list[i].text);
  }
  tide_free(options->list);
  tide_buf_clear(&options->known);
  *options = (struct tide_sink_options){0};
}

static struct tide_sink_option *take(struct tide_sink_options *options, const char *name, struct tide_err *err) {
  tide_buf_printf(&options->known, err, "%s%s", options->known.len > 0 ? ", " : "", name);
  for (size_t i = 0; i < options->count; i++) {
    if (strcmp(options->list[i].name, name) != 0)
      continue;
    options->list[i].taken = true;
    return &options->list[i];
  }
  return NULL;
}

int64_t tide_sink_options_take_integer(struct tide_sink_options *options, const char *name, int64_t min, int64_t max,
                                       int64_t absent, struct tide_err *err) {
  const struct tide_sink_option *option = take(options, name, err);
  if (option == NULL)
    return absent;
  if (option->kind != TIDE_SINK_OPTION_INTEGER || option->integer < min || option->integer > max)
    tide_err_set(err, SQLITE_ERROR, "option %s is %s: expected an integer from %lld to %lld", name, option->text,
                 (long long)min, (long long)max);
  return option->integer;
}

bool tide_sink_options_take_boolean(struct tide_sink_options *options, const char *name, bool absent,
                                    struct tide_err *err) {
  const struct tide_sink_option *option = take(options, name, err);
  if (option == NULL)
    return absent;
  const bool is = option->kind == TIDE_SINK_OPTION_BOOLEAN ||
                  (option->kind == TIDE_SINK_OPTION_INTEGER && (option->integer == 0 || option->integer == 1));
  if (!is)
    tide_err_set(err, SQLITE_ERROR, "option %s is %s: expected true or false", name, option->text);
  return option->kind == TIDE_SINK_OPTION_INTEGER ? option->integer == 1 : strcmp(option->text, "true") == 0;
}

const char *tide_sink_options_take_text(struct tide_sink_options *options, const char *name, const char *absent,
                                        struct tide_err *err) {
  const struct tide_sink_option *option = take(options, name, err);
  if (option == NULL)
    return absent;
  if (option->kind != TIDE_SINK_OPTION_TEXT || option->text[0] == '\0')
    tide_err_set(err, SQLITE_ERROR, "option %s is %s: expected a text", name,
                 option->kind == TIDE_SINK_OPTION_TEXT ? "empty" : option->text);
  return option->text;
}

bool tide_sink_options_has(const struct tide_sink_options *options, const char *name) {
  for (size_t i = 0; i < options->count; i++) {
    if (strcmp(options->list[i].name, name) == 0)
      return true;
  }
  return false;
}

int tide_sink_options_end(const struct tide_sink_options *options, struct tide_err *err) {
  for (size_t i = 0; i < options->count; i++) {
    if (!options->list[i].taken)
      tide_err_set(err, SQLITE_ERROR, "option \"%s\" is not known for this target and format: expected %s%.*s",
                   options->list[i].name, options->known.len > 0 ? "one of " : "none", (int)options->known.len,
                   options->known.len > 0 ? (const char *)options->known.data : "");
  }
  return err->rc;
}
