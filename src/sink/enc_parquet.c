/* Parquet: one file, its columns as parquet_file.h lays them out, in the order of the sink's columns.
 *
 *   INTEGER, since         INT64
 *   REAL                   DOUBLE
 *   BOOLEAN                BOOLEAN
 *   TEXT, partition        String; each maximal subpart of ill-formed UTF-8 becomes U+FFFD: counted
 *   JSON                   JSON, as it is stored when it is strict (json.h); otherwise as a JSON string: counted.
 *                          (ClickHouse reads a column with anything but objects under
 *                          input_format_parquet_enable_json_parsing = 0 alone.)
 *   BLOB                   BYTE_ARRAY
 *   TIMESTAMP_MS, _US, _NS and ingested_at
 *                          TIMESTAMP of that unit, UTC
 *   TIMESTAMP_S            TIMESTAMP of milliseconds, UTC, for there are no seconds; one that has no room there (about
 *                          292 million years away) becomes NULL, as no other time would be true: counted
 *   TIMESTAMP_* in a table TIMESTAMP of microseconds, UTC, with that rule; but TIMESTAMP_NS is INT64
 *   ANY                    String, a JSON text: a number, a string, or base64 as a string, as enc_ndjson.c writes it,
 *                          counted likewise; it is not called JSON, for ClickHouse takes nothing but objects for that
 *
 * Columns are OPTIONAL, but REQUIRED when NOT NULL, and since, partition and ingested_at, unless a timestamp may have
 * no room. Partition columns are in the file too. "Counted" rows are in encoder->altered.
 *
 * encoded counts 8 bytes a number or timestamp, 1 a boolean or NULL, 4 and its own for a byte string. */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/encoder.h"
#include "sink/parquet_column.h"
#include "sink/parquet_hash.h"
#include "sink/parquet_stats.h"
#include "sink/text.h"

_Static_assert((int)TIDE_ENCODER_HASH_SIZE == (int)TIDE_HASH_DIGITS_SIZE, "the hash as text");

/* Rows are taken in blocks, which end by what their rows hold and not where a call ends; only there may a page end. */
enum { BLOCK_BYTES = 1 << 19, NUMBER_SIZE = 8, METADATA_MAX = 6 };

struct parquet {
  struct tide_encoder base;
  struct tide_parquet_file *file;
  struct tide_parquet_node *nodes; /* the root, then a node a column */
  struct tide_parquet_column *columns;
  size_t ncolumns;
  struct tide_buf constants;
  struct tide_buf scratch;
  struct tide_buf bytes;          /* that are measured */
  struct tide_buf names;          /* of columns, well-formed, each with a NUL behind it */
  struct tide_buf metadata_texts; /* likewise */
  struct tide_parquet_key_value metadata[METADATA_MAX];
  size_t nmetadata;
  size_t block_rows; /* of the block that is not full yet */
  uint64_t block_bytes;
  struct tide_parquet_block block;
};

/* ---- rows ---- */

static void clear_block(struct tide_parquet_block *block) {
  memset(block->encoded, 0, block->rows * sizeof *block->encoded);
  memset(block->altered, 0, block->rows * sizeof *block->altered);
}

static void weigh(const struct parquet *parquet, struct tide_parquet_block *block) {
  for (size_t i = 0; i < block->rows; i++)
    block->weight[i] = parquet->ncolumns * NUMBER_SIZE;
  for (size_t at = 0; at < parquet->ncolumns; at++) {
    const struct tide_parquet_column *column = &parquet->columns[at];
    if (column->constant || column->source < 0 || !tide_parquet_column_is_bytes(column->type))
      continue;
    const struct tide_vec *vec = &block->batch->columns[column->source];
    for (size_t i = 0; i < block->rows && vec->tag != NULL; i++)
      block->weight[i] += vec->tag[block->row[i]] >= TIDE_VAL_TEXT ? vec->size[block->row[i]] : 0;
  }
}

/* Takes kept rows from `first` on, as many as the block has room for, and gives the row behind them. */
static size_t take_rows(struct parquet *parquet, const struct tide_batch *batch, size_t first, size_t end,
                        const uint8_t *keep) {
  struct tide_parquet_block *block = &parquet->block;
  block->batch = batch;
  block->rows = 0;
  for (; first < end && parquet->block_rows + block->rows < TIDE_PARQUET_BLOCK_ROWS; first++) {
    if (keep == NULL || keep[first] != 0)
      block->row[block->rows++] = (uint32_t)first;
  }
  weigh(parquet, block);
  for (size_t i = 0; i < block->rows; i++) {
    parquet->block_bytes += block->weight[i];
    if (parquet->block_bytes >= BLOCK_BYTES && i + 1 < block->rows) {
      first = block->row[i] + 1;
      block->rows = i + 1;
    }
  }
  clear_block(block);
  parquet->block_rows += block->rows;
  return first;
}

