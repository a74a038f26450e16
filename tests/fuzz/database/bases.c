#define _GNU_SOURCE
#include "bases.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base_sql.h"
#include "fuzz.h"
#include "tidemark.h"

static struct base bases[BASES];
static char scratch[64], folder[80], lake[96], later[96];

/* ---- the scratch folder ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where) {
  (void)st, (void)type, (void)where;
  return remove(path);
}

static int remove_below(const char *path, const struct stat *st, int type, struct FTW *where) {
  return where->level > 0 ? remove_one(path, st, type, where) : 0;
}

void bases_clean_folder(void) {
  nftw(folder, remove_below, 16, FTW_DEPTH | FTW_PHYS);
  mkdir(folder, 0755);
  FUZZ_CHECK(mkdir(lake, 0755) == 0 && mkdir(later, 0755) == 0);
}

static void close_scratch(void) {
  nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void open_scratch(void) {
  if (scratch[0] != '\0')
    return;
  strcpy(scratch, access("/dev/shm", W_OK) == 0 ? "/dev/shm/tidemark.XXXXXX" : "/tmp/tidemark.XXXXXX");
  FUZZ_CHECK(mkdtemp(scratch) != NULL);
  snprintf(folder, sizeof folder, "%s/archive", scratch);
  snprintf(lake, sizeof lake, "%s/lake", folder);
  snprintf(later, sizeof later, "%s/later", folder);
  bases_clean_folder();
  atexit(close_scratch);
}

const char *bases_folder(void) {
  open_scratch();
  return folder;
}

const char *bases_scratch(void) {
  open_scratch();
  return scratch;
}

/* ---- connections ---- */

/* 2026-01-01, in milliseconds of the Julian day number. */
static int standing_clock(sqlite3_vfs *vfs, sqlite3_int64 *ret_now) {
  (void)vfs;
  *ret_now = INT64_C(210866760000000) + INT64_C(1767225600000);
  return SQLITE_OK;
}

static const char *clock_vfs(void) {
  static sqlite3_vfs vfs;
  if (vfs.zName == NULL) {
    vfs = *sqlite3_vfs_find(NULL);
    vfs.zName = "standing";
    vfs.pNext = NULL;
    vfs.xCurrentTimeInt64 = standing_clock;
    FUZZ_CHECK(sqlite3_vfs_register(&vfs, 0) == SQLITE_OK);
  }
  return vfs.zName;
}

sqlite3 *bases_open(const struct base_image *image, bool with_extension) {
  sqlite3 *db = NULL;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY;
  FUZZ_CHECK(sqlite3_open_v2(":memory:", &db, flags, clock_vfs()) == SQLITE_OK);
  if (image->size > 0) {
    unsigned char *copy = sqlite3_malloc64((sqlite3_uint64)image->size);
    FUZZ_CHECK(copy != NULL);
    memcpy(copy, image->bytes, (size_t)image->size);
    FUZZ_CHECK(sqlite3_deserialize(db, "main", copy, image->size, image->size,
                                   SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) == SQLITE_OK);
  }
  if (with_extension)
    FUZZ_CHECK(sqlite3_tidemark_init(db, NULL, NULL) == SQLITE_OK);
  else
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  sqlite3_extended_result_codes(db, 1);
  return db;
}

struct base_image bases_serialize(sqlite3 *db) {
  struct base_image image;
  sqlite3_int64 size = 0;
  image.bytes = sqlite3_serialize(db, "main", &size, 0);
  FUZZ_CHECK(image.bytes != NULL);
  image.size = size;
  return image;
}

/* ---- SQL while a base is made: it works ---- */

static void exec(sqlite3 *db, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *sql = sqlite3_vmprintf(format, args);
  va_end(args);
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
    fprintf(stderr, "%s\n%s\n", sql, sqlite3_errmsg(db));
    abort();
  }
  sqlite3_free(sql);
}

static char *text_of(sqlite3_stmt *stmt, int column) {
  const char *text = (const char *)sqlite3_column_text(stmt, column);
  char *copy = strdup(text != NULL ? text : "");
  FUZZ_CHECK(copy != NULL);
  return copy;
}

