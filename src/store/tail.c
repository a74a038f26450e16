#include "store/tail.h"

#include <string.h>
#include <xxhash.h>

#include "base/mem.h"
#include "base/rd.h"
#include "base/stmt.h"
#include "base/stmt_pool.h"

enum {
  TAIL_HASH_SIZE = TIDE_TAIL_HASH_SIZE,
  VARINT_MAX = 10,
  GROW_STEP = 64 << 10,
  PAUSE_LOG_MAX = 6 /* after so many failures in a row or more, packing is tried every 64th time */
};

/* ---- writing ---- */

/* Fields at a place where there is room for them, each giving the place behind it. */

static unsigned char *put_varint(unsigned char *at, uint64_t value) {
  while (value >= 0x80) {
    *at++ = (unsigned char)(value | 0x80);
    value >>= 7;
  }
  *at++ = (unsigned char)value;
  return at;
}

static unsigned char *put_zigzag(unsigned char *at, int64_t value) {
  return put_varint(at, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

static unsigned char *put_u64(unsigned char *at, uint64_t value) {
  for (size_t i = 0; i < 8; i++)
    at[i] = (unsigned char)(value >> (8 * i));
  return at + 8;
}

static unsigned char *put_value(unsigned char *at, const struct tide_val *value) {
  *at++ = value->type;
  switch (value->type) {
  case TIDE_VAL_INT:
    return put_zigzag(at, value->i);
  case TIDE_VAL_REAL:
    return put_u64(at, (uint64_t)tide_bits_of_real(value->r));
  case TIDE_VAL_TEXT:
  case TIDE_VAL_BLOB:
    at = put_varint(at, value->n);
    if (value->n > 0)
      memcpy(at, value->p, value->n);
    return at + value->n;
  default:
    return at;
  }
}

/* Not by doubling: many partitions have a run of about the same size. */
static int grow_in_steps(struct tide_buf *bytes, size_t more, struct tide_err *err) {
  if (more <= bytes->cap - bytes->len)
    return 0;
  const size_t cap = (bytes->len + more + GROW_STEP) / GROW_STEP * GROW_STEP;
  unsigned char *data = tide_realloc(bytes->data, cap, 1, err);
  if (data == NULL)
    return err->rc;
  bytes->data = data;
  bytes->cap = cap;
  return 0;
}

/* Room for a row, for what goes before all rows when it is the first, and for the hash behind them. */
static int reserve_row(struct tide_buf *bytes, const struct tide_spec *spec, const struct tide_val *values,
                       struct tide_err *err) {
  size_t size = 2 * VARINT_MAX + spec->ncolumns * (1 + VARINT_MAX);
  for (size_t i = 0; i < spec->ncolumns; i++)
    size += values[i].n; /* far from wrapping: each is the size of memory that is there */
  size += TIDE_TAIL_FRONT_MAX + TAIL_HASH_SIZE;
  if (bytes->cap < GROW_STEP ? tide_buf_reserve(bytes, size, err) != 0 : grow_in_steps(bytes, size, err) != 0)
    return err->rc;
  if (bytes->len == 0)
    bytes->len = TIDE_TAIL_FRONT_MAX;
  return 0;
}

int tide_tail_run_append(struct tide_tail_run *run, const struct tide_spec *spec, int64_t since, int64_t ingested_at,
                         const struct tide_val *values, struct tide_err *err) {
  const bool first = run->rows == 0;
  if (tide_err_is_set(err) || reserve_row(&run->bytes, spec, values, err) != 0)
    return err->rc;
  unsigned char *at = run->bytes.data + run->bytes.len;
  at = put_varint(at, first ? 0 : (uint64_t)(since - run->last_since));
  at = put_zigzag(at, (int64_t)((uint64_t)ingested_at - (uint64_t)(first ? 0 : run->last_ingested)));
  for (size_t i = 0; i < spec->ncolumns; i++) {
    if (spec->columns[i].partition_at < 0)
      at = put_value(at, &values[i]);
  }
  run->bytes.len = (size_t)(at - run->bytes.data);
  if (first)
    run->first_since = since;
  run->last_since = since;
  run->last_ingested = ingested_at;
  run->rows++;
  return 0;
}

/* The rows as they are, with what belongs before them; behind them there is room for the hash. */
static unsigned char *wrap(const struct tide_tail_run *run, const struct tide_spec *spec, size_t *ret_size) {
  unsigned char header[TIDE_TAIL_FRONT_MAX] = {TIDE_TAIL_PLAIN};
  unsigned char *end = put_varint(header + 1, (uint64_t)run->rows);
  end = put_varint(end, spec->ncolumns - spec->npartition);
  const size_t header_size = (size_t)(end - header);
  unsigned char *data = run->bytes.data + TIDE_TAIL_FRONT_MAX - header_size;
  *ret_size = header_size + run->bytes.len - TIDE_TAIL_FRONT_MAX;
  memcpy(data, header, header_size);
  return data;
}

/* The same packed; NULL when it is not. Rows that cannot be made smaller are tried ever less often. */
static unsigned char *pack(struct tide_tail_run *run, struct tide_tail_press *press, const struct tide_spec *spec,
                           size_t *ret_size, struct tide_err *err) {
  if (press == NULL || !tide_tail_run_may_be_packed(run)) {
    run->pause -= run->pause > 0;
    return NULL;
  }
  const struct tide_tail_front front = {.rows = (uint64_t)run->rows,
                                        .columns = spec->ncolumns - spec->npartition,
                                        .raw_size = run->bytes.len - TIDE_TAIL_FRONT_MAX};
  unsigned char *data = tide_tail_press_pack(press, &front, run->bytes.data + TIDE_TAIL_FRONT_MAX, ret_size, err);
  run->unpacked = data != NULL ? 0 : run->unpacked + (run->unpacked < PAUSE_LOG_MAX);
  run->pause = (1u << run->unpacked) - 1;
  return data;
}

void tide_tail_run_store(struct tide_tail_run *run, sqlite3 *db, struct tide_names names, const struct tide_spec *spec,
                         struct tide_tail_index *index, struct tide_err *err) {
  if (run->rows == 0 || tide_err_is_set(err))
    return;
  size_t size = 0;
  unsigned char *data = pack(run, names.press, spec, &size, err);
  if (tide_err_is_set(err))
    return;
  const bool packed = data != NULL;
  struct tide_buf lent = packed ? tide_tail_press_lend(names.press) : (struct tide_buf){0};
  if (!packed)
    data = wrap(run, spec, &size);
  unsigned char hash[TAIL_HASH_SIZE]; /* kept, for an error may free the run from within the step */
  put_u64(hash, XXH3_64bits_withSeed(data, size, (uint64_t)run->last_since));
  memcpy(data + size, hash, TAIL_HASH_SIZE);
  size += TAIL_HASH_SIZE;
  const struct tide_tail_entry entry = {.last_since = run->last_since,
                                        .first_since = run->first_since,
                                        .partition = run->partition,
                                        .rows = run->rows,
                                        .bytes = (int64_t)size, /* as who reads the table sees them */
                                        .raw_bytes = (int64_t)(packed ? run->bytes.len - TIDE_TAIL_FRONT_MAX : size)};
  sqlite3_stmt *stmt =
      tide_stmt_pool_take(names.pool, db, err, "INSERT INTO " TIDE_TABLE("tail") " VALUES(?1, ?2, ?3, ?4, ?5)",
                          names.schema, names.dataset);
  tide_stmt_pool_last(names.pool, stmt);
  if (stmt != NULL) {
    sqlite3_bind_int64(stmt, 1, run->last_since);
    sqlite3_bind_int64(stmt, 2, run->partition);
    sqlite3_bind_int64(stmt, 3, run->first_since);
    sqlite3_bind_int64(stmt, 4, run->rows);
    if (sqlite3_bind_blob64(stmt, 5, data, size, SQLITE_STATIC) != SQLITE_OK)
      tide_stmt_error(db, SQLITE_TOOBIG, err);
    tide_stmt_run(stmt, err);
  }
  tide_stmt_pool_give(names.pool, stmt);
  if (packed)
    tide_tail_press_give_back(names.press, &lent);
  if (!tide_err_is_set(err) && tide_tail_index_add(index, entry, err) == 0) {
    memcpy(index->hash, hash, TAIL_HASH_SIZE);
    tide_tail_run_reset(run);
  }
}

/* ---- decoding ---- */

static struct tide_val read_value(struct tide_rd *rd) {
  struct tide_val value = {.type = tide_rd_u8(rd)};
  switch (value.type) {
  case TIDE_VAL_NULL:
    break;
  case TIDE_VAL_INT:
    value.i = tide_rd_zigzag(rd);
    break;
  case TIDE_VAL_REAL:
    value.r = tide_real_of_bits((int64_t)tide_rd_u64(rd));
    if (value.r != value.r) /* NaN, which SQLite stores as NULL */
      rd->bad = true;
    break;
  case TIDE_VAL_TEXT:
  case TIDE_VAL_BLOB:
    value.n = (size_t)tide_rd_varint_max(rd, UINT32_MAX);
    value.p = tide_rd_bytes(rd, value.n);
    break;
  default:
    rd->bad = true;
  }
  return rd->bad ? tide_val_null() : value;
}

/* Columns behind those stored were added later. */
static void decode_row(struct tide_rd *rd, const struct tide_spec *spec, uint64_t columns, struct tide_val *values) {
  size_t stored = 0;
  for (size_t i = 0; i < spec->ncolumns; i++) {
    if (spec->columns[i].partition_at >= 0)
      continue;
    values[i] = stored < columns ? read_value(rd) : spec->columns[i].dflt_value;
    stored++;
  }
}

/* Reads the next row. false when it is damaged. */
static bool read_row(struct tide_tail_walk *walk, const struct tide_spec *spec, struct tide_val *values) {
  struct tide_rd *rd = &walk->rd;
  const uint64_t step = tide_rd_varint(rd);
  if ((walk->row == 0) != (step == 0) || step > (uint64_t)walk->last_since - (uint64_t)walk->since)
    rd->bad = true;
  walk->since = (int64_t)((uint64_t)walk->since + step);
  walk->ingested_at = (int64_t)((uint64_t)walk->ingested_at + (uint64_t)tide_rd_zigzag(rd));
  decode_row(rd, spec, walk->columns, values);
  return !rd->bad;
}

size_t tide_tail_walk_next(struct tide_tail_walk *walk, const struct tide_spec *spec, size_t rows_max,
                           struct tide_batch *batch, struct tide_err *err) {
  struct tide_val *values = walk->row < walk->rows ? tide_alloc_zero(spec->ncolumns, sizeof *values, err) : NULL;
  size_t taken = 0;
  for (; values != NULL && taken < rows_max && walk->row < walk->rows && !tide_err_is_set(err); walk->row++, taken++) {
    if (!read_row(walk, spec, values))
      break;
    tide_batch_append(batch, walk->since, walk->ingested_at, values, err);
  }
  tide_free(values);
  return tide_err_is_set(err) ? 0 : taken;
}

/* The rows of a part; bytes that do not hold just the rows there are, as far as they are looked at, turn the reader
 * bad. */
static void decode_rows(struct tide_tail_walk *walk, const struct tide_spec *spec, const struct tide_tail_part *part,
                        struct tide_batch *batch, struct tide_err *err) {
  struct tide_val *values = tide_alloc_zero(spec->ncolumns, sizeof *values, err);
  bool within = values != NULL;
  for (; within && walk->row < walk->rows && !tide_err_is_set(err); walk->row++) {
    within = read_row(walk, spec, values) && walk->since <= part->upto;
    if (within && walk->since > part->above)
      tide_batch_append(batch, walk->since, walk->ingested_at, values, err);
  }
  tide_free(values);
  if (within && (walk->since != walk->last_since || tide_rd_left(&walk->rd) != 0))
    walk->rd.bad = true;
}

struct tide_tail_walk tide_tail_run_walk(const struct tide_tail_run *run, const struct tide_spec *spec) {
  if (run->rows == 0)
    return (struct tide_tail_walk){.rows = 0};
  return (struct tide_tail_walk){
      .rd = tide_rd_over(run->bytes.data + TIDE_TAIL_FRONT_MAX, run->bytes.len - TIDE_TAIL_FRONT_MAX),
      .since = run->first_since,
      .last_since = run->last_since,
      .rows = (uint64_t)run->rows,
      .columns = spec->ncolumns - spec->npartition};
}

void tide_tail_run_decode(const struct tide_tail_run *run, const struct tide_spec *spec, struct tide_batch *batch,
                          struct tide_err *err) {
  struct tide_tail_walk walk = tide_tail_run_walk(run, spec);
  tide_tail_walk_next(&walk, spec, SIZE_MAX, batch, err);
}

static bool decode_entry(const unsigned char *data, size_t size, struct tide_tail_press *press,
                         const struct tide_spec *spec, const struct tide_tail_part *part, struct tide_batch *batch,
                         struct tide_err *err) {
  const struct tide_tail_entry *entry = part->entry;
  if (size < TAIL_HASH_SIZE)
    return false;
  struct tide_rd trailer = tide_rd_over(data + size - TAIL_HASH_SIZE, TAIL_HASH_SIZE);
  size -= TAIL_HASH_SIZE;
  if (tide_rd_u64(&trailer) != XXH3_64bits_withSeed(data, size, (uint64_t)entry->last_since))
    return false;
  struct tide_rd rd = tide_rd_over(data, size);
  const struct tide_tail_front front = tide_tail_front_read(&rd);
  const size_t raw_size = front.version == TIDE_TAIL_PACKED ? (size_t)front.raw_size : size;
  if (rd.bad || front.columns > spec->ncolumns - spec->npartition || front.rows == 0 ||
      front.rows != (uint64_t)entry->rows || front.rows > raw_size || entry->first_since > entry->last_since ||
      entry->first_since < 1)
    return false;
  if (front.version == TIDE_TAIL_PACKED) {
    const unsigned char *rows = tide_tail_press_unpack(press, &front, rd, err);
    if (rows == NULL)
      return false;
    rd = tide_rd_over(rows, raw_size);
  }
  struct tide_tail_walk walk = {.rd = rd,
                                .since = entry->first_since,
                                .last_since = entry->last_since,
                                .rows = front.rows,
                                .columns = front.columns};
  decode_rows(&walk, spec, part, batch, err);
  if (front.version == TIDE_TAIL_PACKED)
    tide_tail_press_rest(press);
  return !walk.rd.bad;
}

sqlite3_stmt *tide_tail_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_pool_take(names.pool, db, err, "SELECT data FROM " TIDE_TABLE("tail") " WHERE last_since = ?1",
                             names.schema, names.dataset);
}

bool tide_tail_read(sqlite3_stmt *stmt, struct tide_names names, const struct tide_spec *spec,
                    const struct tide_tail_part *part, struct tide_batch *batch, struct tide_err *err) {
  const struct tide_tail_entry *entry = part->entry;
  if (tide_err_is_set(err))
    return false;
  sqlite3_bind_int64(stmt, 1, entry->last_since);
  if (!tide_stmt_row(stmt, err))
    return false;
  const unsigned char *data = sqlite3_column_blob(stmt, 0);
  const size_t size = (size_t)sqlite3_column_bytes(stmt, 0);
  if (!decode_entry(data, size, names.press, spec, part, batch, err))
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_tail row %lld is damaged", names.dataset, names.dataset,
                 (long long)entry->last_since);
  sqlite3_reset(stmt);
  return !tide_err_is_set(err);
}
