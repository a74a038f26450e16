#include "sink/ship.h"

#include <string.h>

#include "base/mem.h"
#include "sink/rows.h"
#include "sink/target.h"

enum { SHIP_SLICE_BYTES = 1 << 20, SHIP_RENEW_MS = TIDE_BATCH_LEASE_MS / 3 };

/* ---- a batch on its way ---- */

struct shipping {
  struct tide_runner *runner;
  const struct tide_batch_row *row;
  bool again;
  struct tide_dataset *ds;
  struct tide_terms *terms; /* the runner's */
  struct tide_rows rows;
  struct tide_encoder *encoder;
  struct tide_outlet *outlet;
  struct tide_target *target; /* the outlet's, once the object was begun */
  struct tide_buf out;
  int64_t existing; /* bytes of an object that was there already */
  int64_t renewed_at;
  struct tide_shipment shipment;
};

/* The layout that a batch was claimed with: the first where nothing is said. In another one it would have other bytes
 * under the same name. */
static int64_t frozen_layout(const struct tide_format *format, const struct tide_batch_row *row,
                             const struct tide_frozen *frozen, struct tide_err *err) {
  const int64_t newest = format->layout > 0 ? format->layout : 1;
  if (frozen->layout > newest)
    tide_err_set(err, SQLITE_ERROR,
                 "batch %lld was claimed in layout %lld of %s, this Tidemark knows up to %lld: a newer one can ship it",
                 (long long)row->batch, (long long)frozen->layout, format->name, (long long)newest);
  return frozen->layout > 0 ? frozen->layout : 1;
}

struct tide_encoder *tide_ship_encoder(const struct tide_sink_config *config, const struct tide_rows *rows,
                                       const struct tide_batch_row *row, const struct tide_frozen *frozen,
                                       struct tide_err *err) {
  const struct tide_encoder_config encoder_config = {
      .spec = rows->spec,
      .columns = config->columns,
      .ncolumns = config->ncolumns,
      .partition = rows->partition,
      .partition_values = rows->values,
      .zstd_level = config->zstd_level,
      .iso = config->iso,
      .table = config->delta,
      .dataset = frozen != NULL && frozen->dataset != NULL ? frozen->dataset : rows->ds->name,
      .log_id = frozen != NULL && frozen->log_id != NULL ? frozen->log_id : rows->ds->config.log_id,
      .since = row != NULL ? row->since : 0,
      .until = row != NULL ? row->until : 0,
      .layout = frozen != NULL ? frozen_layout(config->format, row, frozen, err) : 0,
      .schema_version = frozen != NULL ? frozen->schema_version : 0};
  return tide_err_is_set(err) ? NULL : config->format->create(&encoder_config, err);
}

static void open_shipping(struct shipping *ship, struct tide_err *err) {
  const struct tide_batch_row *row = ship->row;
  ship->ds = tide_dataset_acquire(ship->runner->conn, ship->runner->schema, row->dataset, err);
  if (ship->ds == NULL)
    return;
  ship->renewed_at = tide_dataset_now_ms(ship->ds);
  tide_progress_part(&ship->ds->conn->progress, row->partition);
  if (tide_terms_read(ship->terms, ship->runner->conn->db, ship->runner->schemes, ship->ds->spec, row->config, err) !=
          0 ||
      tide_rows_open(&ship->rows, ship->ds, &ship->terms->config, row->partition, row->since, row->until, err) != 0)
    return;
  if (ship->terms->config.scheme == NULL || row->object == NULL)
    tide_err_set(err, SQLITE_CORRUPT, "batch %lld has no target in its config", (long long)row->batch);
  else
    ship->encoder = tide_ship_encoder(&ship->terms->config, &ship->rows, row, &ship->terms->frozen, err);
}

static void close_shipping(struct shipping *ship) {
  tide_encoder_destroy(ship->encoder);
  if (ship->target != NULL)
    ship->target->methods->abort(ship->target);
  tide_rows_clear(&ship->rows);
  tide_buf_clear(&ship->out);
  tide_dataset_release(ship->ds);
}

/* A long batch keeps its lease, or notices that it lost it. When the database is locked at the moment, the next call is
 * soon enough, as long as the lease runs. */
static void renew(void *context, struct tide_err *err) {
  struct shipping *ship = context;
  struct tide_err failure = {0};
  const int64_t now = tide_dataset_now_ms(ship->ds);
  if (now >= ship->renewed_at && now - ship->renewed_at < SHIP_RENEW_MS)
    return;
  tide_rows_pause(&ship->rows);
  const bool renewed = tide_batch_renew(ship->runner->conn->db, ship->runner->schema, ship->row->batch,
                                        now + TIDE_BATCH_LEASE_MS, &failure);
  const int kind = failure.rc & 0xff;
  if (renewed)
    ship->renewed_at = now;
  else if (!tide_err_is_set(&failure))
    tide_err_set(err, SQLITE_CONSTRAINT, "batch %lld was taken over by another process", (long long)ship->row->batch);
  else if ((kind != SQLITE_BUSY && kind != SQLITE_LOCKED) || now - ship->renewed_at >= TIDE_BATCH_LEASE_MS)
    tide_err_set(err, failure.rc, "%s", failure.msg);
}

