#include "sink/delta_table.h"

#include <string.h>

#include "base/sqlite.h"
#include "sink/json.h"

void tide_delta_table_init(struct tide_delta_table *table) {
  *table = (struct tide_delta_table){.version = -1, .kept_version = -1};
}

void tide_delta_table_clear(struct tide_delta_table *table) {
  tide_delta_txns_clear(&table->txns);
  tide_buf_clear(&table->protocol);
  tide_buf_clear(&table->meta);
  tide_buf_clear(&table->adds);
  tide_delta_table_init(table);
}

/* ---- actions ---- */

static void take_whole(struct tide_buf *into, struct tide_json_slice object, struct tide_err *err) {
  tide_buf_reset(into);
  tide_buf_put(into, object.at, object.size, err);
}

static void take_txn(struct tide_delta_table *table, struct tide_json_slice object, struct tide_err *err) {
  struct tide_buf app = {0};
  int64_t version = 0;
  int64_t updated = -1;
  tide_json_put_unescaped(&app, tide_json_member(object, "appId"), err);
  if (app.len == 0 || memchr(app.data, '\0', app.len) != NULL ||
      !tide_json_integer(tide_json_member(object, "version"), &version))
    tide_err_set(err, SQLITE_CORRUPT, "a txn of the Delta table has no appId and version");
  tide_json_integer(tide_json_member(object, "lastUpdated"), &updated);
  if (!tide_err_is_set(err))
    tide_delta_txns_put(&table->txns, (const char *)app.data, app.len, version, updated, err);
  tide_buf_clear(&app);
}

/* Whether a protocol says more than the two numbers of ours. */
static bool has_features(struct tide_json_slice protocol) {
  return tide_json_member(protocol, "readerFeatures").size > 0 || tide_json_member(protocol, "writerFeatures").size > 0;
}

/* Whether a file has nothing but what a checkpoint of ours carries on. */
static bool is_plain_file(struct tide_json_slice object) {
  static const char *const known[] = {"path", "partitionValues", "size", "modificationTime", "dataChange", "stats"};
  struct tide_json_walk walk = tide_json_walk_into(object);
  struct tide_json_slice name, value;
  while (tide_json_walk_next(&walk, &name, &value)) {
    bool found = tide_json_slice_is(value, "null");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
      found = found || tide_json_slice_is(name, known[i]);
    if (!found)
      return false;
  }
  return true;
}

static void share(struct tide_delta_table *table) {
  table->shared = true;
  table->nadds = 0;
  tide_buf_clear(&table->adds);
}

static void take_add(struct tide_delta_table *table, struct tide_json_slice object, struct tide_err *err) {
  if (!is_plain_file(object) || !tide_json_slice_is(tide_json_member(object, "dataChange"), "true"))
    share(table);
  if (table->shared)
    return;
  tide_buf_put(&table->adds, object.at, object.size, err);
  tide_buf_put_u8(&table->adds, '\n', err);
  table->nadds++;
}

static void take(struct tide_delta_table *table, struct tide_json_slice name, struct tide_json_slice object,
                 struct tide_err *err) {
  if (tide_json_slice_is(name, "protocol") && has_features(object))
    share(table);
  if (tide_json_slice_is(name, "add"))
    take_add(table, object, err);
  else if (tide_json_slice_is(name, "txn"))
    take_txn(table, object, err);
  else if (tide_json_slice_is(name, "metaData"))
    take_whole(&table->meta, object, err);
  else if (tide_json_slice_is(name, "protocol"))
    take_whole(&table->protocol, object, err);
  else if (!tide_json_slice_is(name, "commitInfo"))
    share(table);
}

void tide_delta_table_apply(struct tide_delta_table *table, const void *line, size_t size, struct tide_err *err) {
  struct tide_buf compact = {0};
  struct tide_json_slice name, object;
  const bool strict = tide_json_put_strict(&compact, line, size, err) && compact.data[0] == '{';
  struct tide_json_walk walk = {0};
  if (strict)
    walk = tide_json_walk_into(tide_delta_slice(&compact));
  else
    tide_err_set(err, SQLITE_CORRUPT, "a line of the Delta table's log is no JSON object");
  while (!tide_err_is_set(err) && tide_json_walk_next(&walk, &name, &object)) {
    if (!tide_json_slice_is(object, "null"))
      take(table, name, object, err);
  }
  tide_buf_clear(&compact);
}

bool tide_delta_table_find(const struct tide_delta_table *table, const char *app, int64_t *ret_version) {
  const struct tide_delta_txn *txn = tide_delta_txns_find(&table->txns, app, strlen(app));
  if (txn != NULL)
    *ret_version = txn->version;
  return txn != NULL;
}
