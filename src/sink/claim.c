#include "sink/claim.h"

#include <string.h>

#include "base/mem.h"
#include "engine/stats.h"
#include "model/partition.h"
#include "sink/json.h"
#include "sink/registry.h"
#include "sink/ship.h"
#include "store/durable.h"
#include "store/sink_count.h"

enum {
  CLAIM_MAX_ROWS = 1000000,
  CLAIM_MAX_BYTES = 256 << 20,
  CLAIM_FORWARD_MAX_ROWS = 5000,
  CLAIM_FORWARD_MAX_BYTES = 4 << 20,
  CLAIM_ENCODED_MAX = 8,       /* no format makes more bytes than that of a raw one: \u00XX is six */
  CLAIM_ENCODED_VALUE_MAX = 32 /* nor more than that of any value beside it: a number's digits, quotes, a comma */
};

/* A claim of one partition at work. */
struct claim {
  struct tide_runner *runner;
  const struct tide_sink *sink;
  struct tide_dataset *ds;
  struct tide_buf partition; /* its text and a NUL */
  struct tide_watermark watermark;
  struct tide_claim_reach reach;
  struct tide_range range;
  bool counted; /* the range's rows, when so many had gone from the partition */
  int64_t gone;
  const struct tide_sink_config *config;
  char *log_id; /* of the names outside */
};

static const char *text_of(const struct claim *claim) {
  return (const char *)claim->partition.data;
}

static size_t text_size(const struct claim *claim) {
  return claim->partition.len - 1;
}

/* ---- which rows ---- */

static void read_partition(struct claim *claim, int64_t partition, struct tide_err *err) {
  struct tide_dataset *ds = claim->ds;
  const struct tide_names names = tide_dataset_names(ds);
  sqlite3_stmt *stmt = tide_catalog_partition_by_id(ds->conn->db, names, err);
  tide_catalog_partition_text(stmt, names, partition, &claim->partition, err);
  tide_buf_put_u8(&claim->partition, 0, err);
  tide_stmt_pool_give(names.pool, stmt);
}

static void read_watermark(struct claim *claim, struct tide_err *err) {
  sqlite3_stmt *stmt =
      tide_watermark_prepare(claim->ds->conn->db, tide_dataset_names(claim->ds), claim->sink->sink, err);
  claim->watermark = tide_watermark_get(stmt, text_of(claim), text_size(claim), claim->sink->start, err);
  tide_stmt_pool_give(claim->ds->pool, stmt);
}

/* min_rows and max_delay: whether so few rows are to wait for others. */
static bool waits_for_company(struct claim *claim, struct tide_err *err) {
  const struct tide_sink *sink = claim->sink;
  struct tide_stats_row oldest = {0};
  const bool full = claim->range.until < claim->reach.newest; /* as many rows as a batch may have */
  if (claim->runner->now || full || claim->range.rows >= sink->min_rows)
    return false;
  if (sink->max_delay_ms < 0)
    return true;
  if (!tide_stats_first(claim->ds, text_of(claim), text_size(claim), claim->watermark.since, &oldest, err))
    return false;
  const int64_t now = tide_dataset_now_ms(claim->ds);
  return now >= oldest.ingested_at && now - oldest.ingested_at < sink->max_delay_ms;
}

static void count_rows(struct claim *claim, int64_t above, int64_t upto, int64_t max_rows, struct tide_err *err) {
  struct tide_stat stat;
  claim->range = (struct tide_range){.until = upto};
  if (!tide_stats_one(claim->ds, text_of(claim), text_size(claim), &stat, err))
    return;
  tide_stats_range(claim->ds, &stat, above, upto, max_rows, &claim->range, err);
  claim->gone = stat.deleted + stat.pruned;
  claim->counted = true;
}

/* Counts the chosen rows again, unless none of the partition has gone since they were: none can come among them. */
static void count_chosen(struct claim *claim, struct tide_err *err) {
  struct tide_stat stat;
  if (claim->counted && tide_stats_one(claim->ds, text_of(claim), text_size(claim), &stat, err) &&
      stat.deleted + stat.pruned == claim->gone)
    return;
  count_rows(claim, claim->watermark.since, claim->range.until, INT64_MAX, err);
}