/* ---- what a base holds ---- */

/* The rows of a SELECT of since, partition, live and text. */
static void take_rows(struct base_dataset *dataset, sqlite3_stmt *stmt) {
  while (sqlite3_step(stmt) == SQLITE_ROW) {
    const int64_t since = sqlite3_column_int64(stmt, 0);
    FUZZ_CHECK(since > dataset->last_since);
    dataset->rows = realloc(dataset->rows, (size_t)(since + 1) * sizeof *dataset->rows);
    FUZZ_CHECK(dataset->rows != NULL);
    for (int64_t i = dataset->last_since + (dataset->last_since > 0); i < since; i++)
      dataset->rows[i] = (struct base_row){0};
    dataset->rows[since] = (struct base_row){text_of(stmt, 3), text_of(stmt, 1), sqlite3_column_int(stmt, 2)};
    dataset->last_since = since;
  }
  FUZZ_CHECK(sqlite3_finalize(stmt) == SQLITE_OK);
}

static void take_datasets(struct base *base, sqlite3 *db, bool has_twins) {
  sqlite3_stmt *stmt =
      fuzz_prepare(db, "SELECT r.dataset, (SELECT group_concat('quote(\"' || name || '\")', '||'',''||')"
                       " FROM pragma_table_info(r.dataset)) FROM tidemark_registry r ORDER BY 1");
  while (sqlite3_step(stmt) == SQLITE_ROW) {
    FUZZ_CHECK(base->ndatasets < BASE_DATASETS_MAX);
    struct base_dataset *dataset = &base->datasets[base->ndatasets++];
    dataset->name = text_of(stmt, 0);
    dataset->columns = text_of(stmt, 1);
    take_rows(dataset, has_twins ? fuzz_prepare(db, "SELECT since, part, live, %s FROM twin.\"%w\" ORDER BY since",
                                                dataset->columns, dataset->name)
                                 : fuzz_prepare(db, "SELECT since, partition, 1, %s FROM main.\"%w\" ORDER BY since",
                                                dataset->columns, dataset->name));
  }
  sqlite3_finalize(stmt);
}

static void take_columns(struct base_table *table, sqlite3 *db) {
  sqlite3_stmt *stmt = fuzz_prepare(db, "SELECT name, pk FROM pragma_table_info(%Q) ORDER BY cid", table->name);
  char *key = sqlite3_mprintf("");
  while (sqlite3_step(stmt) == SQLITE_ROW) {
    FUZZ_CHECK(table->columns < (int)(sizeof table->names / sizeof *table->names));
    table->names[table->columns++] = text_of(stmt, 0);
    if (sqlite3_column_int(stmt, 1) > 0)
      key = sqlite3_mprintf("%z%s\"%w\"", key, key[0] != '\0' ? "," : "", sqlite3_column_text(stmt, 0));
  }
  table->key = strdup(key[0] != '\0' ? key : "rowid");
  FUZZ_CHECK(table->key != NULL);
  sqlite3_free(key);
  sqlite3_finalize(stmt);
}

static void take_owner(const struct base *base, struct base_table *table) {
  table->dataset = -1;
  table->suffix = table->name;
  for (size_t i = 0; i < base->ndatasets; i++) {
    const size_t size = strlen(base->datasets[i].name);
    if (strncmp(table->name, base->datasets[i].name, size) == 0 && table->name[size] == '_') {
      table->dataset = (int)i;
      table->suffix = table->name + size + 1;
    }
  }
}

static void take_tables(struct base *base, sqlite3 *db) {
  sqlite3_stmt *stmt = fuzz_prepare(db, "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
                                        " AND sql IS NOT NULL ORDER BY name");
  while (sqlite3_step(stmt) == SQLITE_ROW) {
    FUZZ_CHECK(base->ntables < BASE_TABLES_MAX);
    struct base_table *table = &base->tables[base->ntables++];
    table->name = text_of(stmt, 0);
    table->sql = text_of(stmt, 1);
    take_columns(table, db);
    take_owner(base, table);
  }
  sqlite3_finalize(stmt);
}

