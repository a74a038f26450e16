/* Objects in a bucket of Amazon S3, or of a service that speaks its language: a key is the place's prefix and the
 * object's name. */
#include "sink/target_s3.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/s3_exclusive.h"
#include "sink/s3_list.h"
#include "sink/s3_read.h"
#include "sink/s3_upload.h"

struct s3_target {
  struct tide_target base;
  struct tide_s3 s3;
  struct tide_s3_upload upload;
  struct tide_s3_reader reader;
  bool is_exclusive; /* the service was found to put an object only where there is none */
};

/* The key of an object's name, for tide_free; NULL with err. */
static char *key_of(const struct s3_target *target, const char *name, struct tide_err *err) {
  if (!tide_target_name_check(name, err))
    return NULL;
  char *key = tide_printf(err, "%s%s", target->s3.place.prefix, name);
  if (key != NULL && strlen(key) > TIDE_S3_KEY_MAX) {
    tide_err_set(err, SQLITE_ERROR, "the key \"%.200s...\" is longer than the %d bytes that S3 takes", key,
                 TIDE_S3_KEY_MAX);
    tide_free(key);
    key = NULL;
  }
  return key;
}

/* ---- put ---- */

/* Whether an object may be put only by a service that keeps it from being replaced: which is found out once. */
static bool is_exclusive(struct s3_target *target, const struct tide_object *object, struct tide_err *err) {
  if (!object->exclusive || target->s3.place.single_writer)
    return false;
  if (!target->is_exclusive && !tide_err_is_set(err)) {
    tide_s3_exclusive_check(&target->s3, err);
    target->is_exclusive = !tide_err_is_set(err);
  }
  return true;
}

static int s3_begin(struct tide_target *target, const struct tide_object *object, struct tide_err *err) {
  struct s3_target *s3 = (struct s3_target *)target;
  assert(s3->upload.key == NULL);
  char *key = key_of(s3, object->name, err);
  if (key != NULL && object->again)
    tide_s3_upload_clean(&s3->s3, key, err);
  const bool exclusive = is_exclusive(s3, object, err);
  if (!tide_err_is_set(err))
    tide_s3_upload_begin(&s3->upload, key, exclusive, err);
  tide_free(key);
  return err->rc;
}

static int s3_write(struct tide_target *target, const void *bytes, size_t size, struct tide_err *err) {
  struct s3_target *s3 = (struct s3_target *)target;
  assert(s3->upload.key != NULL);
  tide_s3_upload_write(&s3->upload, &s3->s3, bytes, size, err);
  return err->rc;
}

static int s3_commit(struct tide_target *target, struct tide_answer *ret_answer, struct tide_err *err) {
  struct s3_target *s3 = (struct s3_target *)target;
  assert(s3->upload.key != NULL);
  bool exists = false;
  tide_s3_upload_commit(&s3->upload, &s3->s3, &exists, err);
  if (!tide_err_is_set(err))
    *ret_answer = (struct tide_answer){.verdict = exists ? TIDE_VERDICT_EXISTS : TIDE_VERDICT_TAKEN};
  return err->rc;
}

static void s3_abort(struct tide_target *target) {
  struct s3_target *s3 = (struct s3_target *)target;
  tide_s3_upload_abort(&s3->upload, &s3->s3);
}

/* ---- read ---- */

static int s3_open_read(struct tide_target *target, const char *name, struct tide_err *err) {
  struct s3_target *s3 = (struct s3_target *)target;
  assert(s3->reader.key == NULL);
  char *key = key_of(s3, name, err);
  if (key != NULL)
    tide_s3_reader_open(&s3->reader, &s3->s3, key, err);
  tide_free(key);
  return err->rc;
}

static long s3_read(struct tide_target *target, void *into, size_t size, struct tide_err *err) {
  struct s3_target *s3 = (struct s3_target *)target;
  assert(s3->reader.key != NULL);
  return tide_s3_reader_read(&s3->reader, &s3->s3, into, size, err);
}

static void s3_close_read(struct tide_target *target) {
  tide_s3_reader_close(&((struct s3_target *)target)->reader);
}

/* ---- replace ---- */

static int s3_replace(struct tide_target *target, const struct tide_object *object, const void *bytes, size_t size,
                      struct tide_err *err) {
  struct s3_target *s3 = (struct s3_target *)target;
  char *key = key_of(s3, object->name, err);
  const struct tide_s3_call call = {
      .method = "PUT", .doing = "replacing", .key = key, .body = bytes, .body_size = size, .answer_max = 1 << 16};
  if (key != NULL && tide_s3_send(&s3->s3, &call, err) == 0 && !tide_s3_is_done(&s3->s3))
    tide_s3_fail(&s3->s3, &call, err);
  tide_free(key);
  return err->rc;
}

/* ---- list and sweep ---- */

/* "prefix" and "folder/" as keys begin with them, for tide_free; NULL with err. */
static char *below_folder(const struct s3_target *s3, const char *folder, struct tide_err *err) {
  if (folder[0] != '\0' && !tide_target_name_check(folder, err))
    return NULL;
  return tide_printf(err, "%s%s%s", s3->s3.place.prefix, folder, folder[0] != '\0' ? "/" : "");
}