static bool forwards(const struct claim *claim) {
  return claim->config != NULL && claim->config->scheme != NULL && claim->config->scheme->forwards;
}

static int64_t max_rows_of(const struct claim *claim) {
  const int64_t given = claim->sink->max_rows;
  const int64_t most = given > 0 ? given : forwards(claim) ? CLAIM_FORWARD_MAX_ROWS : CLAIM_MAX_ROWS;
  return claim->reach.most_rows > 0 && claim->reach.most_rows < most ? claim->reach.most_rows : most;
}

/* How far max_rows lets the batch go, in one snapshot. */
static enum tide_claim_outcome choose_rows(struct claim *claim, struct tide_err *err) {
  const struct tide_sink *sink = claim->sink;
  enum tide_claim_outcome outcome = TIDE_CLAIM_NOTHING;
  sqlite3_stmt *snapshot = tide_read_begin(claim->ds->conn->db, claim->runner->schema, err);
  read_partition(claim, claim->reach.partition, err);
  if (!tide_err_is_set(err))
    read_watermark(claim, err);
  if (!tide_err_is_set(err) && claim->watermark.since < claim->reach.newest) {
    count_rows(claim, claim->watermark.since, claim->reach.newest, max_rows_of(claim), err);
    if (!tide_err_is_set(err) && claim->range.rows > 0)
      outcome = waits_for_company(claim, err) ? TIDE_CLAIM_WAITS : TIDE_CLAIM_MADE;
  }
  if (outcome == TIDE_CLAIM_MADE && !tide_err_is_set(err) &&
      tide_batch_is_open(claim->ds->conn->db, tide_dataset_names(claim->ds), sink->sink, text_of(claim), err))
    outcome = TIDE_CLAIM_WAITS;
  sqlite3_finalize(snapshot);
  return outcome;
}

/* No format makes more bytes than that of a row beside its raw ones: the names of columns, and what comes from the
 * partition's text. */
static size_t row_bytes_max(const struct claim *claim) {
  const struct tide_spec *spec = claim->ds->spec;
  size_t most = 0;
  for (size_t i = 0; i < claim->config->ncolumns; i++) {
    const int column = claim->config->columns[i];
    const bool of_partition =
        column == TIDE_ENCODER_PARTITION || (column >= 0 && spec->columns[column].partition_at >= 0);
    most += CLAIM_ENCODED_VALUE_MAX + CLAIM_ENCODED_MAX * (strlen(tide_encoder_column_name(spec, column)) +
                                                           (of_partition ? text_size(claim) : 0));
  }
  return most;
}

/* How far max_bytes lets it go. Rows are encoded to see, unless they cannot come to so much. */
static void choose_bytes(struct claim *claim, struct tide_err *err) {
  const int64_t given = claim->sink->max_bytes;
  const int64_t max_bytes = given > 0 ? given : forwards(claim) ? CLAIM_FORWARD_MAX_BYTES : CLAIM_MAX_BYTES;
  const double most =
      (double)claim->range.raw_bytes * CLAIM_ENCODED_MAX + (double)claim->range.rows * (double)row_bytes_max(claim);
  if (claim->config->format == NULL || most <= (double)max_bytes)
    return;
  const int64_t until = tide_ship_measure(claim->ds, claim->config, text_of(claim), claim->watermark.since,
                                          claim->range.until, max_bytes, err);
  claim->counted = claim->counted && until == claim->range.until;
  claim->range.until = until;
}

/* ---- under which name and configuration ---- */

static char *take_text(struct tide_buf *buf, struct tide_err *err) {
  tide_buf_put_u8(buf, 0, err);
  if (tide_err_is_set(err))
    tide_buf_clear(buf);
  return (char *)buf->data;
}