static void put_rows(struct parquet *parquet, struct tide_err *err) {
  struct tide_parquet_block *block = &parquet->block;
  for (size_t i = 0; i < parquet->ncolumns && !tide_err_is_set(err); i++) {
    const struct tide_parquet_column *column = &parquet->columns[i];
    tide_parquet_column_take(column, block, &column->leaf->bytes, &parquet->scratch, err);
    tide_parquet_put_flat(column->leaf, block->present, block->number, block->rows, err);
  }
  for (size_t i = 0; i < block->rows; i++) {
    parquet->base.encoded += block->encoded[i];
    parquet->base.altered += block->altered[i];
  }
}

static int parquet_rows(struct tide_encoder *encoder, const struct tide_batch *batch, size_t first, size_t count,
                        const uint8_t *keep, struct tide_buf *out, struct tide_err *err) {
  struct parquet *parquet = (struct parquet *)encoder;
  const size_t end = first + count;
  assert(first <= batch->rows && count <= batch->rows - first);
  while (first < end && !tide_err_is_set(err)) {
    first = take_rows(parquet, batch, first, end, keep);
    put_rows(parquet, err);
    if (parquet->block_rows < TIDE_PARQUET_BLOCK_ROWS && parquet->block_bytes < BLOCK_BYTES)
      continue;
    parquet->block_rows = 0;
    parquet->block_bytes = 0;
    if (!tide_err_is_set(err))
      tide_parquet_file_end_rows(parquet->file, out, err);
  }
  return err->rc;
}

/* The rows of a call make up blocks of their own: what a row counts for does not depend on them. */
static size_t parquet_measure(struct tide_encoder *encoder, const struct tide_batch *batch, size_t first, size_t count,
                              const uint8_t *keep, uint64_t most, struct tide_err *err) {
  struct parquet *parquet = (struct parquet *)encoder;
  struct tide_parquet_block *block = &parquet->block;
  const size_t end = first + count;
  block->batch = batch;
  while (first < end && !tide_err_is_set(err)) {
    block->rows = 0;
    for (; first < end && block->rows < TIDE_PARQUET_BLOCK_ROWS; first++) {
      if (keep == NULL || keep[first] != 0)
        block->row[block->rows++] = (uint32_t)first;
    }
    clear_block(block);
    for (size_t i = 0; i < parquet->ncolumns && !tide_err_is_set(err); i++) {
      tide_buf_reset(&parquet->bytes);
      tide_parquet_column_take(&parquet->columns[i], block, &parquet->bytes, &parquet->scratch, err);
    }
    for (size_t i = 0; i < block->rows && !tide_err_is_set(err); i++) {
      encoder->encoded += block->encoded[i];
      if (encoder->encoded > most)
        return block->row[i];
    }
  }
  return end;
}

static int parquet_finish(struct tide_encoder *encoder, struct tide_buf *out, char ret_hash[TIDE_ENCODER_HASH_SIZE],
                          struct tide_err *err) {
  struct parquet *parquet = (struct parquet *)encoder;
  return tide_parquet_file_finish(parquet->file, parquet->metadata, parquet->nmetadata, out, ret_hash, err);
}

/* Partition columns are the table's own business in Delta Lake, and not in its statistics. */
static int parquet_put_stats(const struct tide_encoder *encoder, struct tide_buf *out, struct tide_err *err) {
  const struct parquet *parquet = (const struct parquet *)encoder;
  struct tide_parquet_stats_column *columns = tide_alloc_zero(parquet->ncolumns, sizeof *columns, err);
  size_t ncolumns = 0;
  if (columns == NULL)
    return err->rc;
  for (size_t i = 0; i < parquet->ncolumns; i++) {
    const struct tide_parquet_column *column = &parquet->columns[i];
    const struct tide_parquet_node *node = &parquet->nodes[i + 1];
    if (!column->constant || column->source < 0)
      columns[ncolumns++] = (struct tide_parquet_stats_column){column->name, node->type, node->logical,
                                                               tide_parquet_file_totals(parquet->file, i)};
  }
  tide_parquet_put_stats(tide_parquet_file_rows(parquet->file), columns, ncolumns, out, err);
  tide_free(columns);
  return err->rc;
}

static void parquet_destroy(struct tide_encoder *encoder) {
  struct parquet *parquet = (struct parquet *)encoder;
  tide_parquet_file_destroy(parquet->file);
  tide_free(parquet->nodes);
  tide_free(parquet->columns);
  tide_buf_clear(&parquet->constants);
  tide_buf_clear(&parquet->scratch);
  tide_buf_clear(&parquet->bytes);
  tide_buf_clear(&parquet->names);
  tide_buf_clear(&parquet->metadata_texts);
  tide_free(parquet);
}

