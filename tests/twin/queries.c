/* Random queries on a dataset whose rows are in all places at once, and on an ordinary table:  queries [seed [worlds]]
 * A seed repeats one world. TIDE_TEST_LONG=1 runs for minutes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "shapes.h"
#include "world.h"

enum { WORLDS = 30, WORLDS_LONG = 1500, QUERIES = 150 };

/* ---- rows in all places ---- */

static void insert(struct world *world, size_t statements) {
  for (size_t i = 0; i < statements; i++) {
    char *sql = sqlite3_mprintf("INSERT INTO @T(%s) %z", world->list, gen_source(world, false));
    run_both(world, &world->pairs[0], sql);
    sqlite3_free(sql);
  }
}

static void delete_some(struct world *world) {
  char *sql = sqlite3_mprintf("DELETE FROM @T WHERE since %% %d = 1 OR since BETWEEN %d AND %d + 5", 4 + (int)pick(9),
                              (int)pick(300), (int)pick(300));
  run_both(world, &world->pairs[0], sql);
  sqlite3_free(sql);
}

static void call(struct world *world, const char *function) {
  char *sql = sqlite3_mprintf("SELECT tidemark_%s('%s.my log')", function, world->schema);
  note(world, &world->pairs[0], "%s", sql);
  if (run_log(world, &world->pairs[0], sql) != SQLITE_OK)
    fail(world, "%s: %s", sql, sqlite3_errmsg(world->pairs[0].log));
  sqlite3_free(sql);
}

/* A column that the rows before it read a constant in, or NULL. No blob in a UTF-16 database: as a text or a number,
 * SQLite reads a stored one as UTF-16 there, but one of a DEFAULT as UTF-8. And no 7.0 for ANY, which it reads as 7. */
static void add_column(struct world *world) {
  static const char *const texts[] = {"'w5'", "''", "'7'", "NULL"}, *const reals[] = {"0.5", "7.0", "-1e300", "NULL"},
                           *const blobs[] = {"x'00'", "x'37'", "NULL"}, *const integers[] = {"0", "1"},
                           *const anys[] = {"7", "7.5", "'7'", "x'37'", "NULL"};
  if (world->ncolumns == COLUMNS_MAX)
    return;
  struct column column = world_new_column(world->ncolumns);
  const char *value = strcmp(column.strict, "TEXT") == 0      ? PICK(texts)
                      : strcmp(column.strict, "REAL") == 0    ? PICK(reals)
                      : strcmp(column.strict, "BLOB") == 0    ? PICK(blobs)
                      : strcmp(column.strict, "INTEGER") == 0 ? PICK(integers)
                                                              : PICK(anys);
  if (world->utf16 && *value == 'x')
    value = "NULL";
  column.not_null = strcmp(value, "NULL") != 0 && one_in(2);
  char *end = sqlite3_mprintf("%s DEFAULT %s", column.not_null ? " NOT NULL" : "", value);
  char *definition = sqlite3_mprintf("\"%w\" %s%s", column.name, column.type, end);
  char *log = sqlite3_mprintf("SELECT tidemark_add_column('%s.my log', %Q)", world->schema, definition);
  char *twin = sqlite3_mprintf("ALTER TABLE t ADD COLUMN \"%w\" %s%s", column.name, column.strict, end);
  note(world, &world->pairs[0], "%s", log);
  if (run_log(world, &world->pairs[0], log) != SQLITE_OK || run_twin(world, &world->pairs[0], twin) != SQLITE_OK)
    fail(world, "%s: %s; %s", log, sqlite3_errmsg(world->pairs[0].log), sqlite3_errmsg(world->pairs[0].twin));
  world->columns[world->ncolumns++] = column;
  world->list = sqlite3_mprintf("%z, \"%w\"", world->list, column.name);
  world_create_view(world, &world->pairs[0]);
  sqlite3_free(log);
  sqlite3_free(twin);
  sqlite3_free(definition);
  sqlite3_free(end);
  shapes_note_place("a column that was added");
}

/* Compacted segments first, then some that are not, then the tail, then what the open transaction wrote; and in each of
 * them, rows that are gone. */