void tide_claim_put_key_head(const struct tide_sink *sink, const char *log_id, struct tide_buf *key,
                             struct tide_err *err) {
  tide_buf_printf(key, err, "%s/", log_id);
  tide_partition_encode_name(sink->sink, strlen(sink->sink), key, err);
  tide_buf_put_u8(key, '/', err);
  tide_partition_encode_name(sink->prefix, strlen(sink->prefix), key, err);
}

/* <log id>/<sink>/<dataset>/<partition>/<generation>/<since>-<until>: names the same rows to whoever gets them
 * twice. */
static char *make_key(const struct claim *claim, struct tide_err *err) {
  struct tide_buf key = {0};
  tide_claim_put_key_head(claim->sink, claim->log_id, &key, err);
  tide_buf_printf(&key, err, "/%s%s%lld/%lld-%lld", text_of(claim), text_size(claim) > 0 ? "/" : "",
                  (long long)claim->watermark.generation, (long long)claim->watermark.since,
                  (long long)claim->range.until);
  return take_text(&key, err);
}

static char *make_object(const struct claim *claim, struct tide_err *err) {
  struct tide_buf name = {0};
  tide_partition_encode_name(claim->sink->prefix, strlen(claim->sink->prefix), &name, err);
  if (claim->watermark.generation > 0)
    tide_buf_printf(&name, err, ".g%lld", (long long)claim->watermark.generation);
  tide_buf_printf(&name, err, "/%s%s%020lld-%020lld.%s.%s", text_of(claim), text_size(claim) > 0 ? "/" : "",
                  (long long)claim->watermark.since, (long long)claim->range.until, claim->log_id,
                  claim->config->format->extension);
  return take_text(&name, err);
}

/* The columns by name, so that one added later is not in this batch. */
static char *freeze_columns(const struct claim *claim, struct tide_err *err) {
  struct tide_buf list = {0};
  bool altered = false;
  for (size_t i = 0; i < claim->config->ncolumns; i++) {
    const char *name = tide_encoder_column_name(claim->ds->spec, claim->config->columns[i]);
    tide_buf_put_u8(&list, i == 0 ? '[' : ',', err);
    tide_json_put_string(&list, name, strlen(name), &altered, err);
  }
  tide_buf_put_u8(&list, ']', err);
  return take_text(&list, err);
}

/* The sink's own, and the level, whose default may be another one day. */
static char *freeze_options(const struct claim *claim, struct tide_err *err) {
  const char *options = claim->sink->options;
  if (claim->config->format == NULL || !claim->config->format->compressed || tide_err_is_set(err))
    return options != NULL ? tide_copy_string(options, err) : NULL;
  return tide_frozen_options(claim->ds->conn->db, options, "zstd_level", claim->config->zstd_level, err);
}

static char *freeze(const struct claim *claim, struct tide_err *err) {
  struct tide_frozen frozen = {.target = claim->sink->target,
                               .format = claim->sink->format,
                               .filter = claim->sink->filter,
                               .dataset = claim->sink->prefix,
                               .log_id = claim->log_id,
                               .schema_version = (int64_t)claim->ds->spec->ncolumns,
                               .layout = claim->config->format != NULL ? claim->config->format->layout : 0};
  frozen.columns = freeze_columns(claim, err);
  frozen.options = freeze_options(claim, err);
  char *config = tide_err_is_set(err) ? NULL : tide_frozen_write(claim->ds->conn->db, claim->ds->pool, &frozen, err);
  tide_free(frozen.columns);
  tide_free(frozen.options);
  return config;
}

/* ---- committed ---- */

/* An older Tidemark, which knows the first layout alone, must not ship the batch in that. */
static void guard_layout(struct claim *claim, struct tide_err *err) {
  struct tide_dataset *ds = claim->ds;
  if (claim->config->format != NULL && claim->config->format->layout > 1 && ds->config.format < TIDE_CATALOG_FORMAT)
    tide_catalog_raise_format(ds->conn->db, tide_dataset_names(ds), err);
}

