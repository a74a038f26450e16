#include "sink/delta_kept.h"

#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "codec/zframe.h"
#include "sink/delta_lines.h"
#include "sink/json.h"

static const char add_start[] = "{\"add\":";

char *tide_delta_kept_name(const char *folder, struct tide_err *err) {
  return tide_printf(err, "%s/_tidemark", folder);
}

/* ---- reading ---- */

/* The copy as it is read. All zero is closed. */
struct kept {
  struct tide_target *target;
  bool open;
  struct tide_zreader *reader;
  struct tide_delta_lines lines;
};

static long read_target(void *context, void *into, size_t size, struct tide_err *err) {
  struct tide_target *target = context;
  return target->methods->read(target, into, size, err);
}

static long read_plain(void *context, void *into, size_t size, struct tide_err *err) {
  return tide_zreader_read(context, into, size, err);
}

static void close_kept(struct kept *kept) {
  tide_delta_lines_clear(&kept->lines);
  tide_zreader_destroy(kept->reader);
  if (kept->open)
    kept->target->methods->close_read(kept->target);
}

static void open_kept(struct kept *kept, struct tide_target *target, const char *folder, struct tide_err *err) {
  char *name = tide_delta_kept_name(folder, err);
  *kept = (struct kept){.target = target};
  if (name != NULL)
    kept->open = target->methods->open_read(target, name, err) == 0;
  if (kept->open)
    kept->reader = tide_zreader_create(read_target, target, err);
  kept->lines.read = read_plain;
  kept->lines.context = kept->reader;
  tide_free(name);
}

/* The first line. */
static void read_title(struct kept *kept, struct tide_delta_table *table, struct tide_err *err) {
  struct tide_buf compact = {0};
  struct tide_json_slice line, title = {0};
  if (tide_delta_lines_next(&kept->lines, &line, err) && tide_json_put_strict(&compact, line.at, line.size, err))
    title = tide_json_member(tide_delta_slice(&compact), "tidemark");
  if (!tide_json_integer(tide_json_member(title, "version"), &table->kept_version) ||
      !tide_json_integer(tide_json_member(title, "adds"), &table->kept_adds) || table->kept_version < 0)
    tide_err_set(err, SQLITE_CORRUPT, "no copy of a Delta table's state");
  table->shared = tide_json_slice_is(tide_json_member(title, "shared"), "true");
  table->version = table->kept_version;
  tide_buf_clear(&compact);
}

static bool is_add(struct tide_json_slice line) {
  return line.size > strlen(add_start) && memcmp(line.at, add_start, strlen(add_start)) == 0;
}

/* The lines up to the first file. */
static void read_head(struct kept *kept, struct tide_delta_table *table, struct tide_err *err) {
  struct tide_json_slice line;
  read_title(kept, table, err);
  while (!tide_err_is_set(err) && tide_delta_lines_next(&kept->lines, &line, err) && !is_add(line))
    tide_delta_table_apply(table, line.at, line.size, err);
  if (table->protocol.len == 0 || table->meta.len == 0)
    tide_err_set(err, SQLITE_CORRUPT, "no copy of a Delta table's state");
}

int tide_delta_kept_read(struct tide_target *target, const char *folder, struct tide_delta_table *table,
                         struct tide_err *err) {
  struct kept kept;
  struct tide_err unread = {0};
  open_kept(&kept, target, folder, &unread);
  if (!tide_err_is_set(&unread))
    read_head(&kept, table, &unread);
  close_kept(&kept);
  if (!tide_err_is_set(&unread))
    return 0;
  tide_delta_table_clear(table);
  if (unread.rc != SQLITE_CANTOPEN && (unread.rc & 0xff) != SQLITE_CORRUPT)
    tide_err_set(err, unread.rc, "%s", unread.msg);
  return err->rc;
}

bool tide_delta_kept_each(struct tide_target *target, const char *folder, int64_t version,
                          void (*each)(void *context, struct tide_json_slice add, struct tide_err *err), void *context,
                          struct tide_err *err) {
  struct kept kept;
  struct tide_delta_table title;
  struct tide_json_slice line;
  tide_delta_table_init(&title);
  open_kept(&kept, target, folder, err);
  if (!tide_err_is_set(err))
    read_title(&kept, &title, err);
  const bool same = !tide_err_is_set(err) && title.kept_version == version;
  struct tide_buf compact = {0};
  int64_t adds = 0;
  while (same && !tide_err_is_set(err) && tide_delta_lines_next(&kept.lines, &line, err)) {
    if (!is_add(line))
      continue;
    tide_buf_reset(&compact);
    if (!tide_json_put_strict(&compact, line.at, line.size, err))
      tide_err_set(err, SQLITE_CORRUPT, "the copy of a Delta table's state is damaged");
    else
      each(context, tide_json_member(tide_delta_slice(&compact), "add"), err);
    adds++;
  }
  tide_buf_clear(&compact);
  if (same && adds != title.kept_adds)
    tide_err_set(err, SQLITE_CORRUPT, "the copy of a Delta table's state has %lld files, expected %lld",
                 (long long)adds, (long long)title.kept_adds);
  close_kept(&kept);
  return same && !tide_err_is_set(err);
}

/* ---- writing ---- */

static void put_action(struct tide_buf *out, const char *name, const struct tide_buf *object, struct tide_err *err) {
  tide_buf_printf(out, err, "{\"%s\":", name);
  tide_buf_put(out, object->data, object->len, err);
  tide_buf_put_string(out, "}\n", err);
}

void tide_delta_kept_put_head(struct tide_buf *out, const struct tide_delta_table *table, struct tide_err *err) {
  const int64_t adds = table->shared ? 0 : table->kept_adds + table->nadds;
  bool altered = false; /* it was UTF-8 when it was read */
  tide_buf_printf(out, err, "{\"tidemark\":{\"version\":%lld,\"adds\":%lld,\"shared\":%s}}\n",
                  (long long)table->version, (long long)adds, table->shared ? "true" : "false");
  put_action(out, "protocol", &table->protocol, err);
  put_action(out, "metaData", &table->meta, err);
  for (size_t i = 0; i < table->txns.count; i++) {
    const struct tide_delta_txn *txn = &table->txns.all[i];
    tide_buf_put_string(out, "{\"txn\":{\"appId\":", err);
    tide_json_put_string(out, txn->app, strlen(txn->app), &altered, err);
    tide_buf_printf(out, err, ",\"version\":%lld", (long long)txn->version);
    if (txn->updated_ms >= 0)
      tide_buf_printf(out, err, ",\"lastUpdated\":%lld", (long long)txn->updated_ms);
    tide_buf_put_string(out, "}}\n", err);
  }
}

void tide_delta_kept_put_add(struct tide_buf *out, struct tide_json_slice add, struct tide_err *err) {
  tide_buf_put_string(out, add_start, err);
  tide_buf_put(out, add.at, add.size, err);
  tide_buf_put_string(out, "}\n", err);
}
