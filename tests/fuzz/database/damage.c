#include "damage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checksums.h"
#include "fuzz.h"

static const int64_t extremes[] = {0,
                                   1,
                                   -1,
                                   2,
                                   7,
                                   15,
                                   127,
                                   255,
                                   65536,
                                   1 << 20,
                                   INT32_MAX,
                                   INT32_MIN,
                                   INT64_MAX,
                                   INT64_MAX - 1,
                                   INT64_MIN,
                                   (int64_t)1 << 62,
                                   ((int64_t)1 << 62) + 1,
                                   -((int64_t)1 << 62),
                                   UINT32_MAX,
                                   1767225600000};
static const int64_t near[] = {1, -1, 2, -2, 3, 10, -10, 100};
enum { EXTREMES = sizeof extremes / sizeof *extremes, NEAR = sizeof near / sizeof *near };

/* A damage and where it is done. */
struct place {
  sqlite3 *db;
  const struct base *base;
  const struct base_table *table;
  const char *column;
  const struct damage *damage;
  int64_t row, other;
  bool done;
};

/* SQL that may be refused: then nothing was damaged. */
static void try(struct place *place, sqlite3_stmt *stmt) {
  sqlite3_step(stmt);
  place->done |= sqlite3_finalize(stmt) == SQLITE_OK && sqlite3_changes(place->db) > 0;
}

static int64_t number(sqlite3 *db, const char *format, const char *name) {
  sqlite3_stmt *stmt = fuzz_prepare(db, format, name);
  const int64_t value = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
  sqlite3_finalize(stmt);
  return value;
}

/* The value of a row; the caller frees. NULL: there is no such row. */
static sqlite3_value *value_of(const struct place *place, int64_t row) {
  sqlite3_stmt *stmt = fuzz_prepare(place->db, "SELECT \"%w\" FROM \"%w\" ORDER BY %s LIMIT 1 OFFSET %lld",
                                    place->column, place->table->name, place->table->key, row);
  sqlite3_value *value = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_value_dup(sqlite3_column_value(stmt, 0)) : NULL;
  sqlite3_finalize(stmt);
  return value;
}

/* An UPDATE of one row's column to ?1. */
static sqlite3_stmt *update(const struct place *place, int64_t row) {
  return fuzz_prepare(place->db,
                      "UPDATE \"%w\" SET \"%w\" = ?1 WHERE (%s) = (SELECT %s FROM \"%w\" ORDER BY %s LIMIT 1"
                      " OFFSET %lld)",
                      place->table->name, place->column, place->table->key, place->table->key, place->table->name,
                      place->table->key, row);
}

/* ---- values ---- */

static void bind_type(sqlite3_stmt *stmt, unsigned with) {
  static const char *const texts[] = {"",  "x",      "source=a", "2147483648",      "{}",
                                      "[", "active", "ndjson",   "file:///dev/null"};
  const unsigned ntexts = sizeof texts / sizeof *texts;
  if (with % 4 == 0)
    sqlite3_bind_double(stmt, 1, with % 8 == 0 ? 1.5 : 1e300);
  else if (with % 4 == 1)
    sqlite3_bind_blob(stmt, 1, "\0\1\2\3\4\5\6", (int)(with / 4 % 8), SQLITE_STATIC);
  else if (with % 4 == 2)
    sqlite3_bind_text(stmt, 1, texts[with / 4 % ntexts], -1, SQLITE_STATIC);
  else
    sqlite3_bind_text(stmt, 1, "a\0b", 3, SQLITE_STATIC);
}

/* The bytes of a value, changed; the type stays, but for a number, which becomes text. */
static void bind_changed(const struct place *place, sqlite3_stmt *stmt, sqlite3_value *value, sqlite3_value *other) {
  const struct damage *damage = place->damage;
  const unsigned char *from = sqlite3_value_blob(value), *more = sqlite3_value_blob(other);
  size_t size = (size_t)sqlite3_value_bytes(value);
  const size_t room = size + (size_t)sqlite3_value_bytes(other) + 64, at = size > 0 ? damage->at % size : 0;
  unsigned char *bytes = calloc(1, room);
  FUZZ_CHECK(bytes != NULL);
  if (size > 0)
    memcpy(bytes, from, size);
  if (damage->kind == DAMAGE_FLIP && size > 0) {
    bytes[at] ^= damage->with == 0 ? 0xff : damage->with;
  } else if (damage->kind == DAMAGE_CUT) {
    size = at;
  } else if (damage->kind == DAMAGE_EXTEND) {
    memset(bytes + size, damage->with, 1 + damage->at % 64u);
    size += 1 + damage->at % 64u;
  } else if (damage->kind == DAMAGE_SPLICE) {
    const size_t begin = (size_t)sqlite3_value_bytes(other) * damage->with / 256,
                 rest = (size_t)sqlite3_value_bytes(other) - begin;
    if (rest > 0)
      memcpy(bytes + at, more + begin, rest);
    size = at + rest;
  }
  if (sqlite3_value_type(value) == SQLITE_BLOB)
    sqlite3_bind_blob(stmt, 1, bytes, (int)size, SQLITE_TRANSIENT);
  else
    sqlite3_bind_text(stmt, 1, (const char *)bytes, (int)size, SQLITE_TRANSIENT);
  free(bytes);
}