/* Inserts the batch unless another process was faster: then the watermark has moved, or the partition has an open
 * batch. */
static bool insert(struct claim *claim, struct tide_batch_row *row, struct tide_err *err) {
  sqlite3 *db = claim->ds->conn->db;
  const struct tide_watermark seen = claim->watermark;
  read_watermark(claim, err);
  if (tide_err_is_set(err) || !tide_sink_has_state(db, tide_dataset_names(claim->ds), row->sink, "active", err) ||
      claim->watermark.since != seen.since || claim->watermark.generation != seen.generation ||
      tide_batch_is_open(db, tide_dataset_names(claim->ds), row->sink, row->partition, err))
    return false;
  count_chosen(claim, err); /* from now on none can be deleted */
  row->rows = claim->range.rows;
  if (row->rows == 0)
    return false;
  guard_layout(claim, err);
  tide_batch_insert(db, tide_dataset_names(claim->ds), row, tide_dataset_now_ms(claim->ds), err);
  const struct tide_sink_place place = {claim->runner->schema, row->sink, row->dataset, claim->config->place};
  if (place.place != NULL && !claim->runner->told && !tide_err_is_set(err))
    tide_sink_count_next(db, &place, err);
  return !tide_err_is_set(err);
}

static bool commit(struct claim *claim, struct tide_batch_row *ret_row, struct tide_err *err) {
  struct tide_durable durable;
  struct tide_batch_row row = {.generation = claim->watermark.generation,
                               .since = claim->watermark.since,
                               .until = claim->range.until,
                               .lease_until = tide_dataset_now_ms(claim->ds) + TIDE_BATCH_LEASE_MS};
  row.sink = tide_copy_string(claim->sink->sink, err);
  row.dataset = tide_copy_string(claim->sink->dataset, err);
  row.partition = tide_copy_string(text_of(claim), err);
  row.owner = tide_copy_string(claim->runner->owner, err);
  row.key = make_key(claim, err);
  row.object = claim->config->format == NULL ? NULL : forwards(claim) ? make_key(claim, err) : make_object(claim, err);
  row.config = freeze(claim, err);
  bool made = false;
  if (!tide_err_is_set(err)) {
    tide_durable_begin(claim->ds->conn->db, claim->runner->schema, &durable, err);
    made = !tide_err_is_set(err) && insert(claim, &row, err);
    tide_durable_end(&durable, err);
  }
  if (made && !tide_err_is_set(err))
    *ret_row = row;
  else
    tide_batch_row_clear(&row);
  return made && !tide_err_is_set(err);
}

static void read_log_id(struct claim *claim, struct tide_err *err) {
  claim->log_id = tide_sink_log_id(claim->ds->conn->db, tide_dataset_names(claim->ds), claim->sink->sink,
                                   claim->ds->config.log_id, err);
}

static void clear(struct claim *claim) {
  tide_buf_clear(&claim->partition);
  tide_free(claim->log_id);
}

enum tide_claim_outcome tide_claim_next(struct tide_runner *runner, const struct tide_sink *sink,
                                        const struct tide_sink_config *config, struct tide_dataset *ds,
                                        const struct tide_claim_reach *reach, struct tide_batch_row *ret_row,
                                        struct tide_err *err) {
  struct claim claim = {.runner = runner, .sink = sink, .ds = ds, .reach = *reach, .config = config};
  enum tide_claim_outcome outcome = choose_rows(&claim, err);
  if (outcome == TIDE_CLAIM_MADE && !tide_err_is_set(err))
    read_log_id(&claim, err);
  if (outcome == TIDE_CLAIM_MADE && !tide_err_is_set(err))
    choose_bytes(&claim, err);
  if (outcome == TIDE_CLAIM_MADE && !tide_err_is_set(err) && !commit(&claim, ret_row, err))
    outcome = TIDE_CLAIM_WAITS;
  clear(&claim);
  return outcome;
}

void tide_claim_view_clear(struct tide_claim_view *view) {
  tide_free(view->partition);
  tide_free(view->object);
  *view = (struct tide_claim_view){0};
}

