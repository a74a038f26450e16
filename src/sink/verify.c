#include "sink/verify.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/partition.h"
#include "sink/deliver.h"
#include "sink/json.h"
#include "sink/registry.h"
#include "store/interrupt.h"
#include "store/log_objects.h"
#include "store/name_set.h"
#include "store/sink_count.h"

enum {
  PIECE = 65536,
  BYTES_BETWEEN_LOOKS = 1 << 20, /* of an object, between two looks whether the user wants an end */
  NAMES_BETWEEN_LOOKS = 256,
  UNREADABLE_IN_A_ROW_MAX = 10, /* by then it is not the objects */
  NUMBER_DIGITS = 20
};

struct verifying {
  struct tide_progress *progress;
  struct tide_log_of log;
  const struct tide_sink *sink;
  struct tide_verified *verified;
  char *log_id; /* of the sink's objects */
  struct tide_sink_config config;
  struct tide_patience patience;
  sqlite3_stmt *interrupt; /* asks whether the user wants an end */
  struct tide_target *target;
  struct tide_log_extent extent;
  struct tide_name_set *known; /* every object that a row of the log names */
  unsigned char *piece;
  int unreadable; /* in a row */
  int64_t seen;
  const char *folder; /* that is listed, and its generation */
  int64_t generation;
};

void tide_verified_clear(struct tide_verified *verified) {
  tide_buf_clear(&verified->missing.json);
  tide_buf_clear(&verified->damaged.json);
  tide_buf_clear(&verified->extra.json);
  *verified = (struct tide_verified){0};
}

bool tide_verified_is_ok(const struct tide_verified *verified) {
  return verified->missing.count == 0 && verified->damaged.count == 0 && verified->leftovers == 0;
}

/* ---- lists ---- */

static void put_string(struct tide_buf *json, const char *text, struct tide_err *err) {
  bool altered = false;
  tide_json_put_string(json, text, strlen(text), &altered, err);
}

/* false when there is no more room. */
static bool is_listed(struct tide_verify_list *list, struct tide_err *err) {
  if (list->count++ >= TIDE_VERIFY_LIST_MAX)
    return false;
  if (list->json.len > 0)
    tide_buf_put_u8(&list->json, ',', err);
  return true;
}

static void add_missing(struct verifying *at, const char *object, struct tide_err *err) {
  if (is_listed(&at->verified->missing, err))
    put_string(&at->verified->missing.json, object, err);
}

static void add_damaged(struct verifying *at, const char *object, const char *expected, const char *found,
                        struct tide_err *err) {
  struct tide_buf *json = &at->verified->damaged.json;
  if (!is_listed(&at->verified->damaged, err))
    return;
  tide_buf_put_string(json, "{\"object\":", err);
  put_string(json, object, err);
  tide_buf_put_string(json, ",\"expected\":", err);
  put_string(json, expected, err);
  tide_buf_put_string(json, ",\"found\":", err);
  put_string(json, found, err);
  tide_buf_put_u8(json, '}', err);
}

static void add_extra(struct verifying *at, const char *object, int64_t bytes, int64_t batch, struct tide_err *err) {
  struct tide_buf *json = &at->verified->extra.json;
  at->verified->leftovers += batch == 0;
  if (!is_listed(&at->verified->extra, err))
    return;
  tide_buf_put_string(json, "{\"object\":", err);
  put_string(json, object, err);
  tide_buf_printf(json, err, ",\"bytes\":%lld", (long long)bytes);
  if (batch != 0)
    tide_buf_printf(json, err, ",\"batch\":%lld", (long long)batch);
  tide_buf_put_u8(json, '}', err);
}

/* ---- an object of the log ---- */

/* An object on its way from the target. */
struct reading {
  struct verifying *at;
  int64_t bytes;
  int64_t looked_at;
};

static long read_counted(void *context, void *into, size_t size, struct tide_err *err) {
  struct reading *reading = context;
  struct tide_target *target = reading->at->target;
  if (reading->bytes - reading->looked_at >= BYTES_BETWEEN_LOOKS) {
    reading->looked_at = reading->bytes;
    tide_interrupt_is_pending(reading->at->interrupt, err);
  }
  const long got = tide_err_is_set(err) ? -1 : target->methods->read(target, into, size, err);
  reading->bytes += got > 0 ? got : 0;
  tide_progress_add(reading->at->progress, 0, got > 0 ? got : 0);
  return got;
}

/* Reads all of an object: its size, and its hash ("" when it is not asked for). Fails with SQLITE_CORRUPT when its
 * bytes are not of its format; the size is known then too. */
