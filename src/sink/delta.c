#include "sink/delta.h"

#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/delta_kept.h"
#include "sink/delta_log.h"
#include "sink/delta_meta.h"
#include "sink/delta_save.h"
#include "sink/hash.h"
#include "sink/json.h"

#ifndef TIDEMARK_VERSION
#define TIDEMARK_VERSION "0.0.0"
#endif

enum { TRIES = 100 }; /* of a commit that others come before */

struct tide_delta {
  struct tide_target *target;
  char *folder;                  /* "<table>/_delta_log" of the last commit's table; NULL: there was none */
  struct tide_delta_table table; /* of version -1: it is read anew */
};

struct committing {
  struct tide_target *target;
  const struct tide_delta_add *add;
  const char *folder;             /* the handle's */
  struct tide_delta_table *table; /* likewise */
  char *app;
  struct tide_buf lines; /* of the commit */
  bool altered;
};

static void close_committing(struct committing *commit) {
  tide_buf_clear(&commit->lines);
  tide_free(commit->app);
}

/* The size of the table's name, which the object's begins with. */
static size_t table_size(const struct tide_delta_add *add) {
  return strcspn(add->object.name, "/");
}

static void open_committing(struct committing *commit, struct tide_err *err) {
  const struct tide_delta_add *add = commit->add;
  commit->app =
      tide_printf(err, "%s/%s/%s/%lld", add->object.log_id, add->sink, add->partition, (long long)add->generation);
}

/* ---- what is known between two commits ---- */

struct tide_delta *tide_delta_create(struct tide_target *target, struct tide_err *err) {
  struct tide_delta *delta = tide_alloc_zero(1, sizeof *delta, err);
  if (delta == NULL)
    return NULL;
  delta->target = target;
  tide_delta_table_init(&delta->table);
  return delta;
}

static void forget(struct tide_delta *delta) {
  tide_delta_table_clear(&delta->table);
  tide_free(delta->folder);
  delta->folder = NULL;
}

void tide_delta_destroy(struct tide_delta *delta) {
  if (delta == NULL)
    return;
  forget(delta);
  tide_free(delta);
}

/* Makes the handle one of the batch's table, which is known from the last commit or its kept copy. */
static void know(struct tide_delta *delta, const struct tide_delta_add *add, struct tide_err *err) {
  char *folder = tide_printf(err, "%.*s/_delta_log", (int)table_size(add), add->object.name);
  if (folder == NULL)
    return;
  if (delta->folder == NULL || strcmp(delta->folder, folder) != 0) {
    forget(delta);
    delta->folder = folder;
  } else {
    tide_free(folder);
  }
  if (delta->table.version < 0)
    tide_delta_kept_read(delta->target, delta->folder, &delta->table, err);
}

/* ---- the lines of a commit ---- */

/* The identity of a table that this log makes: another for each of its tables, and the same at each try. */
static void table_id(const struct tide_delta_add *add, char ret_id[TIDE_HASH_DIGITS_SIZE]) {
  struct tide_hash hash;
  tide_hash_init(&hash);
  tide_hash_update(&hash, add->object.log_id, strlen(add->object.log_id));
  tide_hash_update(&hash, add->object.name, table_size(add));
  tide_hash_digits(&hash, ret_id);
}

static void put_info(struct committing *commit, struct tide_err *err) {
  tide_buf_printf(&commit->lines, err,
                  "{\"commitInfo\":{\"timestamp\":%lld,\"operation\":\"WRITE\",\"operationParameters\":{\"mode\":"
                  "\"Append\"},\"isBlindAppend\":true,\"engineInfo\":\"Tidemark/%s\"}}\n",
                  (long long)commit->add->now_ms, TIDEMARK_VERSION);
}

/* The protocol and metaData of a new table, or the metaData of one that gets a column; *ret_meta is the commit's own or
 * the table's. */
static void put_table(struct committing *commit, struct tide_buf *meta, struct tide_err *err) {
  const struct tide_delta_add *add = commit->add;
  char id[TIDE_HASH_DIGITS_SIZE];
  if (commit->table->version < 0) {
    table_id(add, id);
    tide_buf_printf(&commit->lines, err, "{\"protocol\":%s}\n", tide_delta_protocol);
    tide_delta_meta_put_new(&add->columns, id, add->now_ms, meta, err);
  } else if (!tide_delta_meta_put_wider(tide_delta_slice(&commit->table->meta), &add->columns, meta, err)) {
    tide_buf_put(meta, commit->table->meta.data, commit->table->meta.len, err);
    return;
  }
  tide_buf_put_string(&commit->lines, "{\"metaData\":", err);
  tide_buf_put(&commit->lines, meta->data, meta->len, err);
  tide_buf_put_string(&commit->lines, "}\n", err);
}

/* The object's name below the table's, as a URI: of what a name may hold, % alone stands for something else there. */
static void put_path(struct committing *commit, struct tide_err *err) {
  for (const char *at = commit->add->object.name + table_size(commit->add) + 1; *at != '\0'; at++) {
    if (*at == '%')
      tide_buf_put_string(&commit->lines, "%25", err);
    else
      tide_buf_put_u8(&commit->lines, (uint8_t)*at, err);
  }
}