static void bind_value(const struct place *place, sqlite3_stmt *stmt, sqlite3_value *value, sqlite3_value *other) {
  const struct damage *damage = place->damage;
  if (damage->kind == DAMAGE_NUMBER)
    sqlite3_bind_int64(stmt, 1, extremes[damage->with % EXTREMES]);
  else if (damage->kind == DAMAGE_NEAR || damage->kind == DAMAGE_COPY)
    sqlite3_bind_int64(stmt, 1, (int64_t)((uint64_t)sqlite3_value_int64(value) + (uint64_t)near[damage->with % NEAR]));
  else if (damage->kind == DAMAGE_OTHER)
    sqlite3_bind_value(stmt, 1, other);
  else if (damage->kind == DAMAGE_TYPE)
    bind_type(stmt, damage->with);
  else if (damage->kind != DAMAGE_NULL)
    bind_changed(place, stmt, value, other);
}

static void change_value(struct place *place) {
  sqlite3_value *value = value_of(place, place->row), *other = value_of(place, place->other);
  if (value != NULL) {
    sqlite3_stmt *stmt = update(place, place->row);
    bind_value(place, stmt, value, other);
    try(place, stmt);
  }
  sqlite3_value_free(value);
  sqlite3_value_free(other);
}

/* ---- rows ---- */

static void delete_rows(struct place *place) {
  const int64_t limit = place->damage->kind == DAMAGE_ROWS ? -1 : 1;
  try(place, fuzz_prepare(place->db,
                          "DELETE FROM \"%w\" WHERE (%s) IN (SELECT %s FROM \"%w\" ORDER BY %s LIMIT %lld OFFSET"
                          " %lld)",
                          place->table->name, place->table->key, place->table->key, place->table->name,
                          place->table->key, limit, limit < 0 ? 0 : place->row));
}

static void copy_row(struct place *place) {
  char *columns = sqlite3_mprintf("");
  char *values = sqlite3_mprintf("");
  for (int i = 0; i < place->table->columns; i++) {
    const char *name = place->table->names[i], *comma = i > 0 ? "," : "";
    columns = sqlite3_mprintf("%z%s\"%w\"", columns, comma, name);
    values = name == place->column ? sqlite3_mprintf("%z%s?1", values, comma)
                                   : sqlite3_mprintf("%z%s\"%w\"", values, comma, name);
  }
  sqlite3_value *value = value_of(place, place->row);
  if (value != NULL) {
    sqlite3_stmt *stmt =
        fuzz_prepare(place->db, "INSERT INTO \"%w\"(%s) SELECT %s FROM \"%w\" ORDER BY %s LIMIT 1 OFFSET %lld",
                     place->table->name, columns, values, place->table->name, place->table->key, place->row);
    bind_value(place, stmt, value, NULL);
    try(place, stmt);
  }
  sqlite3_value_free(value);
  sqlite3_free(columns);
  sqlite3_free(values);
}

/* The rows keep their places when the column is not of the key; otherwise what is swapped is all but the key. */
static void swap_values(struct place *place) {
  sqlite3_value *value = value_of(place, place->row), *other = value_of(place, place->other);
  if (value != NULL && other != NULL && place->row != place->other) {
    sqlite3_stmt *aside = update(place, place->row), *second = update(place, place->other),
                 *first = update(place, place->row);
    sqlite3_bind_int64(aside, 1, INT64_C(-77777777));
    sqlite3_bind_value(second, 1, value);
    sqlite3_bind_value(first, 1, other);
    try(place, aside);
    try(place, second);
    try(place, first);
  }
  sqlite3_value_free(value);
  sqlite3_value_free(other);
}

/* ---- the schema and the file ---- */