static const char *log_id_of(const struct shipping *ship) {
  return ship->terms->frozen.log_id != NULL ? ship->terms->frozen.log_id : ship->ds->config.log_id;
}

static struct tide_object object_of(const struct shipping *ship) {
  return (struct tide_object){.name = ship->row->object,
                              .log_id = log_id_of(ship),
                              .token = ship->row->batch,
                              .again = ship->again,
                              .key = ship->row->key,
                              .media_type = ship->terms->config.format->media_type,
                              .content_encoding = ship->terms->config.format->content_encoding,
                              .tick = ship->outlet->count.tick,
                              .tick_token = ship->outlet->count.token};
}

/* Begins the object. The target is touched when there is a first byte, so that a batch without rows costs nothing. */
static void begin(struct shipping *ship, struct tide_err *err) {
  struct tide_runner *runner = ship->runner;
  const struct tide_batch_row *row = ship->row;
  const struct tide_outlet_call call = {
      .db = runner->conn->db,
      .place = {runner->schema, row->sink, row->dataset, ship->terms->config.place},
      .log_id = log_id_of(ship),
      .dataset = ship->terms->frozen.dataset != NULL ? ship->terms->frozen.dataset : row->dataset,
      .batch = row->batch,
      .patience = runner->patience,
  };
  if (!tide_outlet_open(ship->outlet, &call, &ship->terms->config, ship->terms->frozen.options,
                        &ship->shipment.answer.tick, err)) {
    ship->shipment.answer.verdict = TIDE_VERDICT_AHEAD;
    tide_outlet_refuse_ahead(call.place.place, row->sink, ship->shipment.answer.tick, err);
  }
  const struct tide_object object = object_of(ship);
  if (!tide_err_is_set(err) && ship->outlet->target->methods->begin(ship->outlet->target, &object, err) == 0)
    ship->target = ship->outlet->target;
}

/* Writes what the encoder has given. */
static void put(struct shipping *ship, struct tide_err *err) {
  tide_rows_pause(&ship->rows);
  if (ship->out.len > 0 && ship->target == NULL && !tide_err_is_set(err))
    begin(ship, err);
  if (ship->out.len == 0 || tide_err_is_set(err))
    return;
  ship->target->methods->write(ship->target, ship->out.data, ship->out.len, err);
  ship->shipment.bytes += (int64_t)ship->out.len;
  tide_progress_add(&ship->ds->conn->progress, 0, (int64_t)ship->out.len);
  tide_buf_reset(&ship->out);
  if (!tide_err_is_set(err))
    renew(ship, err);
}

static void encode_rows(struct shipping *ship, struct tide_err *err) {
  struct tide_rows_slice slice;
  while (tide_rows_next(&ship->rows, &slice, err)) {
    ship->shipment.rows += slice.kept;
    ship->shipment.skipped += slice.live - slice.kept;
    tide_progress_add(&ship->ds->conn->progress, slice.live, 0);
    if (slice.kept > 0)
      ship->encoder->methods->rows(ship->encoder, slice.batch, slice.first, slice.end - slice.first, slice.keep,
                                   &ship->out, err);
    if (ship->out.len >= SHIP_SLICE_BYTES)
      put(ship, err);
    else if (!tide_err_is_set(err))
      renew(ship, err);
  }
  tide_rows_pause(&ship->rows);
}

/* ---- an object that is already there ---- */

static long read_object(void *context, void *into, size_t size, struct tide_err *err) {
  struct shipping *ship = context;
  const long got = ship->target->methods->read(ship->target, into, size, err);
  if (got > 0)
    ship->existing += got;
  return got;
}

static void compare_existing(struct shipping *ship, struct tide_err *err) {
  char hash[TIDE_ENCODER_HASH_SIZE];
  struct tide_target *target = ship->target;
  if (target->methods->open_read(target, ship->row->object, err) != 0)
    return;
  struct tide_err unreadable = {0};
  const int rc = ship->terms->config.format->hash_object(read_object, ship, hash, &unreadable);
  target->methods->close_read(target);
  if (rc == 0 && strcmp(hash, ship->shipment.hash) == 0) {
    ship->shipment.bytes = ship->existing; /* one that another library version wrote has a size of its own */
    return;
  }
  if (rc != 0 && (rc & 0xff) != SQLITE_CORRUPT)
    tide_err_set(err, rc, "%s", unreadable.msg);
  else
    tide_err_set(err, SQLITE_CONSTRAINT,
                 "object %s is already in %s and holds other rows: it is left as it is, move it away",
                 ship->row->object, ship->terms->config.place);
}

/* ---- the table that the objects are ---- */