struct listing {
  size_t prefix_size;
  bool (*each)(void *context, const char *name, int64_t size, struct tide_err *err);
  void *context;
};

/* What has no object's name is somebody else's. */
static bool is_name(const char *name) {
  struct tide_err wrong = {0};
  return tide_target_name_check(name, &wrong);
}

static bool on_object(void *context, const char *key, int64_t size, struct tide_err *err) {
  const struct listing *listing = context;
  if (strlen(key) <= listing->prefix_size || !is_name(key + listing->prefix_size))
    return true;
  return listing->each(listing->context, key + listing->prefix_size, size, err);
}

static int s3_list(struct tide_target *target, const char *folder, const char *after,
                   bool (*each)(void *context, const char *name, int64_t size, struct tide_err *err), void *context,
                   struct tide_err *err) {
  struct s3_target *s3 = (struct s3_target *)target;
  struct listing listing = {strlen(s3->s3.place.prefix), each, context};
  char *prefix = below_folder(s3, folder, err);
  char *after_key = prefix != NULL && after != NULL ? key_of(s3, after, err) : NULL;
  if (!tide_err_is_set(err))
    tide_s3_list_objects(&s3->s3, prefix, after_key, on_object, &listing, err);
  tide_free(prefix);
  tide_free(after_key);
  return err->rc;
}

struct sweeping {
  struct s3_target *s3;
  const char *log_id;
  bool (*is_open)(void *context, const char *name, int64_t token);
  void *context;
};

/* Whether it is still somebody's: of another sink, too, whose prefix is longer than ours, and its names shorter. */
static bool is_somebodys(const struct sweeping *sweeping, const char *name) {
  while (!sweeping->is_open(sweeping->context, name, -1)) {
    name = strchr(name, '/');
    if (name == NULL)
      return false;
    name++;
  }
  return true;
}

static bool on_upload(void *context, const char *key, const char *id, struct tide_err *err) {
  const struct sweeping *sweeping = context;
  const size_t prefix_size = strlen(sweeping->s3->s3.place.prefix);
  const char *name = strlen(key) > prefix_size ? key + prefix_size : "";
  const char *slash = strrchr(name, '/');
  const char *last = slash != NULL ? slash + 1 : name;
  if (strstr(last, sweeping->log_id) != NULL && is_name(name) && !is_somebodys(sweeping, name))
    tide_s3_upload_drop(&sweeping->s3->s3, key, id, err);
  return true;
}

static int s3_sweep(struct tide_target *target, const char *log_id, const char *names,
                    bool (*is_open)(void *context, const char *name, int64_t token), void *context,
                    struct tide_err *err) {
  struct s3_target *s3 = (struct s3_target *)target;
  struct sweeping sweeping = {s3, log_id, is_open, context};
  char *prefix = tide_printf(err, "%s%s", s3->s3.place.prefix, names);
  if (prefix != NULL)
    tide_s3_list_uploads(&s3->s3, prefix, on_upload, &sweeping, err);
  tide_free(prefix);
  return err->rc;
}

/* ---- open, destroy ---- */

static void s3_destroy(struct tide_target *target) {
  struct s3_target *s3 = (struct s3_target *)target;
  tide_s3_upload_abort(&s3->upload, &s3->s3);
  tide_s3_reader_close(&s3->reader);
  tide_s3_close(&s3->s3);
  tide_free(s3);
}

static struct tide_target *open_url(const char *url, struct tide_sink_options *options,
                                    const struct tide_patience *patience, struct tide_err *err) {
  static const struct tide_target_methods methods = {
      .begin = s3_begin,
      .write = s3_write,
      .commit = s3_commit,
      .abort = s3_abort,
      .open_read = s3_open_read,
      .read = s3_read,
      .close_read = s3_close_read,
      .replace = s3_replace,
      .list = s3_list,
      .sweep = s3_sweep,
      .destroy = s3_destroy,
  };
  struct tide_s3_place place = {0};
  struct s3_target *s3 = tide_alloc_zero(1, sizeof *s3, err);
  if (s3 == NULL)
    return NULL;
  s3->base.methods = &methods;
  if (tide_s3_place_parse(url, options, &place, err) == 0 && tide_s3_open(&s3->s3, &place, patience, err) == 0)
    return &s3->base;
  tide_free(s3);
  return NULL;
}

static char *check_url(const char *url, struct tide_sink_options *options, struct tide_err *err) {
  struct tide_s3_place place = {0};
  if (tide_s3_place_parse(url, options, &place, err) != 0)
    return NULL;
  char *text = place.text;
  place.text = NULL;
  tide_s3_place_clear(&place);
  return text;
}

const struct tide_scheme tide_scheme_s3 = {.name = "s3",
                                           .expect = "s3://bucket/prefix",
                                           .remote = true,
                                           .takes_tables = true,
                                           .check = check_url,
                                           .open = open_url};