static void change_schema(struct place *place) {
  const struct damage *damage = place->damage;
  const int64_t count = number(place->db, "SELECT count(*) FROM sqlite_schema%s", "");
  const int64_t row = damage->row % count, other = (damage->row + 1 + damage->column) % count;
  sqlite3_stmt *stmt;
  if (damage->kind == DAMAGE_SCHEMA_DROP) {
    stmt = fuzz_prepare(place->db,
                        "DELETE FROM sqlite_schema WHERE rowid = (SELECT rowid FROM sqlite_schema LIMIT 1 OFFSET"
                        " %lld)",
                        row);
  } else if (damage->kind == DAMAGE_SCHEMA_ROOT) {
    stmt = fuzz_prepare(place->db,
                        "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema LIMIT 1 OFFSET %lld)"
                        " WHERE rowid = (SELECT rowid FROM sqlite_schema LIMIT 1 OFFSET %lld)",
                        row, other);
  } else {
    static const char *const columns[] = {"sql", "sql", "sql", "name", "tbl_name", "type"};
    const struct base_table schema = {.name = (char *)"sqlite_schema", .key = (char *)"rowid"};
    place->table = &schema;
    place->column = columns[damage->column % 6];
    place->row = row;
    sqlite3_value *value = value_of(place, row);
    struct damage flip = *damage;
    flip.kind = DAMAGE_FLIP;
    flip.with = damage->with % 96 + 1;
    place->damage = &flip;
    stmt = update(place, row);
    bind_changed(place, stmt, value, value);
    sqlite3_value_free(value);
    place->damage = damage;
    place->table = NULL;
  }
  try(place, stmt);
}

static void change_page(struct base_image *image, const struct damage *damage) {
  const int64_t at = ((int64_t)damage->row << 16 | damage->at) % image->size;
  image->bytes[at] ^= damage->with == 0 ? 0xff : damage->with;
}

/* ---- checksums ---- */

static struct fuzz_run take_run(sqlite3_stmt *stmt, int column) {
  struct fuzz_run run = {.size = (size_t)sqlite3_column_bytes(stmt, column)};
  run.bytes = malloc(run.size + 1);
  FUZZ_CHECK(run.bytes != NULL);
  if (run.size > 0)
    memcpy(run.bytes, sqlite3_column_blob(stmt, column), run.size);
  return run;
}

static void put_run(sqlite3 *db, const char *sql, const char *dataset, struct fuzz_run run, int64_t key, int64_t key2) {
  sqlite3_stmt *stmt = fuzz_prepare(db, sql, dataset);
  sqlite3_bind_blob(stmt, 1, run.bytes, (int)run.size, SQLITE_STATIC);
  sqlite3_bind_int64(stmt, 2, key);
  if (sqlite3_bind_parameter_count(stmt) > 2)
    sqlite3_bind_int64(stmt, 3, key2);
  sqlite3_step(stmt);
  sqlite3_finalize(stmt);
}

static void mend_tail(sqlite3 *db, const char *dataset) {
  sqlite3_stmt *stmt = fuzz_prepare(db, "SELECT last_since, data FROM \"%w_tail\"", dataset);
  while (sqlite3_step(stmt) == SQLITE_ROW) {
    struct fuzz_run run = take_run(stmt, 1);
    fuzz_fix_tail(run, sqlite3_column_int64(stmt, 0));
    put_run(db, "UPDATE \"%w_tail\" SET data = ?1 WHERE last_since = ?2", dataset, run, sqlite3_column_int64(stmt, 0),
            0);
    free(run.bytes);
  }
  sqlite3_finalize(stmt);
}

enum { CHUNKS_MAX = 20 };

static void mend_segment(sqlite3 *db, const char *dataset, sqlite3_stmt *segment) {
  struct fuzz_run meta = take_run(segment, 4), chunks[CHUNKS_MAX] = {{0}};
  const int64_t first = sqlite3_column_int64(segment, 2);
  sqlite3_stmt *stmt = fuzz_prepare(db, "SELECT data FROM \"%w_chunk\" WHERE id = ?1", dataset);
  for (int64_t i = 0; i < CHUNKS_MAX; i++) {
    sqlite3_bind_int64(stmt, 1, (int64_t)((uint64_t)first + (uint64_t)i));
    if (sqlite3_step(stmt) == SQLITE_ROW)
      chunks[i] = take_run(stmt, 0);
    sqlite3_reset(stmt);
  }
  sqlite3_finalize(stmt);
  const int64_t own = sqlite3_column_int64(segment, 3);
  fuzz_fix_segment(meta, chunks, own >= 0 && own < CHUNKS_MAX ? (size_t)own : CHUNKS_MAX);
  for (int64_t i = 0; i < CHUNKS_MAX; i++) {
    if (chunks[i].bytes != NULL)
      put_run(db, "UPDATE \"%w_chunk\" SET data = ?1 WHERE id = ?2", dataset, chunks[i],
              (int64_t)((uint64_t)first + (uint64_t)i), 0);
    free(chunks[i].bytes);
  }
  put_run(db, "UPDATE \"%w_segment\" SET meta = ?1 WHERE partition = ?2 AND last_since = ?3", dataset, meta,
          sqlite3_column_int64(segment, 0), sqlite3_column_int64(segment, 1));
  free(meta.bytes);
}