static void read_object(struct verifying *at, const struct tide_log_object *row, int64_t *ret_bytes,
                        char ret_hash[TIDE_ENCODER_HASH_SIZE], struct tide_err *failure) {
  struct reading reading = {.at = at};
  struct tide_err rest = {0};
  const struct tide_format *format = row->hash != NULL ? tide_format_of_object(row->object) : NULL;
  ret_hash[0] = '\0';
  if (at->target->methods->open_read(at->target, row->object, failure) != 0)
    return;
  if (format != NULL)
    format->hash_object(read_counted, &reading, ret_hash, failure);
  if (!tide_err_is_set(failure) || (failure->rc & 0xff) == SQLITE_CORRUPT)
    while (read_counted(&reading, at->piece, PIECE, &rest) > 0) {
    }
  at->target->methods->close_read(at->target);
  if (tide_err_is_set(&rest))
    *failure = rest;
  *ret_bytes = reading.bytes;
  at->verified->bytes += reading.bytes;
}

static void judge_object(struct verifying *at, const struct tide_log_object *row, int64_t bytes, const char *hash,
                         const struct tide_err *failure, struct tide_err *err) {
  char expected[TIDE_ENCODER_HASH_SIZE + 16], found[TIDE_ENCODER_HASH_SIZE + 16];
  const bool read = !tide_err_is_set(failure) || (failure->rc & 0xff) == SQLITE_CORRUPT;
  sqlite3_snprintf((int)sizeof expected, expected, "%lld bytes", (long long)row->bytes);
  sqlite3_snprintf((int)sizeof found, found, "%lld bytes", (long long)bytes);
  if (read && bytes != row->bytes) {
    add_damaged(at, row->object, expected, found, err);
  } else if (tide_err_is_set(failure)) {
    add_damaged(at, row->object, expected, failure->msg, err);
  } else if (hash[0] == '\0') {
    at->verified->unhashed++;
  } else if (strcmp(hash, row->hash) != 0) {
    sqlite3_snprintf((int)sizeof expected, expected, "hash %s", row->hash);
    sqlite3_snprintf((int)sizeof found, found, "hash %s", hash);
    add_damaged(at, row->object, expected, found, err);
  }
}

/* A name that no object can have came from a sink that its user drove, before it had a target. */
static void verify_object(struct verifying *at, const struct tide_log_object *row, struct tide_err *err) {
  int64_t bytes = 0;
  char hash[TIDE_ENCODER_HASH_SIZE];
  struct tide_err failure = {0};
  at->verified->objects++;
  tide_name_set_add(at->known, row->object, err);
  tide_interrupt_is_pending(at->interrupt, err);
  if (tide_err_is_set(err))
    return;
  const bool fits = tide_target_name_check(row->object, &failure);
  if (fits)
    read_object(at, row, &bytes, hash, &failure);
  if (tide_deliveries_concerns_all(&failure)) {
    tide_err_set(err, failure.rc, "%s", failure.msg);
    return;
  }
  if (!fits || failure.rc == SQLITE_CANTOPEN) {
    at->unreadable = 0;
    add_missing(at, row->object, err);
    return;
  }
  at->unreadable = tide_err_is_set(&failure) && (failure.rc & 0xff) != SQLITE_CORRUPT ? at->unreadable + 1 : 0;
  if (at->unreadable >= UNREADABLE_IN_A_ROW_MAX)
    tide_err_set(err, failure.rc, "%d objects in a row could not be read: %s", at->unreadable, failure.msg);
  else
    judge_object(at, row, bytes, hash, &failure, err);
}

static void verify_log(struct verifying *at, struct tide_err *err) {
  struct tide_log_page page = {0};
  int64_t above = 0;
  while (!tide_err_is_set(err) && tide_log_page_read(&at->log, above, at->extent.last_id, &page, err)) {
    for (size_t i = 0; i < page.count && !tide_err_is_set(err); i++)
      verify_object(at, &page.rows[i], err);
    above = page.rows[page.count - 1].id;
  }
  tide_log_page_clear(&page);
}

/* ---- what else is there ---- */

/* The until of "<since>-<until>.<log id>.<extension>"; 0: it is not of that shape. */
static int64_t until_of(const char *last) {
  static const char digits[] = "0123456789";
  if (strspn(last, digits) != NUMBER_DIGITS || last[NUMBER_DIGITS] != '-')
    return 0;
  const char *until = last + NUMBER_DIGITS + 1;
  return strspn(until, digits) == NUMBER_DIGITS && until[NUMBER_DIGITS] == '.' ? strtoll(until, NULL, 10) : 0;
}

static bool is_of_log(const char *last, const char *log_id) {
  const char *found = strstr(last, log_id);
  return found != NULL && found > last && found[-1] == '.' && found[strlen(log_id)] == '.';
}

/* An object that the log did not name when it was read: by now it may. */
static void judge_unknown(struct verifying *at, const char *name, const char *last, int64_t bytes,
                          struct tide_err *err) {
  struct tide_log_sight sight;
  const char *partition = name + strlen(at->folder) + 1;
  const size_t partition_size = last > partition ? (size_t)(last - partition) - 1 : 0;
  tide_log_look(&at->log, name, partition, partition_size, at->generation, at->extent.last_id, &sight, err);
  const int64_t until = until_of(last);
  if (sight.logged || tide_err_is_set(err))
    return;
  if (sight.batch == 0 && until > 0 && until <= sight.trimmed_until)
    at->verified->trimmed_objects++;
  else
    add_extra(at, name, bytes, sight.batch, err);
}