static void spread(struct world *world) {
  for (size_t i = 0; i < 3; i++) {
    insert(world, 3);
    call(world, "flush");
  }
  delete_some(world);
  if (one_in(3))
    add_column(world);
  call(world, "compact");
  if (one_in(2))
    add_column(world);
  for (size_t i = 0; i < 3; i++) {
    insert(world, 2);
    call(world, "flush");
  }
  delete_some(world);
  if (one_in(3))
    add_column(world);
  insert(world, 3);
  if (one_in(2))
    delete_some(world);
  if (one_in(4))
    return;
  run_both(world, &world->pairs[0], "BEGIN");
  insert(world, 2);
}

/* ---- what there is to see ---- */

static void note_if(struct world *world, bool twin, const char *condition, const char *place) {
  char *sql = sqlite3_mprintf("SELECT 1 WHERE %s", condition);
  struct rows rows = fetch(world, &world->pairs[0], twin, sql, true);
  if (rows.n > 0)
    shapes_note_place(place);
  free_rows(&rows);
  sqlite3_free(sql);
}

static void note_values(struct world *world) {
  for (size_t i = 0; i < world->ncolumns; i++) {
    const struct column *column = &world->columns[i];
    char *all = sqlite3_mprintf("(SELECT count(DISTINCT typeof(\"%w\")) FROM t) = 5", column->name);
    shapes_note_place(column->type);
    if (strcmp(column->strict, "ANY") == 0)
      note_if(world, true, all, "an ANY column of all types");
    sqlite3_free(all);
  }
  note_if(world, true, "(SELECT count(DISTINCT \"partition\") FROM t) > 4", "many partitions");
  note_if(world, true, "EXISTS (SELECT 1 FROM t WHERE \"partition\" GLOB '*=__HIVE_DEFAULT_PARTITION__*')",
          "a partition of NULL");
  note_if(world, true, "EXISTS (SELECT 1 FROM t WHERE \"partition\" || '/' GLOB '*=/*')", "a partition of ''");
}

static void note_places(struct world *world) {
  if (!sqlite3_get_autocommit(world->pairs[0].log))
    shapes_note_place("rows in memory");
  note_if(world, false, "(SELECT sum(tail_rows) FROM @S.tidemark_stat) > 0", "rows in the tail");
  note_if(world, false, "(SELECT count(*) FROM @S.tidemark_segment) > 1", "rows in segments");
  note_if(world, false, "(SELECT max(revision) FROM @S.tidemark_segment) > 0", "rows in compacted segments");
  note_if(world, false, "(SELECT sum(deleted) FROM @S.tidemark_segment) > 0", "deleted rows in segments");
}

/* Gives how many queries had rows. */
static size_t run_world(uint64_t seed) {
  struct world world;
  size_t answered = 0;
  world_open(&world, seed, false);
  spread(&world);
  note_values(&world);
  note_places(&world);
  for (size_t i = 0; i < QUERIES; i++) {
    bool ordered;
    char *sql = gen_query(&world, &ordered);
    note(&world, &world.pairs[0], "%s", sql);
    const size_t rows = compare_query(&world, &world.pairs[0], sql, ordered);
    answered += rows > 0;
    shapes_note(sql, rows);
    sqlite3_free(sql);
  }
  if (!sqlite3_get_autocommit(world.pairs[0].log))
    run_both(&world, &world.pairs[0], "COMMIT");
  world_close(&world);
  return answered;
}

int main(int argc, char **argv) {
  const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  size_t worlds = argc > 1 ? 1 : getenv("TIDE_TEST_LONG") != NULL ? WORLDS_LONG : WORLDS;
  if (argc > 2)
    worlds = strtoull(argv[2], NULL, 10);
  size_t answered = 0;
  for (size_t i = 0; i < worlds; i++)
    answered += run_world(seed + i);
  if (argc <= 1 && !shapes_complete())
    return 1;
  printf("SQLite %s: %zu queries in %zu worlds agree, %zu of them on rows\n", sqlite3_libversion(), worlds * QUERIES,
         worlds, answered);
  return 0;
}