static void mend(struct place *place) {
  if (place->table == NULL || place->table->dataset < 0)
    return;
  const char *dataset = place->base->datasets[place->table->dataset].name;
  if (strcmp(place->table->suffix, "tail") == 0)
    mend_tail(place->db, dataset);
  if (strcmp(place->table->suffix, "chunk") != 0 && strcmp(place->table->suffix, "segment") != 0)
    return;
  sqlite3_stmt *stmt =
      fuzz_prepare(place->db, "SELECT partition, last_since, chunk, chunks, meta FROM \"%w_segment\"", dataset);
  while (sqlite3_step(stmt) == SQLITE_ROW)
    mend_segment(place->db, dataset, stmt);
  sqlite3_finalize(stmt);
}

/* ---- how far it reaches ---- */

/* Of which partition the bytes are; -1 when they are not. */
static int64_t partition_of(const struct place *place) {
  const struct base_table *table = place->table;
  static const char *const owners[][2] = {
      {"tail", "SELECT partition FROM \"%w\" ORDER BY %s LIMIT 1 OFFSET %lld"},
      {"segment", "SELECT partition FROM \"%w\" ORDER BY %s LIMIT 1 OFFSET %lld"},
      {"chunk",
       "SELECT partition FROM \"%w\" c JOIN \"%.*s_segment\" s ON c.id >= s.chunk AND c.id < s.chunk + s.chunks"
       " ORDER BY %s LIMIT 1 OFFSET %lld"}};
  if (table == NULL || table->dataset < 0)
    return -1;
  for (size_t i = 0; i < 3; i++) {
    if (strcmp(table->suffix, owners[i][0]) != 0)
      continue;
    const char *name = place->base->datasets[table->dataset].name;
    sqlite3_stmt *stmt =
        i < 2 ? fuzz_prepare(place->db, owners[i][1], table->name, table->key, place->row)
              : fuzz_prepare(place->db,
                             "SELECT s.partition FROM (SELECT id FROM \"%w\" ORDER BY id LIMIT 1 OFFSET %lld) c"
                             " JOIN \"%w_segment\" s ON c.id >= s.chunk AND c.id < s.chunk + s.chunks",
                             table->name, place->row, name);
    const int64_t partition = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : -1;
    sqlite3_finalize(stmt);
    return partition;
  }
  return -1;
}

static void extend_reach(const struct place *place, int64_t partition, struct damage_reach *reach) {
  const struct base_table *table = place->table;
  const struct damage *damage = place->damage;
  const bool bytes = table != NULL && table->dataset >= 0 &&
                     (strcmp(place->column, "data") == 0 || strcmp(place->column, "meta") == 0) &&
                     damage->kind >= DAMAGE_FLIP && damage->kind <= DAMAGE_SPLICE && !damage->mended;
  reach->rows &= damage->kind < DAMAGE_SCHEMA_FLIP;
  if (!bytes || (reach->done && reach->dataset != table->dataset))
    reach->dataset = -1;
  else if (!reach->done)
    reach->dataset = table->dataset;
  if (damage->kind != DAMAGE_FLIP || (reach->done && reach->partition != partition))
    reach->partition = -1;
  else if (!reach->done)
    reach->partition = partition;
  reach->covered &= bytes;
  reach->done = true;
}

/* ---- all together ---- */

static struct place find(const struct base *base, sqlite3 *db, const struct damage *damage) {
  struct place place = {.db = db, .base = base, .damage = damage};
  if (damage->kind >= DAMAGE_SCHEMA_FLIP)
    return place;
  place.table = &base->tables[damage->table % base->ntables];
  place.column = place.table->names[damage->column % place.table->columns];
  const int64_t rows = number(db, "SELECT count(*) FROM \"%w\"", place.table->name);
  place.row = rows > 0 ? damage->row % rows : 0;
  place.other = rows > 0 ? (damage->row + 1 + damage->at % 8) % rows : 0;
  return place;
}

