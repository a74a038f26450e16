#define _GNU_SOURCE
#include "damaged.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "questions.h"

enum { MEMORY = 64 << 20, STEPS_EACH = 1000, STEPS_MAX = 20000 };

struct run {
  sqlite3 *db;
  const struct base *base;
  const struct damage *damages;
  size_t ndamages;
  struct damage_reach reach;
  long steps; /* of the statement at hand, in STEPS_EACH */
  int findings;
};

static void find(struct run *run, const char *format, ...) {
  char text[300];
  va_list args;
  va_start(args, format);
  fputs("found: ", stderr);
  vfprintf(stderr, format, args);
  va_end(args);
  for (size_t i = 0; i < run->ndamages; i++) {
    damage_describe(run->base, &run->damages[i], text, sizeof text);
    fprintf(stderr, "\n  after %s", text);
  }
  fputc('\n', stderr);
  run->findings++;
}

/* ---- answers ---- */

static int count_steps(void *context) {
  struct run *run = context;
  return ++run->steps > STEPS_MAX;
}

static bool names_something(const struct run *run, const char *message) {
  for (size_t i = 0; i < run->base->ndatasets; i++) {
    if (strstr(message, run->base->datasets[i].name) != NULL)
      return true;
  }
  return strstr(message, "tidemark") != NULL || strncmp(message, "table ", 6) == 0 ||
         strstr(message, "renamed") != NULL;
}

/* Whether that may be the end of a statement on a file that nobody vouches for. */
static void judge_answer(struct run *run, const char *sql, int rc) {
  const char *message = sqlite3_errmsg(run->db);
  static const int fine[] = {SQLITE_OK,       SQLITE_ROW,        SQLITE_DONE,     SQLITE_ERROR,
                             SQLITE_CORRUPT,  SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_READONLY,
                             SQLITE_CANTOPEN, SQLITE_LOCKED,     SQLITE_FULL};
  bool known = false;
  for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
    known |= (rc & 0xff) == fine[i];
  known |= !run->reach.rows && ((rc & 0xff) == SQLITE_NOTADB || (rc & 0xff) == SQLITE_SCHEMA);
  if (!known)
    find(run, "code %d: %s\n  by %s", rc, message, sql);
  else if (rc == SQLITE_CORRUPT_VTAB && run->reach.rows && !names_something(run, message))
    find(run, "damage without a name: %s\n  by %s", message, sql);
  else if (rc == SQLITE_CORRUPT && run->reach.rows)
    find(run, "damage that SQLite tells of: %s\n  by %s", message, sql);
  if (!sqlite3_get_autocommit(run->db)) {
    find(run, "a transaction is left open by %s", sql);
    sqlite3_exec(run->db, "ROLLBACK", NULL, NULL, NULL);
  }
}

/* Takes every byte of a row into account, for the sanitizer to see. */
static unsigned touch(sqlite3_stmt *stmt) {
  unsigned sum = 0;
  for (int i = 0; i < sqlite3_column_count(stmt); i++) {
    const unsigned char *bytes = sqlite3_column_blob(stmt, i);
    for (int at = 0; at < sqlite3_column_bytes(stmt, i); at++)
      sum = sum * 31 + bytes[at];
  }
  return sum;
}

/* Runs it to its end; the first value of its first row goes to *ret_text, when asked for, which the caller frees. */
static int run_sql(struct run *run, const char *sql, char **ret_text) {
  sqlite3_stmt *stmt = NULL;
  run->steps = 0;
  int rc = sqlite3_prepare_v2(run->db, sql, -1, &stmt, NULL);
  if (rc == SQLITE_OK) {
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
      touch(stmt);
      if (ret_text != NULL && *ret_text == NULL)
        *ret_text = sqlite3_mprintf("%s", sqlite3_column_text(stmt, 0));
    }
  }
  const int end = sqlite3_finalize(stmt);
  rc = rc == SQLITE_DONE ? end : rc;
  judge_answer(run, sql, rc);
  return rc;
}

/* ---- rows ---- */

struct seen {
  int rc;
  int64_t rows;
  int64_t wrong;  /* rows that are not what they were, or are twice or out of order */
  int64_t before; /* rows that were deleted */
};

