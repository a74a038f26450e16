/* What is there after an operation, as texts of lines for strcmp; malloc. */
#ifndef TIDE_TESTS_OBSERVED_H
#define TIDE_TESTS_OBSERVED_H

#include "database.h"

/* ---- values ---- */

static inline uint64_t observed_hash(uint64_t hash, const void *bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
  return hash;
}

static inline void observed_put_value(FILE *out, sqlite3_stmt *stmt, int column) {
  const int type = sqlite3_column_type(stmt, column);
  const unsigned char *text =
      type == SQLITE_BLOB ? sqlite3_column_blob(stmt, column) : sqlite3_column_text(stmt, column);
  const size_t size = (size_t)sqlite3_column_bytes(stmt, column);
  fprintf(out, " %d:", type);
  if (type != SQLITE_BLOB && size <= 300 && text != NULL)
    fprintf(out, "%s", text);
  else
    fprintf(out, "%zu#%016llx", size, (unsigned long long)observed_hash(UINT64_C(0xcbf29ce484222325), text, size));
}

/* A line for each row, which begins with the word; how many there were. */
static inline long observed_put_rows(FILE *out, sqlite3 *db, const char *word, const char *sql) {
  sqlite3_stmt *stmt = NULL;
  long rows = 0;
  int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
  ck_assert_msg(rc == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
  for (; (rc = sqlite3_step(stmt)) == SQLITE_ROW; rows++) {
    fprintf(out, "%s", word);
    for (int i = 0; i < sqlite3_column_count(stmt); i++)
      observed_put_value(out, stmt, i);
    fprintf(out, "\n");
  }
  ck_assert_msg(rc == SQLITE_DONE, "%s: %s", sql, sqlite3_errmsg(db));
  sqlite3_finalize(stmt);
  return rows;
}

/* Runs a query of names, and for each of them another one with it (%w, twice) in it; the lines begin with word, schema
 * and name. */
static inline void observed_put_each(FILE *out, sqlite3 *db, const char *word, const char *schema, const char *names,
                                     const char *query) {
  sqlite3_stmt *stmt = NULL;
  ck_assert_msg(sqlite3_prepare_v2(db, names, -1, &stmt, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
  while (sqlite3_step(stmt) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(stmt, 0);
    char *head = sqlite3_mprintf("%s %s.%s", word, schema, name);
    char *sql = sqlite3_mprintf(query, schema, name);
    observed_put_rows(out, db, head, sql);
    sqlite3_free(sql);
    sqlite3_free(head);
  }
  ck_assert_int_eq(sqlite3_finalize(stmt), SQLITE_OK);
}

/* What is random differs from one run to the next: log ids. */
static inline void observed_blank_ids(char *text) {
  for (size_t digits; *text != '\0'; text += digits > 0 ? digits : 1) {
    digits = strspn(text, "0123456789abcdef");
    if (digits == 32)
      memset(text, 'x', digits);
  }
}

/* ---- views ---- */

/* Every row of every table of both files, read by a connection that knows nothing of Tidemark. */
static inline char *observed_tables(void) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  for (int i = 0; i < 2; i++) {
    sqlite3 *plain = NULL;
    ck_assert_int_eq(sqlite3_open(scratch_path(database_files[i]), &plain), SQLITE_OK);
    observed_put_rows(out, plain, "schema", "SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2");
    observed_put_each(
        out, plain, "table", "main",
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY 1",
        "SELECT * FROM \"%w\".\"%w\"");
    ck_assert_int_eq(sqlite3_close(plain), SQLITE_OK);
  }
  fclose(out);
  return text;
}

static inline void observed_put_schema(FILE *out, sqlite3 *db, const char *schema) {
  static const char *const queries[] = {
      "SELECT dataset, partition, rows, written, deleted, first_since, last_since, held_by, held_rows FROM"
      " \"%w\".tidemark_stat ORDER BY 1, 2",
      "SELECT sink, dataset, partition, since, until, rows, state FROM \"%w\".tidemark_lag ORDER BY 1, 2, 3",
      "SELECT * FROM \"%w\".tidemark_sink ORDER BY 1, 2",
      "SELECT sink, dataset, partition, generation, kind, since, until, rows, skipped, dead, bytes, object, hash, "
      "reason"
      " FROM \"%w\".tidemark_export_log ORDER BY 1, 2, 3, id",
      "SELECT sink, dataset, partition, generation, since, until, rows, key, object FROM \"%w\".tidemark_batch ORDER BY"
      " 1, 2, 3",
      "SELECT sink, dataset, partition, since, payload, reason FROM \"%w\".tidemark_dead ORDER BY 1, 2, 3, 4",
      "SELECT type, name FROM \"%w\".sqlite_schema ORDER BY 1, 2"};
  static const char *const words[] = {"stat", "lag", "sink", "log", "batch", "dead", "schema"};
  char *names =
      sqlite3_mprintf("SELECT dataset FROM \"%w\".tidemark_registry JOIN \"%w\".sqlite_schema ON name = dataset"
                      " ORDER BY 1",
                      schema, schema);
  observed_put_each(out, db, "row", schema, names, "SELECT since, partition, * FROM \"%w\".\"%w\" ORDER BY since");
  sqlite3_free(names);
  for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
    char *head = sqlite3_mprintf("%s %s", words[i], schema);
    char *sql = sqlite3_mprintf(queries[i], schema);
    observed_put_rows(out, db, head, sql);
    sqlite3_free(sql);
    sqlite3_free(head);
  }
}

/* What users see through Tidemark, without what depends on how often something was tried. */
static inline char *observed_state(sqlite3 *db) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  observed_put_schema(out, db, "main");
  observed_put_schema(out, db, "aux");
  fclose(out);
  observed_blank_ids(text);
  return text;
}

