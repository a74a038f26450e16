/* The database that operations are tried on: two files in a scratch folder, made once and copied for each trial, and
 * the sinks' folders beside them. Define _GNU_SOURCE before all else.
 *
 *   database_make("delete");               // before Check forks
 *   database_prepare(operation);
 *   sqlite3 *db = database_open();         // any number of times: the same database and folders
 *   ...
 *   database_close(db);                    */
#ifndef TIDE_TESTS_DATABASE_H
#define TIDE_TESTS_DATABASE_H

#include <ctype.h>

#include "../unit/receiver.h"
#include "../unit/shim_vfs.h"
#include "../unit/sql_db.h"
#include "operations.h"

/* A file's bytes. */
struct image {
  char *bytes;
  size_t size;
};

static struct {
  struct image made[2];     /* main and aux, as all operations begin */
  struct image prepared[2]; /* and as this one does */
  const struct operation *operation;
  bool has_files; /* the sinks' folders had some then */
  int ledger_made;
  int ledger_prepared;
} database;

static const char *const database_files[] = {"main.db", "aux.db"};
static const int64_t DATABASE_T0 = 1767225600000; /* 2026-01-01 */

/* ---- files ---- */

static inline void image_read(struct image *image, const char *name) {
  FILE *file = fopen(scratch_path(name), "rb");
  ck_assert_ptr_nonnull(file);
  fseek(file, 0, SEEK_END);
  image->size = (size_t)ftell(file);
  rewind(file);
  free(image->bytes);
  image->bytes = malloc(image->size);
  ck_assert_uint_eq(fread(image->bytes, 1, image->size, file), image->size);
  fclose(file);
}

static inline void image_write(const struct image *image, const char *name) {
  FILE *file = fopen(scratch_path(name), "wb");
  ck_assert(file != NULL && fwrite(image->bytes, 1, image->size, file) == image->size && fclose(file) == 0);
}

static inline void database_read(struct image images[2]) {
  for (int i = 0; i < 2; i++)
    image_read(&images[i], database_files[i]);
}

/* Whether the files are those, byte for byte: quick to see, and what an undisturbed run, or a rollback, mostly leaves.
 * In WAL mode there is more than the files. */
static inline bool database_is(const struct image images[2]) {
  struct image now[2] = {{0}, {0}};
  database_read(now);
  bool same = access(scratch_path("main.db-wal"), F_OK) != 0 && access(scratch_path("aux.db-wal"), F_OK) != 0;
  for (int i = 0; i < 2; i++) {
    same = same && now[i].size == images[i].size && memcmp(now[i].bytes, images[i].bytes, now[i].size) == 0;
    free(now[i].bytes);
  }
  return same;
}

static inline void database_restore(const struct image images[2]) {
  static const char *const beside[] = {"main.db-wal", "main.db-shm", "main.db-journal",
                                       "aux.db-wal",  "aux.db-shm",  "aux.db-journal"};
  for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
    unlink(scratch_path(beside[i]));
  for (int i = 0; i < 2; i++)
    image_write(&images[i], database_files[i]);
}

/* The sinks' folders as they were when the operation was prepared. */
static inline int database_copy(const char *path, const struct stat *st, int type, struct FTW *where) {
  (void)st, (void)where;
  char to[512];
  snprintf(to, sizeof to, "%s/out%s", scratch, path + strlen(scratch) + strlen("/kept"));
  if (type == FTW_D)
    return mkdir(to, 0755);
  char piece[65536];
  FILE *in = fopen(path, "rb");
  FILE *out = fopen(to, "wb");
  for (size_t got; (got = fread(piece, 1, sizeof piece, in)) > 0;)
    fwrite(piece, 1, got, out);
  fclose(in);
  return fclose(out);
}

static inline void database_empty_folders(void) {
  static const char *const folders[] = {"out", "out/a", "out/c", "out/n", "out/p", "out/d", "out/far"};
  nftw(scratch_path("out"), scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    ck_assert_int_eq(mkdir(scratch_path(folders[i]), 0755), 0);
}

static inline void database_restore_folders(void) {
  if (!database.has_files) {
    database_empty_folders();
    return;
  }
  nftw(scratch_path("out"), scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
  ck_assert_int_eq(nftw(scratch_path("kept"), database_copy, 16, FTW_PHYS), 0);
}

static inline void database_forget_received(int down_to) {
  while (receiver.taken > down_to)
    free(receiver.ledger[--receiver.taken].body);
}

/* ---- making ---- */

/* SQL with the sinks' folder in it; malloc. */
static inline char *database_sql(const char *sql) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  for (const char *at; (at = strstr(sql, "@DIR@")) != NULL; sql = at + strlen("@DIR@"))
    fprintf(out, "%.*s%s/out", (int)(at - sql), sql, scratch);
  fprintf(out, "%s", sql);
  fclose(out);
  return text;
}

static inline void database_run(sqlite3 *db, const char *sql) {
  char *text = database_sql(sql);
  db_exec(db, "%s", text);
  free(text);
}

static inline sqlite3 *database_connect(void) {
  sqlite3 *db = db_open(scratch_path(database_files[0]), "shim");
  db_exec(db, "ATTACH %Q AS aux", scratch_path(database_files[1]));
  receiver_add(db);
  return db;
}

static inline void database_make(const char *journal) {
  scratch_open();
  shim_register();
  shim.now_ms = DATABASE_T0;
  receiver.poison = "poison";
  database_empty_folders();
  sqlite3 *db = database_connect();
  db_exec(db, "PRAGMA main.journal_mode = %s; PRAGMA aux.journal_mode = %s", journal, journal);
  database_run(db, operations_database);
  db_close(db);
  receiver.poison = "poison four";
  database.ledger_made = receiver.taken;
  database_read(database.made);
}

static inline int database_count_file(const char *path, const struct stat *st, int type, struct FTW *where) {
  (void)path, (void)st, (void)where;
  database.has_files = database.has_files || type == FTW_F;
  return 0;
}

static inline void database_prepare(const struct operation *operation) {
  shim.now_ms = DATABASE_T0;
  database.operation = operation;
  database.has_files = false;
  database_forget_received(database.ledger_made);
  database_restore(database.made);
  database_empty_folders();
  if (operation->before != NULL) {
    sqlite3 *db = database_connect();
    database_run(db, operation->before);
    db_close(db);
  }
  database_read(database.prepared);
  nftw(scratch_path("out"), database_count_file, 16, FTW_PHYS);
  nftw(scratch_path("kept"), scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
  ck_assert_int_eq(rename(scratch_path("out"), scratch_path("kept")), 0);
  database.ledger_prepared = receiver.taken;
}

/* A connection that has read the schema, and done what the operation says that it had. */
static inline sqlite3 *database_open(void) {
  shim.now_ms = DATABASE_T0;
  database_restore(database.prepared);
  database_restore_folders();
  database_forget_received(database.ledger_prepared);
  sqlite3 *db = database_connect();
  db_exec(db, "SELECT 1 FROM main.sqlite_schema; SELECT 1 FROM aux.sqlite_schema");
  if (database.operation->session != NULL)
    database_run(db, database.operation->session);
  return db;
}

static inline void database_close(sqlite3 *db) {
  db_close(db);
}

#endif
