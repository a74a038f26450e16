/* Numbers and times as exports write them: read by the C library and by SQLite they are what they were.
 *
 *   u64  each an integer, the bits of a real and a timestamp of every unit, to the end */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "sink/iso_time.h"
#include "sink/text.h"

enum { MEMORY = 4 << 20, ROUNDS_MAX = 64 };

static void check_integer(int64_t value) {
  char text[TIDE_TEXT_INT_SIZE + 1] = "", theirs[32];
  text[tide_text_int(value, text)] = '\0';
  snprintf(theirs, sizeof theirs, "%lld", (long long)value);
  FUZZ_CHECK(strcmp(text, theirs) == 0);
}

static void check_real(double value) {
  char text[TIDE_TEXT_REAL_SIZE + 1] = "";
  char *end = NULL;
  if (!isfinite(value))
    return;
  text[tide_text_real(value, text)] = '\0';
  const double again = strtod(text, &end);
  FUZZ_CHECK(*end == '\0' && memcmp(&again, &value, sizeof value) == 0 && strchr(text, '.') != NULL);
}

/* SQLite's date functions give back the whole seconds. */
static void check_time(sqlite3_stmt *stmt, int64_t value, enum tide_type type) {
  static const int64_t units[] = {1, 1000, 1000000, 1000000000};
  char text[TIDE_ISO_TIME_SIZE];
  const int64_t unit = units[type - TIDE_TYPE_TIMESTAMP_S];
  const int64_t seconds = value / unit - (value % unit < 0);
  const size_t size = tide_iso_time(value, type, text);
  const bool has_text = seconds >= INT64_C(-62167219200) && seconds <= INT64_C(253402300799);
  FUZZ_CHECK((size > 0) == has_text && size <= sizeof text);
  if (size == 0)
    return;
  FUZZ_CHECK(text[size - 1] == 'Z');
  sqlite3_bind_text(stmt, 1, text, 19, SQLITE_STATIC); /* to the seconds */
  FUZZ_CHECK(sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int64(stmt, 0) == seconds);
  sqlite3_reset(stmt);
  const int64_t fraction = value % unit + (value % unit < 0 ? unit : 0);
  FUZZ_CHECK(unit == 1 || strtoll(text + 20, NULL, 10) == fraction);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  sqlite3 *db = NULL;
  sqlite3_stmt *stmt = NULL;
  fuzz_begin(MEMORY);
  FUZZ_CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
  FUZZ_CHECK(sqlite3_prepare_v2(db, "SELECT CAST(strftime('%s', ?1) AS INTEGER)", -1, &stmt, NULL) == SQLITE_OK);
  for (int round = 0; input.left > 0 && round < ROUNDS_MAX; round++) {
    const int64_t value = (int64_t)fuzz_u64(&input);
    check_integer(value);
    check_real(tide_real_of_bits(value));
    for (enum tide_type type = TIDE_TYPE_TIMESTAMP_S; type <= TIDE_TYPE_TIMESTAMP_NS; type++)
      check_time(stmt, value, type);
  }
  sqlite3_finalize(stmt);
  sqlite3_close(db);
  fuzz_end();
  return 0;
}
