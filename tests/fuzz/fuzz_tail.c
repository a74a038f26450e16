/* Entries of the tail, plain and packed: as they may lie in the file of somebody who knows the checksum, and as they are
 * written, which has to give the rows back.
 *
 *   u8   bit 0: rows are written and read back, out of values (values.h); otherwise
 *   u8   rows that the entry is to have, less 1
 *   u8   how far apart its first and last since are, less the least that it can be
 *   u8   since from which on rows are asked for
 *   the entry, to the end; its checksum is made right */
#include <stdlib.h>
#include <string.h>

#include "base/stmt.h"
#include "checksums.h"
#include "fuzz.h"
#include "store/tail.h"
#include "values.h"

enum { COLUMNS = 4, PART = 1, ROWS_MAX = 600, FIRST_SINCE = 1000, MEMORY = 48 << 20 };

static struct tide_column columns[COLUMNS] = {
    {.name = (char *)"a", .partition_at = -1},
    {.name = (char *)"part", .partition_at = 0},
    {.name = (char *)"b", .partition_at = -1},
    {.name = (char *)"later", .partition_at = -1, .dflt_value = {.type = TIDE_VAL_TEXT, .p = "x", .n = 1}}};
static size_t partition[] = {PART};
static const struct tide_spec spec = {
    .refs = 1, .ncolumns = COLUMNS, .columns = columns, .npartition = 1, .partition = partition};

static struct tide_tail_press press;

static struct tide_names names(void) {
  return (struct tide_names){.schema = "main", .dataset = "d", .press = &press};
}

/* ---- what anybody may have written ---- */

/* In the place of the statement that reads the table: ?2 is the data, whatever the entry. */
static sqlite3_stmt *statement_of(const uint8_t *data, size_t size) {
  static sqlite3_stmt *stmt;
  if (stmt == NULL) {
    sqlite3 *db = NULL;
    FUZZ_CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
    FUZZ_CHECK(sqlite3_prepare_v2(db, "SELECT ?2 WHERE ?1 > 0", -1, &stmt, NULL) == SQLITE_OK);
  }
  sqlite3_bind_blob(stmt, 2, data, (int)size, SQLITE_STATIC);
  return stmt;
}

static void read_hostile(struct fuzz_input *input, sqlite3_stmt *stmt, struct fuzz_run data) {
  struct tide_err err = {0};
  struct tide_batch batch;
  const int64_t rows = 1 + fuzz_u8(input);
  const struct tide_tail_entry entry = {
      .first_since = FIRST_SINCE, .last_since = FIRST_SINCE + rows - 1 + fuzz_u8(input), .rows = rows};
  const struct tide_tail_part part = {
      .entry = &entry, .above = FIRST_SINCE + fuzz_u8(input) - 1, .upto = entry.last_since};
  fuzz_fix_tail(data, entry.last_since);
  tide_batch_init(&batch, COLUMNS, &err);
  tide_tail_read(stmt, names(), &spec, &part, &batch, &err);
  fuzz_check_error(&err, SQLITE_CORRUPT_VTAB, 0);
  for (size_t row = 0; row < batch.rows && err.rc == 0; row++) {
    FUZZ_CHECK(batch.since[row] > part.above && batch.since[row] <= part.upto);
    for (size_t column = 0; column < COLUMNS; column++) {
      const struct tide_val val = tide_vec_get(&batch.columns[column], row);
      fuzz_sum(&val);
    }
  }
  tide_batch_clear(&batch);
}

/* ---- what is written comes back ---- */

static struct tide_val values[ROWS_MAX][COLUMNS];

static int64_t append_values(struct fuzz_input *input, struct tide_tail_run *run) {
  static char scratch[ROWS_MAX][COLUMNS][FUZZ_SCRATCH];
  struct tide_err err = {0};
  int64_t rows = 0;
  for (; input->left > 0 && rows < ROWS_MAX; rows++) {
    for (size_t column = 0; column < COLUMNS; column++)
      values[rows][column] = column == PART ? tide_val_null() : fuzz_value(input, scratch[rows][column]);
    tide_tail_run_append(run, &spec, FIRST_SINCE + rows, -rows * rows, values[rows], &err);
  }
  fuzz_check_error(&err, 0, 0);
  return rows;
}

static void compare(const struct tide_batch *batch, int64_t first) {
  for (size_t row = 0; row < batch->rows; row++) {
    const int64_t at = first + (int64_t)row;
    FUZZ_CHECK(batch->since[row] == FIRST_SINCE + at && batch->ingested_at[row] == -at * at);
    for (size_t column = 0; column < COLUMNS; column++) {
      const struct tide_val val = tide_vec_get(&batch->columns[column], row);
      FUZZ_CHECK(fuzz_same(&val, &values[at][column]));
    }
  }
}

static void read_part(sqlite3 *db, int64_t rows, struct tide_batch *batch, struct tide_err *err) {
  const struct tide_tail_entry entry = {.first_since = FIRST_SINCE, .last_since = FIRST_SINCE + rows - 1, .rows = rows};
  const struct tide_tail_part part = {.entry = &entry, .above = FIRST_SINCE + rows / 3 - 1, .upto = entry.last_since};
  sqlite3_stmt *stmt = tide_tail_prepare(db, names(), err);
  FUZZ_CHECK(tide_tail_read(stmt, names(), &spec, &part, batch, err));
  FUZZ_CHECK((int64_t)batch->rows == rows - rows / 3);
  compare(batch, rows / 3);
  sqlite3_finalize(stmt);
}

static void read_back(struct fuzz_input *input) {
  struct tide_err err = {0};
  struct tide_tail_run run = {.partition = 1};
  struct tide_tail_index index = {0};
  struct tide_batch batch;
  sqlite3 *db = NULL;
  sqlite3_open(":memory:", &db);
  tide_stmt_exec(db, &err, "CREATE TABLE d_tail(last_since INTEGER PRIMARY KEY, partition, first_since, rows, data)");
  const int64_t rows = append_values(input, &run);
  tide_batch_init(&batch, COLUMNS, &err);
  tide_tail_run_decode(&run, &spec, &batch, &err);
  compare(&batch, 0);
  tide_batch_reset(&batch);
  tide_tail_run_store(&run, db, names(), &spec, &index, &err);
  if (rows > 0)
    read_part(db, rows, &batch, &err);
  fuzz_check_error(&err, 0, 0);
  tide_batch_clear(&batch);
  tide_tail_index_clear(&index);
  tide_buf_clear(&run.bytes);
  sqlite3_close(db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size}, entry = {data, size};
  const bool writes = fuzz_u8(&input) & 1;
  struct fuzz_run run = {0};
  entry.at += size < 4 ? size : 4;
  entry.left -= size < 4 ? size : 4;
  run.bytes = fuzz_bytes(&entry, entry.left, &run.size);
  sqlite3_stmt *stmt = statement_of(run.bytes, run.size);
  fuzz_begin(MEMORY);
  if (writes)
    read_back(&input);
  else
    read_hostile(&input, stmt, run);
  tide_tail_press_clear(&press);
  fuzz_end();
  free(run.bytes);
  return 0;
}
