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
  int64_t known;   /* the version that is known already, -1: none */
  bool has_known;  /* it is in the log */
  int64_t lowest;  /* of the versions above it; -1: there is none */
  int64_t highest; /* likewise */
  int64_t count;   /* of those */
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
  if (version == listing->known)
    listing->has_known = true;
  if (version <= listing->known || version < 0)
    return true;
  if (listing->lowest < 0 || version < listing->lowest)
    listing->lowest = version;
  if (version > listing->highest)
    listing->highest = version;
  listing->count++;
  return true;
}

static void list_commits(struct tide_target *target, const char *folder, int64_t known, struct listing *ret_listing,
                         struct tide_err *err) {
  struct listing listing = {.known = known, .has_known = known < 0, .lowest = -1, .highest = -1};
  char *after = known > 0 ? tide_delta_log_name(folder, known - 1, commit_suffix, err) : NULL;
  if (!tide_err_is_set(err))
    target->methods->list(target, folder, after, see, &listing, err);
  tide_free(after);
  *ret_listing = listing;
}

static void check_listing(const struct listing *listing, const char *folder, struct tide_err *err) {
  if (listing->has_known && (listing->count == 0 || listing->lowest == listing->known + 1) &&
      listing->count == listing->highest - listing->lowest + (listing->count > 0))
    return;
  tide_err_set(err, SQLITE_CORRUPT,
               "%s is without versions between %lld and %lld: somebody else has cleaned up the Delta table's log, give "
               "the sink another folder",
               folder, (long long)listing->known + 1, (long long)listing->highest);
}

/* ---- commits ---- */

static long read_target(void *context, void *into, size_t size, struct tide_err *err) {
  struct tide_target *target = context;
  return target->methods->read(target, into, size, err);
}

static void read_commit(struct tide_target *target, const char *name, struct tide_delta_table *table,
                        struct tide_err *err) {
  struct tide_delta_lines lines = {.read = read_target, .context = target};
  struct tide_json_slice line;
  if (target->methods->open_read(target, name, err) != 0)
    return;
  while (tide_delta_lines_next(&lines, &line, err))
    tide_delta_table_apply(table, line.at, line.size, err);
  target->methods->close_read(target);
  tide_delta_lines_clear(&lines);
  tide_err_prefix(err, "%s", name);
}

int tide_delta_log_read(struct tide_target *target, const char *folder, struct tide_delta_table *table,
                        struct tide_err *err) {
  struct listing listing;
  list_commits(target, folder, table->version, &listing, err);
  if (!tide_err_is_set(err) && !listing.has_known && table->version == table->kept_version) {
    tide_delta_table_clear(table);
    list_commits(target, folder, table->version, &listing, err);
  }
  if (!tide_err_is_set(err))
    check_listing(&listing, folder, err);
  while (!tide_err_is_set(err) && table->version < listing.highest) {
    char *name = tide_delta_log_name(folder, table->version + 1, commit_suffix, err);
    if (name != NULL)
      read_commit(target, name, table, err);
    tide_free(name);
    table->version++;
  }
  if (!tide_err_is_set(err) && table->version >= 0 && (table->protocol.len == 0 || table->meta.len == 0))
    tide_err_set(err, SQLITE_CORRUPT, "%s has no protocol and metaData: it is no log of a Delta table", folder);
  return err->rc;
}

bool tide_delta_log_put(struct tide_target *target, const struct tide_object *object, const char *name,
                        const struct tide_buf *bytes, struct tide_err *err) {
  struct tide_object put = *object;
  struct tide_answer answer = {0};
  put.name = name;
  if (target->methods->begin(target, &put, err) != 0 ||
      target->methods->write(target, bytes->data, bytes->len, err) != 0)
    return false;
  target->methods->commit(target, &answer, err);
  const bool taken = answer.verdict == TIDE_VERDICT_TAKEN && !tide_err_is_set(err);
  tide_answer_clear(&answer);
  return taken;
}