static void look_at(const struct base_dataset *dataset, sqlite3_stmt *stmt, bool knows_gone, struct seen *seen) {
  const int64_t since = sqlite3_column_int64(stmt, 0);
  const char *text = (const char *)sqlite3_column_text(stmt, 2),
             *partition = (const char *)sqlite3_column_text(stmt, 1);
  const struct base_row *row = since >= 1 && since <= dataset->last_since ? &dataset->rows[since] : NULL;
  seen->rows++;
  if (row == NULL || (row->text == NULL && knows_gone))
    seen->wrong++;
  else if (row->text != NULL && (text == NULL || strcmp(text, row->text) != 0 || partition == NULL ||
                                 strcmp(partition, row->partition) != 0))
    seen->wrong++;
  else if (row->text == NULL || !row->live)
    seen->before++;
}

static int64_t live_rows(const struct base_dataset *dataset, const char *partition) {
  int64_t count = 0;
  for (int64_t i = 1; i <= dataset->last_since; i++)
    count += dataset->rows[i].live && (partition == NULL || strcmp(partition, dataset->rows[i].partition) == 0);
  return count;
}

static struct seen read_rows(struct run *run, const struct base_dataset *dataset, const char *partition, bool down) {
  struct seen seen = {0};
  int64_t last = down ? INT64_MAX : INT64_MIN;
  char *sql = partition == NULL
                  ? sqlite3_mprintf("SELECT since, partition, %s FROM \"%w\" ORDER BY since %s", dataset->columns,
                                    dataset->name, down ? "DESC" : "")
                  : sqlite3_mprintf("SELECT since, partition, %s FROM \"%w\" WHERE partition = %Q ORDER BY since",
                                    dataset->columns, dataset->name, partition);
  sqlite3_stmt *stmt = NULL;
  run->steps = 0;
  seen.rc = sqlite3_prepare_v2(run->db, sql, -1, &stmt, NULL);
  if (seen.rc == SQLITE_OK) {
    while ((seen.rc = sqlite3_step(stmt)) == SQLITE_ROW) {
      const int64_t since = sqlite3_column_int64(stmt, 0);
      look_at(dataset, stmt, run->base->knows_gone, &seen);
      seen.wrong += down ? since >= last : since <= last;
      last = since;
    }
  }
  const int end = sqlite3_finalize(stmt);
  seen.rc = seen.rc == SQLITE_DONE ? end : seen.rc;
  judge_answer(run, sql, seen.rc);
  sqlite3_free(sql);
  return seen;
}

static bool is_whole(const struct base_dataset *dataset, const char *partition, struct seen seen) {
  return seen.rc == SQLITE_OK && seen.wrong == 0 && seen.before == 0 && seen.rows == live_rows(dataset, partition);
}

/* ---- what holds ---- */

/* Bytes under a checksum: nothing wrong is ever given. */
static void judge_covered(struct run *run, const struct base_dataset *dataset, struct seen seen) {
  if (seen.wrong > 0 || seen.before > 0)
    find(run, "%s gives %lld rows that are not there", dataset->name, (long long)(seen.wrong + seen.before));
  else if (seen.rc == SQLITE_OK && !is_whole(dataset, NULL, seen))
    find(run, "%s gives %lld rows of %lld and no error", dataset->name, (long long)seen.rows,
         (long long)live_rows(dataset, NULL));
}

/* Every partition but the damaged one. */
static void judge_others(struct run *run, const struct base_dataset *dataset) {
  sqlite3_stmt *stmt = NULL;
  char *sql = sqlite3_mprintf("SELECT id, name FROM \"%w_partition\"", dataset->name);
  sqlite3_prepare_v2(run->db, sql, -1, &stmt, NULL);
  while (stmt != NULL && sqlite3_step(stmt) == SQLITE_ROW) {
    const char *partition = (const char *)sqlite3_column_text(stmt, 1);
    if (sqlite3_column_int64(stmt, 0) == run->reach.partition)
      continue;
    const struct seen seen = read_rows(run, dataset, partition, false);
    if (!is_whole(dataset, partition, seen))
      find(run, "%s, partition '%s', which is whole, gives %lld of %lld rows, %lld of them wrong: %s", dataset->name,
           partition, (long long)seen.rows, (long long)live_rows(dataset, partition), (long long)seen.wrong,
           sqlite3_errmsg(run->db));
  }
  sqlite3_finalize(stmt);
  sqlite3_free(sql);
}