static struct {
  FILE *out;
  bool bytes;
} observed_folder;

/* Marks tell how often it was tried, a Delta commit when. */
static inline int observed_visit(const char *path, const struct stat *st, int type, struct FTW *where) {
  (void)st, (void)where;
  const char *name = path + strlen(scratch) + strlen("/out/");
  if (type != FTW_F || (strstr(name, "_tidemark/") != NULL && strstr(name, "_tidemark/tmp/") == NULL))
    return 0;
  struct image image = {0};
  image_read(&image, path + strlen(scratch) + 1);
  const bool is_commit = strstr(name, "_delta_log") != NULL;
  fprintf(observed_folder.out, "file %s %016llx\n", name,
          is_commit ? 0 : (unsigned long long)observed_hash(UINT64_C(0xcbf29ce484222325), image.bytes, image.size));
  free(image.bytes);
  return 0;
}

static inline int observed_compare(const void *left, const void *right) {
  return strcmp(*(char *const *)left, *(char *const *)right);
}

/* The lines of a text in order; frees it. */
static inline char *observed_sort(char *text) {
  char *lines[4096];
  size_t count = 0, size = 0;
  char *sorted = NULL;
  for (char *at = strtok(text, "\n"); at != NULL; at = strtok(NULL, "\n")) {
    ck_assert_uint_lt(count, sizeof lines / sizeof *lines);
    lines[count++] = at;
  }
  qsort(lines, count, sizeof *lines, observed_compare);
  FILE *out = open_memstream(&sorted, &size);
  for (size_t i = 0; i < count; i++)
    fprintf(out, "%s\n", lines[i]);
  fclose(out);
  free(text);
  return sorted;
}

/* What left: every file with its bytes, every row that the receiver took. */
static inline char *observed_outside(void) {
  char *text = NULL;
  size_t size = 0;
  observed_folder.out = open_memstream(&text, &size);
  nftw(scratch_path("out"), observed_visit, 16, FTW_PHYS);
  for (int i = 0; i < receiver.taken; i++) {
    for (const char *at = receiver.ledger[i].body, *end; (end = strchr(at, '\n')) != NULL; at = end + 1)
      fprintf(observed_folder.out, "received %.*s\n", (int)(end - at), at);
  }
  fclose(observed_folder.out);
  observed_blank_ids(text);
  return observed_sort(text);
}

/* ---- comparing ---- */

static inline bool observed_has_line(const char *text, const char *line, size_t size) {
  for (const char *at = text; (at = memmem(at, strlen(at), line, size)) != NULL; at++) {
    if ((at == text || at[-1] == '\n') && at[size] == '\n')
      return true;
  }
  return false;
}

/* The first line of a text that begins with the word, is in `with` as well (NULL: any) and in neither of the others;
 * NULL when there is none. Good until the next call. */
static inline const char *observed_missing(const char *text, const char *word, const char *with, const char *in,
                                           const char *or_in) {
  static char found[512];
  for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
    const size_t size = (size_t)(end - text);
    if (strncmp(text, word, strlen(word)) == 0 && (with == NULL || observed_has_line(with, text, size)) &&
        !observed_has_line(in, text, size) && (or_in == NULL || !observed_has_line(or_in, text, size))) {
      snprintf(found, sizeof found, "%.*s", (int)size, text);
      return found;
    }
  }
  return NULL;
}

/* Without the files under way, which the next tick that ships takes away when nobody works on them: the same text,
 * shorter. */
static inline char *observed_without_tmp(char *text) {
  char *to = text;
  for (const char *at = text, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
    const char *tmp = strstr(at, "/_tidemark/tmp/");
    if (tmp != NULL && tmp < end)
      continue;
    memmove(to, at, (size_t)(end + 1 - at));
    to += end + 1 - at;
  }
  *to = '\0';
  return text;
}

#endif
