#include "sink/delta_save.h"

#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "codec/zframe.h"
#include "sink/delta_checkpoint.h"
#include "sink/delta_kept.h"
#include "sink/delta_log.h"

enum { STEP_MIN = 10, STEP_MAX = 100, FILES_A_STEP = 100, ZSTD_LEVEL = 3, PIECE = 65536 };

/* ---- when ---- */

static bool is_due(const struct tide_delta_table *table) {
  const int64_t files = (table->kept_adds + table->nadds) / FILES_A_STEP;
  const int64_t step = table->shared ? 1 : files < STEP_MIN ? STEP_MIN : files > STEP_MAX ? STEP_MAX : files;
  return table->version - table->kept_version >= step;
}

/* ---- what ---- */

/* A checkpoint and a kept copy on their way, both of one version. */
struct saving {
  struct tide_delta_checkpoint *checkpoint; /* NULL: the table is shared */
  struct tide_buf parquet;
  int64_t rows;
  struct tide_zstream *stream;
  struct tide_buf plain; /* lines on their way to the compressor */
  struct tide_buf kept;
};

static void saving_clear(struct saving *saving) {
  tide_delta_checkpoint_destroy(saving->checkpoint);
  tide_zstream_destroy(saving->stream);
  tide_buf_clear(&saving->parquet);
  tide_buf_clear(&saving->plain);
  tide_buf_clear(&saving->kept);
  *saving = (struct saving){0};
}

static void compress(struct saving *saving, size_t at_least, struct tide_err *err) {
  if (saving->plain.len < at_least || tide_err_is_set(err))
    return;
  tide_zstream_write(saving->stream, saving->plain.data, saving->plain.len, &saving->kept, err);
  tide_buf_reset(&saving->plain);
}

static void put_add(void *context, struct tide_json_slice add, struct tide_err *err) {
  struct saving *saving = context;
  tide_delta_checkpoint_put_add(saving->checkpoint, add, &saving->parquet, err);
  tide_delta_kept_put_add(&saving->plain, add, err);
  compress(saving, PIECE, err);
}

/* The files that were added since the kept copy. */
static void put_new_adds(struct saving *saving, const struct tide_delta_table *table, struct tide_err *err) {
  const char *at = (const char *)table->adds.data;
  const char *end = at + table->adds.len;
  while (at < end && !tide_err_is_set(err)) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    put_add(saving, (struct tide_json_slice){at, (size_t)(newline - at)}, err);
    at = newline + 1;
  }
}

/* false, without an error, when another has replaced the kept copy that the table began with. */
static bool fill(struct saving *saving, struct tide_target *target, const char *folder,
                 const struct tide_delta_table *table, struct tide_err *err) {
  bool same = true;
  saving->stream = tide_zstream_create(ZSTD_LEVEL, err);
  if (!table->shared && !tide_err_is_set(err))
    saving->checkpoint = tide_delta_checkpoint_create(err);
  tide_delta_kept_put_head(&saving->plain, table, err);
  if (saving->checkpoint != NULL && !tide_err_is_set(err)) {
    tide_delta_checkpoint_put_head(saving->checkpoint, table, &saving->parquet, err);
    if (table->kept_version >= 0)
      same = tide_delta_kept_each(target, folder, table->kept_version, put_add, saving, err);
    put_new_adds(saving, table, err);
    if (!tide_err_is_set(err))
      saving->rows = tide_delta_checkpoint_finish(saving->checkpoint, &saving->parquet, err);
  }
  compress(saving, 0, err);
  if (!tide_err_is_set(err))
    tide_zstream_finish(saving->stream, &saving->kept, err);
  return same;
}

/* ---- where ---- */

static void replace(struct tide_target *target, const struct tide_object *object, const char *name,
                    const struct tide_buf *bytes, struct tide_err *err) {
  struct tide_object put = *object;
  put.name = name;
  if (!tide_err_is_set(err))
    target->methods->replace(target, &put, bytes->data, bytes->len, err);
}

static void put_checkpoint(const struct saving *saving, struct tide_target *target, const struct tide_object *object,
                           const char *folder, const struct tide_delta_table *table, struct tide_err *err) {
  struct tide_buf pointer = {0};
  char *name = tide_delta_log_name(folder, table->version, ".checkpoint.parquet", err);
  char *last = tide_printf(err, "%s/_last_checkpoint", folder);
  if (!tide_err_is_set(err))
    tide_delta_log_put(target, object, name, false, &saving->parquet, err);
  tide_buf_printf(&pointer, err, "{\"version\":%lld,\"size\":%lld,\"sizeInBytes\":%lld,\"numOfAddFiles\":%lld}",
                  (long long)table->version, (long long)saving->rows, (long long)saving->parquet.len,
                  (long long)(table->kept_adds + table->nadds));
  replace(target, object, last, &pointer, err);
  tide_free(name);
  tide_free(last);
  tide_buf_clear(&pointer);
}

/* The kept copy is the table's present state, and has its files. */
static void take_saved(struct tide_delta_table *table) {
  table->kept_adds = table->shared ? 0 : table->kept_adds + table->nadds;
  table->kept_version = table->version;
  table->nadds = 0;
  tide_buf_clear(&table->adds);
}

static void save(struct tide_target *target, const struct tide_object *object, const char *folder,
                 struct tide_delta_table *table, struct tide_err *err) {
  struct saving saving = {0};
  const bool same = fill(&saving, target, folder, table, err);
  char *name = tide_delta_kept_name(folder, err);
  if (same && saving.checkpoint != NULL && !tide_err_is_set(err))
    put_checkpoint(&saving, target, object, folder, table, err);
  if (same)
    replace(target, object, name, &saving.kept, err);
  if (!same)
    tide_delta_table_clear(table);
  else if (!tide_err_is_set(err))
    take_saved(table);
  tide_free(name);
  saving_clear(&saving);
}

int tide_delta_save(struct tide_target *target, const struct tide_object *object, const char *folder,
                    struct tide_delta_table *table, struct tide_err *err) {
  struct tide_err damage = {0};
  if (!is_due(table))
    return 0;
  save(target, object, folder, table, &damage);
  if ((damage.rc & 0xff) == SQLITE_CORRUPT && table->kept_version >= 0) {
    /* The list of files in the kept copy is damaged: the log has it all. */
    tide_delta_table_clear(table);
    if (tide_delta_log_read(target, folder, table, err) == 0)
      save(target, object, folder, table, err);
    return err->rc;
  }
  if (tide_err_is_set(&damage))
    tide_err_set(err, damage.rc, "%s", damage.msg);
  return err->rc;
}
