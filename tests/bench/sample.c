#include "sample.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "die.h"

enum { HEX_WORD = 8 }; /* characters that a word of hexadecimal digits has at least */

static char *read_compressed(const char *path, size_t *ret_length) {
  FILE *file = fopen(path, "rb");
  if (file == NULL)
    die("cannot open %s", path);
  fseek(file, 0, SEEK_END);
  const size_t size = (size_t)ftell(file);
  rewind(file);
  char *compressed = need(malloc(size));
  if (fread(compressed, 1, size, file) != size)
    die("cannot read %s", path);
  fclose(file);
  const unsigned long long length = ZSTD_getFrameContentSize(compressed, size);
  if (length >= ZSTD_CONTENTSIZE_ERROR)
    die("%s does not say how long its content is", path);
  char *content = need(malloc(length + 1));
  if (ZSTD_decompress(content, length, compressed, size) != length)
    die("%s is damaged", path);
  content[length] = '\0';
  free(compressed);
  *ret_length = length;
  return content;
}

static bool behind(const char *text, size_t at, const char *word) {
  const size_t length = strlen(word);
  return at >= length && memcmp(text + at - length, word, length) == 0;
}

/* Of the run of digits that begins there. */
static bool stays(const char *text, size_t at) {
  if (at == 0)
    return false;
  if (text[at - 1] == '%' || behind(text, at, "\\u"))
    return true;
  return behind(text, at, "HTTP/") || behind(text, at, "HTTP/1.") || behind(text, at, "Mozilla/") ||
         behind(text, at, "Mozilla/5.") || behind(text, at, "\"client\":\"") || behind(text, at, "\"client\":\"198.");
}

static bool is_octet(const char *text, size_t at) {
  const char *client = strstr(text, "\"client\":\"");
  return client != NULL && at > (size_t)(client - text) &&
         memchr(client + 10, '"', at - (size_t)(client + 10 - text)) == NULL;
}

/* The end of a word of hexadecimal digits that begins at `at`, or `at`. */
static size_t hex_word_end(const char *text, size_t length, size_t at) {
  if (at > 0 && (isalnum((unsigned char)text[at - 1]) || text[at - 1] == '\\'))
    return at;
  size_t end = at;
  size_t letters = 0;
  while (end < length && (isdigit((unsigned char)text[end]) || (text[end] >= 'a' && text[end] <= 'f')))
    letters += text[end++] >= 'a';
  const bool is_word = end == length || !isalnum((unsigned char)text[end]);
  return is_word && end - at >= HEX_WORD && letters > 0 && letters < end - at ? end : at;
}

static void add_place(struct sample_text *text, size_t at, size_t end, enum sample_kind kind) {
  if (at == end || end - at > UINT8_MAX)
    return;
  text->places = need(realloc(text->places, (text->place_count + 1) * sizeof *text->places));
  text->places[text->place_count++] = (struct sample_place){(uint16_t)at, (uint8_t)(end - at), (uint8_t)kind};
}

static void find_places(struct sample_text *text) {
  const char *bytes = text->bytes;
  for (size_t at = 0; at < text->length;) {
    const size_t word_end = hex_word_end(bytes, text->length, at);
    if (word_end > at) {
      add_place(text, at, word_end, SAMPLE_HEX);
      at = word_end;
      continue;
    }
    size_t end = at;
    while (end < text->length && isdigit((unsigned char)bytes[end]))
      end++;
    if (end == at) {
      at++;
      continue;
    }
    const bool fixed = stays(bytes, at);
    if (!fixed)
      add_place(text, at, end, is_octet(bytes, at) ? SAMPLE_OCTET : SAMPLE_DIGITS);
    at = end;
  }
}

static struct sample_text take_text(sqlite3_stmt *stmt, int column) {
  struct sample_text text = {0};
  if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
    return text;
  text.bytes = need(strdup((const char *)sqlite3_column_text(stmt, column)));
  text.length = strlen(text.bytes);
  find_places(&text);
  return text;
}

static int64_t take_number(sqlite3_stmt *stmt, int column) {
  return sqlite3_column_type(stmt, column) == SQLITE_NULL ? -1 : sqlite3_column_int64(stmt, column);
}

static void take_record(struct sample *sample, sqlite3_stmt *stmt) {
  const bool web = strcmp((const char *)sqlite3_column_text(stmt, 0), "apache") == 0;
  const enum sample_family family = web ? SAMPLE_WEB : SAMPLE_BROKER;
  struct sample_record **records = &sample->records[family];
  size_t *count = &sample->count[family];
  if ((*count & (*count - 1)) == 0) /* the room doubles */
    *records = need(realloc(*records, (*count > 0 ? 2 * *count : 1) * sizeof **records));
  struct sample_record *record = &(*records)[(*count)++];
  *record = (struct sample_record){
      .level = need(strdup((const char *)sqlite3_column_text(stmt, 1))),
      .component = need(strdup((const char *)sqlite3_column_text(stmt, 2))),
      .status = take_number(stmt, 3),
      .bytes = take_number(stmt, 4),
      .body = take_text(stmt, 5),
      .attrs = take_text(stmt, 6),
  };
  const size_t length = record->body.length + record->attrs.length;
  if (length > sample->longest)
    sample->longest = length;
}

/* SQLite takes a line apart: ?1 the line, ?2 the most that body and attrs may have. */
static const char *const take_apart =
    "SELECT * FROM (SELECT ?1 ->> 'source', ?1 ->> 'level', ?1 ->> 'component', ?1 ->> '$.attrs.status', ?1 ->> "
    "'$.attrs.bytes', ?1 ->> 'body' AS body, nullif(json_remove(?1 -> 'attrs', '$.status', '$.bytes'), '{}') AS attrs)"
    " WHERE length(CAST(body AS BLOB)) + ifnull(length(CAST(attrs AS BLOB)), 0) <= ?2";

void sample_load(struct sample *sample, const char *path, size_t max_length) {
  *sample = (struct sample){0};
  size_t length;
  char *content = read_compressed(path, &length);
  sqlite3 *db = NULL;
  sqlite3_stmt *stmt = NULL;
  if (sqlite3_open(":memory:", &db) != SQLITE_OK || sqlite3_prepare_v2(db, take_apart, -1, &stmt, NULL) != SQLITE_OK)
    die("cannot read JSON with SQLite: %s", sqlite3_errmsg(db));
  sqlite3_bind_int64(stmt, 2, (sqlite3_int64)max_length);
  for (char *line = content, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    sqlite3_bind_text(stmt, 1, line, (int)(end - line), SQLITE_STATIC);
    const int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
      take_record(sample, stmt);
    else if (rc != SQLITE_DONE)
      die("a record of %s: %s", path, sqlite3_errmsg(db));
    sqlite3_reset(stmt);
  }
  sqlite3_finalize(stmt);
  sqlite3_close(db);
  free(content);
  if (sample->count[SAMPLE_WEB] == 0 || sample->count[SAMPLE_BROKER] == 0)
    die("%s has no records of one of the two kinds", path);
}

void sample_clear(struct sample *sample) {
  for (int family = 0; family < SAMPLE_FAMILIES; family++) {
    for (size_t i = 0; i < sample->count[family]; i++) {
      struct sample_record *record = &sample->records[family][i];
      free(record->level);
      free(record->component);
      free(record->body.bytes);
      free(record->body.places);
      free(record->attrs.bytes);
      free(record->attrs.places);
    }
    free(sample->records[family]);
  }
  *sample = (struct sample){0};
}