/* No type, no NOT NULL and no CHECK: what is put in stays as it is. */
static struct base_image loosen(const struct base_image *whole) {
  static const char *const strict[][2] = {{") STRICT", ")"}, {"STRICT, WITHOUT ROWID", "WITHOUT ROWID"},
                                          {" NOT NULL", ""}, {" TEXT", " BLOB"},
                                          {" ANY", " BLOB"}, {" INTEGER", " BLOB"}};
  sqlite3 *db = bases_open(whole, false);
  exec(db, "PRAGMA writable_schema = ON");
  exec(db, "UPDATE sqlite_schema SET sql = replace(sql, ' INTEGER PRIMARY KEY', ' InTEGER PRIMARY KEY')");
  for (size_t i = 0; i < sizeof strict / sizeof *strict; i++)
    exec(db, "UPDATE sqlite_schema SET sql = replace(sql, %Q, %Q) WHERE type = 'table' AND rootpage > 0", strict[i][0],
         strict[i][1]);
  exec(db, "PRAGMA writable_schema = RESET");
  struct base_image image = bases_serialize(db);
  FUZZ_CHECK(sqlite3_close(db) == SQLITE_OK);
  return image;
}

/* ---- making ---- */

static struct base_image read_file(const char *path) {
  struct base_image image = {0};
  struct stat st;
  FILE *file = fopen(path, "rb");
  FUZZ_CHECK(file != NULL && fstat(fileno(file), &st) == 0);
  image.size = st.st_size;
  image.bytes = sqlite3_malloc64((sqlite3_uint64)image.size);
  FUZZ_CHECK(image.bytes != NULL && fread(image.bytes, 1, (size_t)image.size, file) == (size_t)image.size);
  fclose(file);
  return image;
}

static void make(struct base *base, size_t which) {
  struct base_image begin = {0};
  const char *golden = base_golden(which);
  if (golden != NULL)
    begin = read_file(golden);
  sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, 42, NULL);
  rmdir(later);
  sqlite3 *db = bases_open(&begin, true);
  if (golden == NULL) {
    exec(db, "PRAGMA page_size = 1024; ATTACH ':memory:' AS twin");
    for (const char *const *sql = base_sql(which); *sql != NULL; sql++)
      exec(db, *sql, bases_folder());
    exec(db, "UPDATE tidemark_batch SET owner = 'elsewhere:1:1:n', lease_until = NULL");
  }
  base->knows_gone = golden == NULL;
  take_datasets(base, db, golden == NULL);
  take_tables(base, db);
  base->whole = bases_serialize(db);
  FUZZ_CHECK(sqlite3_close(db) == SQLITE_OK);
  base->loose = loosen(&base->whole);
  bases_clean_folder();
  sqlite3_free(begin.bytes);
}

const struct base *bases_get(size_t which) {
  open_scratch();
  if (bases[which].whole.size == 0)
    make(&bases[which], which);
  return &bases[which];
}

void bases_free(void) {
  for (size_t i = 0; i < BASES; i++) {
    struct base *base = &bases[i];
    for (size_t d = 0; d < base->ndatasets; d++) {
      for (int64_t row = 1; row <= base->datasets[d].last_since; row++) {
        free(base->datasets[d].rows[row].text);
        free(base->datasets[d].rows[row].partition);
      }
      free(base->datasets[d].rows);
      free(base->datasets[d].name);
      free(base->datasets[d].columns);
    }
    for (size_t t = 0; t < base->ntables; t++) {
      for (int c = 0; c < base->tables[t].columns; c++)
        free(base->tables[t].names[c]);
      free(base->tables[t].name);
      free(base->tables[t].sql);
      free(base->tables[t].key);
    }
    sqlite3_free(base->whole.bytes);
    sqlite3_free(base->loose.bytes);
    *base = (struct base){0};
  }
}