static bool see_object(void *context, const char *name, int64_t size, struct tide_err *err) {
  struct verifying *at = context;
  const char *last = strrchr(name, '/') + 1; /* it is below a folder */
  if (++at->seen % NAMES_BETWEEN_LOOKS == 0)
    tide_interrupt_is_pending(at->interrupt, err);
  if (!tide_err_is_set(err) && is_of_log(last, at->log_id) && !tide_name_set_has(at->known, name, err) &&
      !tide_err_is_set(err))
    judge_unknown(at, name, last, size, err);
  return !tide_err_is_set(err);
}

/* Each generation has a folder of its own. */
static void look_into_folder(struct verifying *at, int64_t generation, struct tide_err *err) {
  struct tide_buf folder = {0};
  tide_partition_encode_name(at->sink->prefix, strlen(at->sink->prefix), &folder, err);
  if (generation > 0)
    tide_buf_printf(&folder, err, ".g%lld", (long long)generation);
  tide_buf_put_u8(&folder, 0, err);
  tide_interrupt_is_pending(at->interrupt, err);
  at->generation = generation;
  at->folder = (const char *)folder.data;
  if (!tide_err_is_set(err))
    at->target->methods->list(at->target, at->folder, NULL, see_object, at, err);
  at->folder = NULL;
  tide_buf_clear(&folder);
}

static void look_for_others(struct verifying *at, struct tide_err *err) {
  struct tide_generations generations;
  tide_generations_read(&at->log, &generations, err);
  for (size_t i = 0; i < generations.count && !tide_err_is_set(err); i++)
    look_into_folder(at, generations.numbers[i], err);
  tide_generations_clear(&generations);
}

/* ---- all of it ---- */

static void read_config(struct verifying *at, struct tide_conn *conn, const struct tide_schemes *schemes,
                        struct tide_err *err) {
  const struct tide_sink *sink = at->sink;
  const struct tide_sink_words words = tide_sink_words_of_row(sink);
  struct tide_dataset *ds = tide_dataset_acquire(conn, at->log.schema, sink->dataset, err);
  if (ds == NULL)
    return;
  at->log_id = tide_sink_log_id(conn->db, tide_dataset_names(ds), sink->sink, ds->config.log_id, err);
  tide_sink_config_parse(schemes, ds->spec, &words, &at->config, err);
  tide_dataset_release(ds);
}

static void open_target(struct verifying *at, struct tide_err *err) {
  const struct tide_scheme *scheme = at->config.scheme;
  if (scheme->forwards)
    tide_err_set(err, SQLITE_ERROR, "sink %s forwards to a receiver, which keeps nothing to read back", at->sink->sink);
  else
    at->target = tide_sink_config_open(&at->config, &at->patience, err);
}

static void verify_target(struct verifying *at, struct tide_err *err) {
  struct tide_verified *verified = at->verified;
  at->known = tide_name_set_create(err);
  at->piece = tide_alloc(PIECE, err);
  tide_log_extent_read(&at->log, &at->extent, err);
  if (tide_err_is_set(err))
    return;
  verified->trimmed_batches += at->extent.trimmed_batches;
  verified->trimmed_bytes += at->extent.trimmed_bytes;
  if (at->extent.first_id != 0 && (verified->first_id == 0 || at->extent.first_id < verified->first_id))
    verified->first_id = at->extent.first_id;
  verify_log(at, err);
  if (!tide_err_is_set(err))
    look_for_others(at, err);
}

void tide_verify(struct tide_conn *conn, const struct tide_schemes *schemes, const char *schema,
                 const struct tide_sink *sink, struct tide_verified *verified, struct tide_err *err) {
  struct verifying at = {.progress = &conn->progress,
                         .log = {conn->db, schema, sink->sink, sink->dataset},
                         .sink = sink,
                         .verified = verified,
                         .interrupt = tide_interrupt_prepare(conn->db, err)};
  at.patience = (struct tide_patience){tide_interrupt_is_pending, at.interrupt};
  if (sink->target == NULL)
    tide_err_set(err, SQLITE_ERROR, "sink %s has no target: what its user does with its batches cannot be read back",
                 sink->sink);
  if (!tide_err_is_set(err))
    read_config(&at, conn, schemes, err);
  if (!tide_err_is_set(err))
    open_target(&at, err);
  if (!tide_err_is_set(err))
    verify_target(&at, err);
  tide_target_destroy(at.target);
  tide_name_set_destroy(at.known);
  tide_free(at.piece);
  tide_free(at.log_id);
  sqlite3_finalize(at.interrupt);
  tide_sink_config_clear(&at.config);
}