static void do_one(struct place *place) {
  const enum damage_kind kind = place->damage->kind;
  if (kind < DAMAGE_DELETE)
    change_value(place);
  else if (kind == DAMAGE_DELETE || kind == DAMAGE_ROWS)
    delete_rows(place);
  else if (kind == DAMAGE_COPY)
    copy_row(place);
  else if (kind == DAMAGE_SWAP)
    swap_values(place);
  else if (kind < DAMAGE_PAGE)
    change_schema(place);
}

/* The schema's texts as they were, where they are as they were made loose. */
static void tighten(sqlite3 *db, const struct base *base) {
  for (size_t i = 0; i < base->ntables; i++) {
    sqlite3_stmt *stmt =
        fuzz_prepare(db, "UPDATE sqlite_schema SET sql = ?1 WHERE name = ?2 AND type = 'table' AND length(sql) > 0");
    sqlite3_bind_text(stmt, 1, base->tables[i].sql, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, base->tables[i].name, -1, SQLITE_STATIC);
    sqlite3_step(stmt);
    sqlite3_finalize(stmt);
  }
}

struct base_image damage_do(const struct base *base, const struct damage *damages, size_t count,
                            struct damage_reach *ret_reach) {
  struct damage_reach reach = {.rows = true, .covered = true, .dataset = -1, .partition = -1};
  sqlite3 *db = bases_open(&base->loose, false);
  sqlite3_exec(db, "PRAGMA writable_schema = ON; PRAGMA ignore_check_constraints = ON; BEGIN", NULL, NULL, NULL);
  for (int schema = 0; schema < 2; schema++) { /* rows while the schema is loose */
    for (size_t i = 0; i < count; i++) {
      struct place place = find(base, db, &damages[i]);
      if (schema != (damages[i].kind >= DAMAGE_SCHEMA_FLIP))
        continue;
      const int64_t partition = partition_of(&place);
      do_one(&place);
      if (damages[i].mended)
        mend(&place);
      if (place.done || damages[i].kind == DAMAGE_PAGE)
        extend_reach(&place, partition, &reach);
    }
    if (schema == 0)
      tighten(db, base);
  }
  sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
  struct base_image image = bases_serialize(db);
  FUZZ_CHECK(sqlite3_close(db) == SQLITE_OK);
  for (size_t i = 0; i < count; i++) {
    if (damages[i].kind == DAMAGE_PAGE)
      change_page(&image, &damages[i]);
  }
  *ret_reach = reach;
  return image;
}

/* The name and default of a column, and the text of a partition, are nowhere else; nor is of which partition a batch of
 * the tail or a segment is, nor which of a partition's rows are deleted, for both as far as the counts fit. Which rows
 * the tail has is not either, for a commit writes nothing but them. */
static bool is_said_once(const struct base_table *table, const char *column, enum damage_kind kind) {
  static const char *const once[][2] = {{"column", "name"},    {"column", "dflt_value"}, {"partition", "name"},
                                        {"tail", "partition"}, {"segment", "partition"}, {"deleted", "since"}};
  if (strcmp(table->suffix, "tail") == 0 && (kind == DAMAGE_DELETE || kind == DAMAGE_ROWS))
    return true;
  for (size_t i = 0; i < sizeof once / sizeof *once; i++) {
    if (strcmp(table->suffix, once[i][0]) == 0 && strcmp(column, once[i][1]) == 0)
      return true;
  }
  return false;
}

bool damage_is_unseen(const struct base *base, const struct damage *damages, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (damages[i].kind >= DAMAGE_SCHEMA_FLIP)
      continue;
    const struct base_table *table = &base->tables[damages[i].table % base->ntables];
    if (table->dataset >= 0 &&
        is_said_once(table, table->names[damages[i].column % table->columns], (enum damage_kind)damages[i].kind))
      return true;
  }
  return false;
}

void damage_describe(const struct base *base, const struct damage *damage, char *text, size_t size) {
  static const char *const words[DAMAGE_KINDS] = {"NULL", "number",      "near",        "other",       "type", "flip",
                                                  "cut",  "extend",      "splice",      "delete",      "copy", "swap",
                                                  "rows", "schema flip", "schema drop", "schema root", "page"};
  const struct base_table *table = &base->tables[damage->table % base->ntables];
  const bool named = damage->kind < DAMAGE_SCHEMA_FLIP;
  snprintf(text, size, "%s %s.%s row %u at %u with %u%s", words[damage->kind % DAMAGE_KINDS], named ? table->name : "",
           named ? table->names[damage->column % table->columns] : "", damage->row, damage->at, damage->with,
           damage->mended ? ", mended" : "");
}