/* rows of a batch that max_bytes cut are counted again. */
static void fill_view(struct claim *claim, enum tide_claim_outcome outcome, struct tide_claim_view *view,
                      struct tide_err *err) {
  if (outcome == TIDE_CLAIM_MADE && claim->config->format != NULL) {
    read_log_id(claim, err);
    if (!tide_err_is_set(err))
      choose_bytes(claim, err);
    count_chosen(claim, err);
    view->object = tide_err_is_set(err) ? NULL : forwards(claim) ? make_key(claim, err) : make_object(claim, err);
  }
  view->since = claim->watermark.since;
  view->until = claim->range.until;
  view->rows = claim->range.rows;
  if (!tide_err_is_set(err))
    view->partition = tide_copy_string(text_of(claim), err);
}

enum tide_claim_outcome tide_claim_look(struct tide_runner *runner, const struct tide_sink *sink,
                                        const struct tide_sink_config *config, struct tide_dataset *ds,
                                        const struct tide_claim_reach *reach, struct tide_claim_view *ret_view,
                                        struct tide_err *err) {
  struct claim claim = {.runner = runner, .sink = sink, .ds = ds, .reach = *reach, .config = config};
  const enum tide_claim_outcome outcome = choose_rows(&claim, err);
  if (ret_view != NULL) {
    *ret_view = (struct tide_claim_view){0};
    if (outcome != TIDE_CLAIM_NOTHING && !tide_err_is_set(err))
      fill_view(&claim, outcome, ret_view, err);
  }
  clear(&claim);
  return outcome;
}

/* ---- a part of a batch ---- */

/* <...>/<since>-<until> with another until. */
static char *split_key(const struct tide_batch_row *row, int64_t until, struct tide_err *err) {
  const char *dash = strrchr(row->key, '-');
  return dash != NULL ? tide_printf(err, "%.*s-%lld", (int)(dash - row->key), row->key, (long long)until) : NULL;
}

static bool replace(struct tide_runner *runner, struct tide_dataset *ds, struct tide_batch_row *row,
                    const struct tide_batch_row *old, struct tide_err *err) {
  struct tide_durable durable;
  sqlite3 *db = runner->conn->db;
  bool made = false;
  tide_durable_begin(db, runner->schema, &durable, err);
  if (!tide_err_is_set(err) && tide_batch_give_up(db, runner->schema, old->batch, err)) {
    tide_batch_insert(db, tide_dataset_names(ds), row, tide_dataset_now_ms(ds), err);
    made = true;
  }
  tide_durable_end(&durable, err);
  return made && !tide_err_is_set(err);
}

bool tide_claim_split(struct tide_runner *runner, struct tide_dataset *ds, struct tide_batch_row *row, int64_t max_rows,
                      struct tide_err *err) {
  struct tide_stat stat;
  struct tide_range range = {0};
  struct tide_batch_row part = *row;
  sqlite3_stmt *snapshot = tide_read_begin(runner->conn->db, runner->schema, err);
  if (tide_stats_one(ds, row->partition, strlen(row->partition), &stat, err))
    tide_stats_range(ds, &stat, row->since, row->until, max_rows, &range, err);
  sqlite3_finalize(snapshot);
  part.until = range.until;
  part.rows = range.rows;
  part.attempts = part.not_before = 0;
  part.lease_until = tide_dataset_now_ms(ds) + TIDE_BATCH_LEASE_MS;
  part.owner = tide_copy_string(runner->owner, err);
  part.key = tide_err_is_set(err) ? NULL : split_key(row, part.until, err);
  part.object = part.key != NULL ? tide_copy_string(part.key, err) : NULL;
  const bool replaced = part.object != NULL && replace(runner, ds, &part, row, err);
  tide_free(replaced ? row->key : part.key);
  tide_free(replaced ? row->object : part.object);
  tide_free(replaced ? row->owner : part.owner);
  if (replaced)
    *row = part;
  return replaced;
}
