/* JSON that is copied when it is strict, walked through, and read for its strings. Held against SQLite's own reader: what
 * is strict is JSON to SQLite, which makes it as short as the copy is; what SQLite takes is strict unless it has escapes,
 * other than ASCII, or is nested deep.
 *
 *   the text, to the end */
#include <stdlib.h>
#include <string.h>

#include "base/stmt.h"
#include "fuzz.h"
#include "sink/json.h"
#include "sink/json_each.h"
#include "sink/json_walk.h"
#include "sink/sink_option.h"

enum { MEMORY = 16 << 20, DEPTH_MAX = 50 };

static sqlite3 *db; /* for one input */

/* The first column of "SELECT <expression of ?1>" as text, for free; NULL for NULL, and when it fails. */
static char *ask(const char *sql, const void *text, size_t size) {
  sqlite3_stmt *stmt = NULL;
  char *answer = NULL;
  FUZZ_CHECK(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK);
  sqlite3_bind_text(stmt, 1, size > 0 ? text : "", (int)size, SQLITE_STATIC);
  if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL) {
    const size_t length = (size_t)sqlite3_column_bytes(stmt, 0);
    answer = malloc(length + 1);
    FUZZ_CHECK(answer != NULL);
    memcpy(answer, sqlite3_column_text(stmt, 0), length);
    answer[length] = '\0';
  }
  sqlite3_finalize(stmt);
  return answer;
}

/* Only where the two have to agree. */
static bool is_plain(const char *text) {
  size_t depth = 0;
  for (const char *at = text; *at != '\0'; at++) {
    depth += *at == '[' || *at == '{';
    if (*at == '\\' || (unsigned char)*at >= 0x80 || depth > DEPTH_MAX)
      return false;
  }
  return true;
}

/* ---- what the walk gives, put together again ---- */

static void rebuild(struct tide_json_slice value, struct tide_buf *out, struct tide_err *err) {
  if (!tide_json_is_object(value) && !tide_json_is_array(value)) {
    tide_buf_put(out, value.at, value.size, err);
    return;
  }
  struct tide_json_walk walk = tide_json_walk_into(value);
  struct tide_json_slice name, member;
  tide_buf_put(out, value.at, 1, err);
  for (size_t i = 0; tide_json_walk_next(&walk, &name, &member); i++) {
    if (i > 0)
      tide_buf_put_u8(out, ',', err);
    if (walk.named)
      tide_buf_printf(out, err, "\"%.*s\":", (int)name.size, name.at);
    rebuild(member, out, err);
  }
  tide_buf_put(out, value.at + value.size - 1, 1, err);
}

static void check_strings(struct tide_json_slice value, struct tide_err *err) {
  struct tide_json_walk walk = tide_json_walk_into(value);
  struct tide_json_slice name, member;
  int64_t integer;
  while (tide_json_walk_next(&walk, &name, &member)) {
    struct tide_buf plain = {0};
    tide_json_integer(member, &integer);
    tide_json_put_unescaped(&plain, member, err);
    char *theirs = tide_json_is_string(member) && memchr(plain.data, 0, plain.len) == NULL
                       ? ask("SELECT json_extract('[' || ?1 || ']', '$[0]')", member.at, member.size)
                       : NULL;
    FUZZ_CHECK(theirs == NULL || (strlen(theirs) == plain.len && memcmp(theirs, plain.data, plain.len) == 0));
    free(theirs);
    tide_buf_clear(&plain);
  }
}

/* ---- the whole ---- */

static void check_strict(struct tide_buf *strict, const char *text, size_t size, struct tide_err *err) {
  struct tide_buf again = {0}, rebuilt = {0};
  const struct tide_json_slice value = {(const char *)strict->data, strict->len};
  FUZZ_CHECK(memchr(strict->data, '\n', strict->len) == NULL);
  FUZZ_CHECK(tide_json_put_strict(&again, strict->data, strict->len, err));
  FUZZ_CHECK(again.len == strict->len && memcmp(again.data, strict->data, again.len) == 0);
  char *theirs = ask("SELECT json(?1)", text, size);
  FUZZ_CHECK(theirs != NULL && strlen(theirs) == strict->len && memcmp(theirs, strict->data, strict->len) == 0);
  rebuild(value, &rebuilt, err);
  FUZZ_CHECK(rebuilt.len == strict->len && memcmp(rebuilt.data, strict->data, rebuilt.len) == 0);
  check_strings(value, err);
  free(theirs);
  tide_buf_clear(&again);
  tide_buf_clear(&rebuilt);
}

static void read_options(const char *text) {
  struct tide_err err = {0};
  struct tide_sink_options options = {0};
  if (tide_sink_options_parse(text, &options, &err) == 0) {
    tide_sink_options_take_integer(&options, "zstd_level", 1, 19, 3, &err);
    tide_sink_options_take_boolean(&options, "iso", false, &err);
    tide_sink_options_take_text(&options, "table", "", &err);
    tide_sink_options_end(&options, &err);
  }
  fuzz_check_error(&err, SQLITE_ERROR, 0);
  tide_sink_options_clear(&options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  struct tide_err err = {0};
  struct tide_buf strict = {0};
  char *text = fuzz_string(&input, input.left, &size);
  fuzz_begin(MEMORY);
  FUZZ_CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
  const bool is_strict = tide_json_put_strict(&strict, text, size, &err);
  if (is_strict) {
    check_strict(&strict, text, size, &err);
  } else {
    FUZZ_CHECK(strict.len == 0);
    char *theirs = strlen(text) == size && is_plain(text) ? ask("SELECT json(?1)", text, size) : NULL;
    FUZZ_CHECK(theirs == NULL);
    free(theirs);
  }
  fuzz_check_error(&err, 0, 0);
  read_options(text);
  tide_buf_clear(&strict);
  sqlite3_close(db);
  fuzz_end();
  free(text);
  return 0;
}