static void judge_dataset(struct run *run, const struct base_dataset *dataset) {
  char *check = NULL;
  const struct seen up = read_rows(run, dataset, NULL, false), down = read_rows(run, dataset, NULL, true);
  char *sql = sqlite3_mprintf("SELECT tidemark_check('%q')", dataset->name);
  const int rc = run_sql(run, sql, &check);
  sqlite3_free(sql);
  const bool ok = rc == SQLITE_OK && check != NULL && strcmp(check, "ok") == 0;
  if (run->reach.covered) {
    judge_covered(run, dataset, up);
    judge_covered(run, dataset, down);
    if (run->reach.partition >= 0 && run->reach.dataset >= 0 && dataset == &run->base->datasets[run->reach.dataset])
      judge_others(run, dataset);
  }
  if (run->reach.rows && ok && (!is_whole(dataset, NULL, up) || !is_whole(dataset, NULL, down)) &&
      !damage_is_unseen(run->base, run->damages, run->ndamages))
    find(run, "%s: the check is ok, but a read gives %lld rows of %lld, %lld of them wrong, %lld gone before: %d %s",
         dataset->name, (long long)up.rows, (long long)live_rows(dataset, NULL), (long long)up.wrong,
         (long long)up.before, up.rc, sqlite3_errmsg(run->db));
  sqlite3_free(check);
}

/* ---- outside ---- */

static void judge_outside(struct run *run) {
  struct dirent **entries;
  const int count = scandir(bases_scratch(), &entries, NULL, alphasort);
  for (int i = 0; i < count; i++) {
    if (strcmp(entries[i]->d_name, ".") != 0 && strcmp(entries[i]->d_name, "..") != 0 &&
        strcmp(entries[i]->d_name, "archive") != 0)
      find(run, "written outside: %s", entries[i]->d_name);
    free(entries[i]);
  }
  free(entries);
  bases_clean_folder();
}

/* ---- all of it ---- */

static const struct base_dataset *focus(const struct base *base, const struct damage *damages, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const int dataset = base->tables[damages[i].table % base->ntables].dataset;
    if (dataset >= 0 && damages[i].kind < DAMAGE_SCHEMA_FLIP)
      return &base->datasets[dataset];
  }
  return &base->datasets[0];
}

static void ask_all(struct run *run, const char *const *list, size_t first, size_t most, const char *dataset) {
  size_t count = 0;
  while (list[count] != NULL)
    count++;
  for (size_t i = 0; i < count && i < most; i++) {
    char *sql = sqlite3_mprintf(list[(first + i) % count], dataset, dataset, dataset);
    run_sql(run, sql, NULL);
    sqlite3_free(sql);
  }
}

static void run_all(struct run *run, unsigned first) {
  const struct base *base = run->base;
  const struct base_dataset *dataset = focus(base, run->damages, run->ndamages);
  judge_dataset(run, dataset);
  for (size_t i = 0; i < base->ndatasets && base->knows_gone; i++) {
    if (&base->datasets[i] != dataset)
      judge_dataset(run, &base->datasets[i]);
  }
  ask_all(run, questions_read, 0, SIZE_MAX, dataset->name);
  if (first == DAMAGED_ONLY_READ)
    return;
  ask_all(run, questions_write, first, DAMAGED_WRITES, dataset->name);
  if (first % DAMAGED_RENAMES_EACH == 0)
    ask_all(run, questions_rename, 0, SIZE_MAX, dataset->name);
  ask_all(run, questions_drop, 0, SIZE_MAX, dataset->name);
}

int damaged_run(const struct base *base, const struct damage *damages, size_t count, unsigned first) {
  struct run run = {.base = base, .damages = damages, .ndamages = count};
  struct base_image image = damage_do(base, damages, count, &run.reach);
  if (run.reach.done || count == 0) {
    sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, 42, NULL);
    fuzz_begin(MEMORY);
    run.db = bases_open(&image, true);
    sqlite3_progress_handler(run.db, STEPS_EACH, count_steps, &run);
    run_all(&run, first);
    if (sqlite3_close(run.db) != SQLITE_OK)
      find(&run, "something stays open");
    else
      fuzz_end();
    judge_outside(&run);
  }
  sqlite3_free(image.bytes);
  return run.findings;
}
