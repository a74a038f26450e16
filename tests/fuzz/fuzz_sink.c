/* What a row of tidemark_sink says, and what a batch froze of one: target, format, columns, filter and options. What was
 * taken is taken again in the words that it gives for itself.
 *
 *   u8   0: five lines, an empty one for NULL; 1: a config as a batch has it, to the end; 2: a span of time, to the end */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "fuzz.h"
#include "model/duration.h"
#include "sink/terms.h"

enum { COLUMNS = 4, WORDS = 5, MEMORY = 32 << 20 };

static struct tide_column columns[COLUMNS] = {
    {.name = (char *)"source", .type = TIDE_TYPE_TEXT, .partition_at = 0},
    {.name = (char *)"ts", .type = TIDE_TYPE_TIMESTAMP_MS, .partition_at = -1},
    {.name = (char *)"body", .type = TIDE_TYPE_TEXT, .partition_at = -1},
    {.name = (char *)"attrs", .type = TIDE_TYPE_JSON, .partition_at = -1}};
static size_t partition[] = {0};
static struct tide_spec spec = {
    .refs = 1, .ncolumns = COLUMNS, .columns = columns, .npartition = 1, .partition = partition};
static const struct tide_schemes schemes;

static void check_config(const struct tide_sink_config *config) {
  struct tide_err err = {0};
  for (size_t i = 0; i < config->ncolumns; i++)
    FUZZ_CHECK(config->columns[i] >= TIDE_ENCODER_INGESTED_AT && config->columns[i] < COLUMNS);
  FUZZ_CHECK(config->zstd_level >= 1 && config->zstd_level <= 19);
  if (config->scheme == NULL)
    return;
  char *url = tide_printf(&err, "file://%s", config->place);
  FUZZ_CHECK(err.rc == 0 && config->place[0] == '/');
  if (strpbrk(config->place, "%?#") == NULL) { /* which a URL has to escape */
    char *again = tide_target_dir_path(url, &err);
    FUZZ_CHECK(again != NULL && strcmp(again, config->place) == 0);
    tide_free(again);
  }
  tide_free(url);
}

static void read_row(char *text) {
  struct tide_err err = {0};
  struct tide_sink_config config = {0};
  const char *words[WORDS] = {NULL};
  char *at = text;
  for (size_t i = 0; i < WORDS && at != NULL; i++) {
    char *end = strchr(at, '\n');
    if (end != NULL)
      *end++ = '\0';
    words[i] = *at != '\0' ? at : NULL;
    at = end;
  }
  const struct tide_sink_words row = {words[0], words[1], words[2], words[3], words[4]};
  if (tide_sink_config_parse(&schemes, &spec, &row, &config, &err) == 0)
    check_config(&config);
  fuzz_check_error(&err, SQLITE_ERROR, SQLITE_CONSTRAINT);
  tide_sink_config_clear(&config);
}

static void read_frozen(const char *text) {
  struct tide_err err = {0};
  struct tide_terms terms = {0};
  sqlite3 *db = NULL;
  FUZZ_CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
  if (tide_terms_read(&terms, db, &schemes, &spec, text, &err) == 0)
    check_config(&terms.config);
  fuzz_check_error(&err, SQLITE_ERROR, SQLITE_CORRUPT);
  tide_terms_clear(&terms);
  FUZZ_CHECK(sqlite3_close(db) == SQLITE_OK);
}

/* So many milliseconds are so many when they are read again. */
static void read_duration(const char *text, size_t size) {
  struct tide_err err = {0};
  const struct tide_val val = tide_val_text(text, size);
  int64_t ms = -1, again = -1;
  if (tide_duration_parse(&val, "max_delay", &ms, &err) == 0) {
    char *printed = tide_printf(&err, "%lld ms", (long long)ms);
    const struct tide_val printed_val = tide_val_text(printed, strlen(printed));
    FUZZ_CHECK(ms >= 0 && tide_duration_parse(&printed_val, "max_delay", &again, &err) == 0 && ms == again);
    tide_free(printed);
  }
  fuzz_check_error(&err, SQLITE_ERROR, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  const uint8_t what = fuzz_u8(&input) % 3;
  char *text = fuzz_string(&input, input.left, &size);
  fuzz_begin(MEMORY);
  if (what == 0)
    read_row(text);
  else if (what == 1)
    read_frozen(text);
  else
    read_duration(text, size);
  fuzz_end();
  free(text);
  return 0;
}