static void put_stats(struct committing *commit, struct tide_err *err) {
  bool altered = false; /* statistics are JSON */
  char *rows =
      commit->add->stats == NULL ? tide_printf(err, "{\"numRecords\":%lld}", (long long)commit->add->rows) : NULL;
  const char *stats = rows != NULL ? rows : commit->add->stats;
  if (stats != NULL)
    tide_json_put_string(&commit->lines, stats, strlen(stats), &altered, err);
  tide_free(rows);
}

static void put_add(struct committing *commit, const struct tide_buf *meta, struct tide_err *err) {
  const struct tide_delta_add *add = commit->add;
  tide_buf_put_string(&commit->lines, "{\"add\":{\"path\":\"", err);
  put_path(commit, err);
  tide_buf_put_string(&commit->lines, "\",\"partitionValues\":", err);
  tide_delta_meta_put_values(tide_delta_slice(meta), add->columns.spec, add->partition_values, &commit->lines,
                             &commit->altered, err);
  tide_buf_printf(&commit->lines, err,
                  ",\"size\":%lld,\"modificationTime\":%lld,\"dataChange\":true,\"stats\":", (long long)add->size,
                  (long long)add->now_ms);
  put_stats(commit, err);
  tide_buf_put_string(&commit->lines, "}}\n", err);
}

static void put_txn(struct committing *commit, struct tide_err *err) {
  bool altered = false; /* the same app is the same text, whatever it was */
  tide_buf_put_string(&commit->lines, "{\"txn\":{\"appId\":", err);
  tide_json_put_string(&commit->lines, commit->app, strlen(commit->app), &altered, err);
  tide_buf_printf(&commit->lines, err, ",\"version\":%lld,\"lastUpdated\":%lld}}\n", (long long)commit->add->until,
                  (long long)commit->add->now_ms);
}

static void put_lines(struct committing *commit, struct tide_err *err) {
  struct tide_buf meta = {0};
  tide_buf_reset(&commit->lines);
  put_info(commit, err);
  put_table(commit, &meta, err);
  if (!tide_err_is_set(err))
    put_add(commit, &meta, err);
  put_txn(commit, err);
  tide_buf_clear(&meta);
}

/* ---- committing ---- */

static void check_table(const struct committing *commit, struct tide_err *err) {
  if (commit->table->version < 0)
    return;
  tide_delta_protocol_check(tide_delta_slice(&commit->table->protocol), err);
  tide_delta_meta_check(tide_delta_slice(&commit->table->meta), err);
}

static bool is_committed(const struct committing *commit) {
  int64_t version = 0;
  return tide_delta_table_find(commit->table, commit->app, &version) && version >= commit->add->until;
}

/* Takes the lines of the commit that was just made. */
static void take_lines(struct committing *commit, struct tide_err *err) {
  const char *at = (const char *)commit->lines.data;
  const char *end = at + commit->lines.len;
  while (at < end && !tide_err_is_set(err)) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    tide_delta_table_apply(commit->table, at, (size_t)(newline - at), err);
    at = newline + 1;
  }
  commit->table->version++;
}

/* One try: true when the batch is committed. */
static bool try_commit(struct committing *commit, struct tide_err *err) {
  if (tide_delta_log_read(commit->target, commit->folder, commit->table, err) != 0)
    return false;
  check_table(commit, err);
  if (tide_err_is_set(err) || is_committed(commit))
    return !tide_err_is_set(err);
  put_lines(commit, err);
  char *name = tide_delta_log_name(commit->folder, commit->table->version + 1, ".json", err);
  const bool taken = !tide_err_is_set(err) &&
                     tide_delta_log_put(commit->target, &commit->add->object, name, true, &commit->lines, err);
  tide_free(name);
  if (taken)
    take_lines(commit, err);
  return taken;
}

static void commit_batch(struct committing *commit, struct tide_err *err) {
  for (int i = 0; i < TRIES && !tide_err_is_set(err); i++) {
    if (try_commit(commit, err))
      return;
  }
  tide_err_set(err, SQLITE_BUSY, "%s: others commit to the Delta table all the time: the next tick tries again",
               commit->folder);
}

int tide_delta_commit(struct tide_delta *delta, const struct tide_delta_add *add, bool *ret_altered,
                      struct tide_err *err) {
  know(delta, add, err);
  struct committing commit = {.target = delta->target, .add = add, .folder = delta->folder, .table = &delta->table};
  open_committing(&commit, err);
  if (!tide_err_is_set(err))
    commit_batch(&commit, err);
  if (!tide_err_is_set(err))
    tide_delta_save(delta->target, &add->object, delta->folder, &delta->table, err);
  if (!tide_err_is_set(err))
    *ret_altered = commit.altered;
  if ((err->rc & 0xff) == SQLITE_CONSTRAINT)
    tide_err_prefix(err, "%.*s", (int)table_size(add), add->object.name);
  close_committing(&commit);
  if (tide_err_is_set(err))
    forget(delta);
  return err->rc;
}