/* ---- create ---- */

static const struct {
  enum tide_parquet_type type;
  enum tide_parquet_logical logical;
} layouts[] = {[TIDE_TYPE_ANY] = {TIDE_PARQUET_BYTE_ARRAY, TIDE_PARQUET_STRING},
               [TIDE_TYPE_INTEGER] = {TIDE_PARQUET_INT64, TIDE_PARQUET_NO_LOGICAL},
               [TIDE_TYPE_REAL] = {TIDE_PARQUET_DOUBLE, TIDE_PARQUET_NO_LOGICAL},
               [TIDE_TYPE_TEXT] = {TIDE_PARQUET_BYTE_ARRAY, TIDE_PARQUET_STRING},
               [TIDE_TYPE_BLOB] = {TIDE_PARQUET_BYTE_ARRAY, TIDE_PARQUET_NO_LOGICAL},
               [TIDE_TYPE_BOOLEAN] = {TIDE_PARQUET_BOOLEAN, TIDE_PARQUET_NO_LOGICAL},
               [TIDE_TYPE_JSON] = {TIDE_PARQUET_BYTE_ARRAY, TIDE_PARQUET_JSON},
               [TIDE_TYPE_TIMESTAMP_S] = {TIDE_PARQUET_INT64, TIDE_PARQUET_TIMESTAMP_MS},
               [TIDE_TYPE_TIMESTAMP_MS] = {TIDE_PARQUET_INT64, TIDE_PARQUET_TIMESTAMP_MS},
               [TIDE_TYPE_TIMESTAMP_US] = {TIDE_PARQUET_INT64, TIDE_PARQUET_TIMESTAMP_US},
               [TIDE_TYPE_TIMESTAMP_NS] = {TIDE_PARQUET_INT64, TIDE_PARQUET_TIMESTAMP_NS}};

/* Appends a text with a NUL behind it, and gives where it begins. */
static size_t put_text(struct tide_buf *texts, const char *text, struct tide_err *err) {
  const size_t start = texts->len;
  bool altered = false;
  tide_text_put_utf8(texts, text, strlen(text), &altered, err);
  tide_buf_put_u8(texts, 0, err);
  return start;
}

static size_t put_number(struct tide_buf *texts, int64_t number, struct tide_err *err) {
  char digits[TIDE_TEXT_INT_SIZE + 1];
  digits[tide_text_int(number, digits)] = '\0';
  return put_text(texts, digits, err);
}

/* The constant as the format writes it; bytes go to parquet->constants, which has room, so that they stay. */
static void set_constant(struct parquet *parquet, struct tide_parquet_column *column, const struct tide_val *val,
                         struct tide_err *err) {
  struct tide_buf *constants = &parquet->constants;
  const size_t start = constants->len;
  column->constant = true;
  column->value = *val;
  if (val->type == TIDE_VAL_NULL)
    return;
  if (tide_parquet_column_is_bytes(column->type)) {
    tide_parquet_put_value(column->type, val, constants, &parquet->scratch, &column->constant_altered, err);
    column->value.n = constants->len - start;
    column->value.i = (int64_t)start;
  } else if (val->type == TIDE_VAL_REAL) {
    memcpy(&column->value.i, &val->r, sizeof val->r);
  } else if (!tide_parquet_column_scale(column, &column->value.i)) {
    column->constant_altered = true;
    column->value = tide_val_null();
  }
}

/* Delta knows timestamps of microseconds alone. */
static int table_scale(enum tide_type type) {
  return type == TIDE_TYPE_TIMESTAMP_S ? 1000000 : type == TIDE_TYPE_TIMESTAMP_MS ? 1000 : 1;
}

static enum tide_parquet_logical table_logical(enum tide_type type) {
  return !tide_spec_is_timestamp(type)    ? layouts[type].logical
         : type == TIDE_TYPE_TIMESTAMP_NS ? TIDE_PARQUET_NO_LOGICAL
                                          : TIDE_PARQUET_TIMESTAMP_US;
}