/* Commits the object, which is there, to its table. */
static void commit_to_table(struct shipping *ship, struct tide_err *err) {
  const struct tide_batch_row *row = ship->row;
  struct tide_buf stats = {0};
  bool altered = false;
  if (ship->encoder->methods->put_stats != NULL) {
    ship->encoder->methods->put_stats(ship->encoder, &stats, err);
    tide_buf_put_u8(&stats, 0, err);
  }
  const struct tide_delta_add add = {
      .object = object_of(ship),
      .size = ship->shipment.bytes,
      .rows = ship->shipment.rows,
      .stats = (const char *)stats.data,
      .columns = {ship->rows.spec, ship->terms->config.columns, ship->terms->config.ncolumns},
      .partition_values = ship->rows.values,
      .sink = row->sink,
      .partition = row->partition,
      .generation = row->generation,
      .until = row->until,
      .now_ms = tide_dataset_now_ms(ship->ds)};
  if (ship->outlet->delta == NULL && !tide_err_is_set(err))
    ship->outlet->delta = tide_delta_create(ship->target, err);
  if (!tide_err_is_set(err) && tide_delta_commit(ship->outlet->delta, &add, &altered, err) == 0 && altered)
    ship->shipment.altered = ship->shipment.rows;
  tide_buf_clear(&stats);
}

/* ---- all of it ---- */

static void finish(struct shipping *ship, struct tide_err *err) {
  const struct tide_batch_row *row = ship->row;
  if (ship->shipment.rows + ship->shipment.skipped != row->rows)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "batch %lld was claimed with %lld rows, but %lld are there",
                 (long long)row->batch, (long long)row->rows,
                 (long long)(ship->shipment.rows + ship->shipment.skipped));
  if (ship->shipment.rows == 0 || tide_err_is_set(err))
    return;
  ship->encoder->methods->finish(ship->encoder, &ship->out, ship->shipment.hash, err);
  ship->shipment.altered = (int64_t)ship->encoder->altered;
  put(ship, err);
  ship->shipment.may_have_arrived = true;
  if (!tide_err_is_set(err))
    ship->target->methods->commit(ship->target, &ship->shipment.answer, err);
  if (ship->shipment.answer.verdict == TIDE_VERDICT_EXISTS && !tide_err_is_set(err))
    compare_existing(ship, err);
  if (ship->terms->config.delta && !tide_err_is_set(err))
    commit_to_table(ship, err);
}

void tide_ship(struct tide_runner *runner, const struct tide_batch_row *row, bool again, struct tide_outlet *outlet,
               struct tide_shipment *ret_shipment, struct tide_err *err) {
  struct shipping ship = {.runner = runner, .row = row, .again = again, .terms = runner->terms, .outlet = outlet};
  open_shipping(&ship, err);
  runner->renew = renew;
  runner->renew_context = &ship;
  if (!tide_err_is_set(err))
    encode_rows(&ship, err);
  if (!tide_err_is_set(err))
    finish(&ship, err);
  runner->renew = NULL;
  close_shipping(&ship);
  *ret_shipment = ship.shipment;
}

/* ---- measuring ---- */

int64_t tide_ship_measure(struct tide_dataset *ds, const struct tide_sink_config *config, const char *partition,
                          int64_t above, int64_t upto, int64_t max_bytes, struct tide_err *err) {
  struct tide_rows rows;
  struct tide_rows_slice slice;
  struct tide_encoder *encoder = NULL;
  int64_t fits = 0; /* the last since measured that fits, deleted and skipped rows included */
  int64_t cut = 0;
  if (tide_rows_open(&rows, ds, config, partition, above, upto, err) == 0)
    encoder = tide_ship_encoder(config, &rows, NULL, NULL, err);
  while (encoder != NULL && cut == 0 && tide_rows_next(&rows, &slice, err)) {
    const size_t count = slice.end - slice.first;
    const size_t over =
        encoder->methods->measure(encoder, slice.batch, slice.first, count, slice.keep, (uint64_t)max_bytes, err);
    if (over > slice.first)
      fits = slice.batch->since[over - 1];
    if (over < slice.end)
      cut = fits != 0 ? fits : slice.batch->since[over]; /* one row alone is too big: it is a batch of its own */
  }
  tide_encoder_destroy(encoder);
  tide_rows_clear(&rows);
  return cut != 0 ? cut : upto;
}

void tide_ship_count(struct tide_dataset *ds, const struct tide_sink_config *config, const char *partition,
                     int64_t above, int64_t upto, int64_t *ret_rows, int64_t *ret_skipped, struct tide_err *err) {
  struct tide_rows rows;
  struct tide_rows_slice slice;
  *ret_rows = 0;
  *ret_skipped = 0;
  tide_rows_open(&rows, ds, config, partition, above, upto, err);
  while (!tide_err_is_set(err) && tide_rows_next(&rows, &slice, err)) {
    *ret_rows += slice.kept;
    *ret_skipped += slice.live - slice.kept;
  }
  tide_rows_clear(&rows);
}
