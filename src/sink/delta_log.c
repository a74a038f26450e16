#include "sink/delta_log.h"

#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/delta_lines.h"

enum { VERSION_DIGITS = 20 };

static const char commit_suffix[] = ".json";

char *tide_delta_log_name(const char *folder, int64_t version, const char *suffix, struct tide_err *err) {
  return tide_printf(err, "%s/%020lld%s", folder, (long long)version, suffix);
}

/* ---- which commits there are ---- */

struct listing {
  int64_t lowest; /* of the versions; -1: there is none */
  int64_t highest;
  int64_t count;
};

/* The version that an object's name says, -1 when it is no commit's. */
static int64_t version_of(const char *name) {
  const char *last = strrchr(name, '/');
  const char *digit = last != NULL ? last + 1 : name;
  int64_t version = 0;
  for (int i = 0; i < VERSION_DIGITS; i++, digit++) {
    if (*digit < '0' || *digit > '9' || __builtin_mul_overflow(version, 10, &version) ||
        __builtin_add_overflow(version, *digit - '0', &version))
      return -1;
  }
  return strcmp(digit, commit_suffix) == 0 ? version : -1;
}

static bool see(void *context, const char *name, int64_t size, struct tide_err *err) {
  struct listing *listing = context;
  const int64_t version = version_of(name);
  (void)size, (void)err;
  if (version < 0)
    return true;
  if (listing->count == 0 || version < listing->lowest)
    listing->lowest = version;
  if (version > listing->highest)
    listing->highest = version;
  listing->count++;
  return true;
}

/* A log that is read from its start has one, and no gap. */
static void check_whole(struct tide_target *target, const char *folder, struct tide_err *err) {
  struct listing listing = {.lowest = -1, .highest = -1};
  if (target->methods->list(target, folder, NULL, see, &listing, err) != 0)
    return;
  if (listing.count > 0 && (listing.lowest > 0 || listing.count != listing.highest + 1))
    tide_err_set(err, SQLITE_CORRUPT,
                 "%s has %lld of the versions 0 to %lld: somebody else has cleaned up the Delta table's log, give the "
                 "sink another folder",
                 folder, (long long)listing.count, (long long)listing.highest);
}

static bool is_there(struct tide_target *target, const char *folder, int64_t version, struct tide_err *err) {
  struct tide_err unread = {0};
  char *name = tide_delta_log_name(folder, version, commit_suffix, err);
  if (name == NULL)
    return false;
  const bool there = target->methods->open_read(target, name, &unread) == 0;
  if (there)
    target->methods->close_read(target);
  else if (unread.rc != SQLITE_CANTOPEN)
    tide_err_set(err, unread.rc, "%s", unread.msg);
  tide_free(name);
  return there;
}

/* Makes sure that no version is missing behind the one that is known. A log loses its oldest commits first: when that
 * one is there, so are all that came after it. */
static void settle(struct tide_target *target, const char *folder, struct tide_delta_table *table,
                   struct tide_err *err) {
  if (table->version >= 0 && is_there(target, folder, table->version, err))
    return;
  tide_delta_table_clear(table);
  if (!tide_err_is_set(err))
    check_whole(target, folder, err);
}

/* ---- commits ---- */

static long read_target(void *context, void *into, size_t size, struct tide_err *err) {
  struct tide_target *target = context;
  return target->methods->read(target, into, size, err);
}

/* false: there is no such commit, or err is set. */
static bool read_commit(struct tide_target *target, const char *name, struct tide_delta_table *table,
                        struct tide_err *err) {
  struct tide_delta_lines lines = {.read = read_target, .context = target};
  struct tide_json_slice line;
  struct tide_err unread = {0};
  if (target->methods->open_read(target, name, &unread) != 0) {
    if (unread.rc != SQLITE_CANTOPEN)
      tide_err_set(err, unread.rc, "%s", unread.msg);
    return false;
  }
  while (tide_delta_lines_next(&lines, &line, err))
    tide_delta_table_apply(table, line.at, line.size, err);
  target->methods->close_read(target);
  tide_delta_lines_clear(&lines);
  tide_err_prefix(err, "%s", name);
  return !tide_err_is_set(err);
}

int tide_delta_log_read(struct tide_target *target, const char *folder, struct tide_delta_table *table,
                        struct tide_err *err) {
  bool more = true;
  settle(target, folder, table, err);
  while (more && !tide_err_is_set(err)) {
    char *name = tide_delta_log_name(folder, table->version + 1, commit_suffix, err);
    more = name != NULL && read_commit(target, name, table, err);
    table->version += more;
    tide_free(name);
  }
  if (!tide_err_is_set(err) && table->version >= 0 && (table->protocol.len == 0 || table->meta.len == 0))
    tide_err_set(err, SQLITE_CORRUPT, "%s has no protocol and metaData: it is no log of a Delta table", folder);
  return err->rc;
}

bool tide_delta_log_put(struct tide_target *target, const struct tide_object *object, const char *name, bool is_commit,
                        const struct tide_buf *bytes, struct tide_err *err) {
  struct tide_object put = *object;
  struct tide_answer answer = {0};
  put.name = name;
  put.exclusive = is_commit;
  if (target->methods->begin(target, &put, err) != 0 ||
      target->methods->write(target, bytes->data, bytes->len, err) != 0)
    return false;
  target->methods->commit(target, &answer, err);
  const bool taken = answer.verdict == TIDE_VERDICT_TAKEN && !tide_err_is_set(err);
  tide_answer_clear(&answer);
  return taken;
}