static void add_column(struct parquet *parquet, const struct tide_encoder_config *config, int source,
                       struct tide_err *err) {
  struct tide_parquet_column *column = &parquet->columns[parquet->ncolumns++];
  const struct tide_column *own = source >= 0 ? &config->spec->columns[source] : NULL;
  column->source = source;
  column->name = tide_encoder_column_name(config->spec, source);
  column->name_at = put_text(&parquet->names, column->name, err);
  column->type = own != NULL                          ? own->type
                 : source == TIDE_ENCODER_PARTITION   ? TIDE_TYPE_TEXT
                 : source == TIDE_ENCODER_INGESTED_AT ? TIDE_TYPE_TIMESTAMP_MS
                                                      : TIDE_TYPE_INTEGER;
  column->scale = config->table ? table_scale(column->type) : column->type == TIDE_TYPE_TIMESTAMP_S ? 1000 : 1;
  column->required = column->scale == 1 && (own == NULL || own->not_null);
  if (source == TIDE_ENCODER_PARTITION) {
    const struct tide_val text = tide_val_text(config->partition, strlen(config->partition));
    set_constant(parquet, column, &text, err);
  } else if (own != NULL && own->partition_at >= 0) {
    set_constant(parquet, column, &config->partition_values[own->partition_at], err);
  }
  parquet->nodes[parquet->ncolumns] = (struct tide_parquet_node){
      .type = layouts[column->type].type,
      .repetition = column->required ? TIDE_PARQUET_REQUIRED : TIDE_PARQUET_OPTIONAL,
      .logical = config->table ? table_logical(column->type) : layouts[column->type].logical};
}

static void add_columns(struct parquet *parquet, const struct tide_encoder_config *config, struct tide_err *err) {
  parquet->nodes[0] = (struct tide_parquet_node){.name = "schema", .children = config->ncolumns};
  for (size_t i = 0; i < config->ncolumns && !tide_err_is_set(err); i++)
    add_column(parquet, config, config->columns[i], err);
  for (size_t i = 0; i < config->ncolumns && !tide_err_is_set(err); i++)
    parquet->nodes[i + 1].name = (const char *)parquet->names.data + parquet->columns[i].name_at;
  if (!tide_err_is_set(err))
    parquet->file = tide_parquet_file_create(parquet->nodes, config->ncolumns + 1,
                                             tide_parquet_layout_find(config->layout), config->zstd_level, err);
  for (size_t i = 0; i < parquet->ncolumns && parquet->file != NULL; i++) {
    struct tide_parquet_column *column = &parquet->columns[i];
    column->leaf = tide_parquet_file_leaf(parquet->file, i);
    if (column->constant && tide_parquet_column_is_bytes(column->type) && column->value.type != TIDE_VAL_NULL)
      column->value.p = parquet->constants.data + column->value.i;
  }
}

/* What the object holds, when whoever creates the encoder says so. */
static void describe(struct parquet *parquet, const struct tide_encoder_config *config, struct tide_err *err) {
  struct tide_buf *texts = &parquet->metadata_texts;
  if (config->dataset == NULL || config->log_id == NULL)
    return;
  const struct {
    const char *key;
    size_t value_at;
  } entries[METADATA_MAX] = {{"tidemark.dataset", put_text(texts, config->dataset, err)},
                             {"tidemark.partition", put_text(texts, config->partition, err)},
                             {"tidemark.since", put_number(texts, config->since, err)},
                             {"tidemark.until", put_number(texts, config->until, err)},
                             {"tidemark.schema_version", put_number(texts, config->schema_version, err)},
                             {"tidemark.log_id", put_text(texts, config->log_id, err)}};
  for (size_t i = 0; i < METADATA_MAX && !tide_err_is_set(err); i++)
    parquet->metadata[parquet->nmetadata++] =
        (struct tide_parquet_key_value){entries[i].key, (const char *)texts->data + entries[i].value_at};
}

static struct tide_encoder *parquet_create(const struct tide_encoder_config *config, struct tide_err *err) {
  static const struct tide_encoder_methods methods = {.rows = parquet_rows,
                                                      .measure = parquet_measure,
                                                      .finish = parquet_finish,
                                                      .put_stats = parquet_put_stats,
                                                      .destroy = parquet_destroy};
  struct parquet *parquet = tide_alloc_zero(1, sizeof *parquet, err);
  if (parquet == NULL)
    return NULL;
  parquet->base.methods = &methods;
  parquet->nodes = tide_alloc_zero(config->ncolumns + 1, sizeof *parquet->nodes, err);
  parquet->columns = tide_alloc_zero(config->ncolumns, sizeof *parquet->columns, err);
  if (!tide_err_is_set(err))
    add_columns(parquet, config, err);
  if (!tide_err_is_set(err))
    describe(parquet, config, err);
  if (tide_err_is_set(err)) {
    parquet_destroy(&parquet->base);
    return NULL;
  }
  return &parquet->base;
}

const struct tide_format tide_format_parquet = {
    .name = "parquet",
    .extension = "parquet",
    .media_type = "application/vnd.apache.parquet",
    .compressed = true,
    .layout = TIDE_PARQUET_LAYOUT_NEWEST,
    .create = parquet_create,
    .hash_object = tide_parquet_hash,
};
