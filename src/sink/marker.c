#include "sink/marker.h"

#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "model/partition.h"

enum { MARKER_SIZE_MAX = 128 };

static char *name_of(const char *log_id, const char *sink, struct tide_err *err) {
  struct tide_buf name = {0};
  tide_buf_printf(&name, err, "_tidemark/%s.", log_id);
  tide_partition_encode_name(sink, strlen(sink), &name, err);
  tide_buf_put_u8(&name, 0, err);
  if (tide_err_is_set(err))
    tide_buf_clear(&name);
  return (char *)name.data;
}

static size_t put_text(char text[MARKER_SIZE_MAX], int64_t tick, int64_t token) {
  sqlite3_snprintf(MARKER_SIZE_MAX, text, "{\"tick\":%lld,\"token\":\"%016llx\"}\n", (long long)tick,
                   (unsigned long long)token);
  return strlen(text);
}

/* The whole object; 0 bytes when there is none. */
static size_t read_all(struct tide_target *target, const char *name, char text[MARKER_SIZE_MAX], struct tide_err *err) {
  struct tide_err missing = {0};
  size_t size = 0;
  long got = 0;
  if (target->methods->open_read(target, name, &missing) != 0) {
    if (missing.rc != SQLITE_CANTOPEN)
      tide_err_set(err, missing.rc, "%s", missing.msg);
    return 0;
  }
  while (size < MARKER_SIZE_MAX - 1 &&
         (got = target->methods->read(target, text + size, MARKER_SIZE_MAX - 1 - size, err)) > 0)
    size += (size_t)got;
  target->methods->close_read(target);
  text[size] = '\0';
  return size;
}

/* The only text that says a tick is the one that would be written for it. */
static bool parse(const char *text, int64_t *ret_tick, int64_t *ret_token) {
  static const char before[] = "{\"tick\":", between[] = ",\"token\":\"";
  char again[MARKER_SIZE_MAX];
  uint64_t tick = 0, token = 0;
  if (strncmp(text, before, sizeof before - 1) != 0)
    return false;
  const char *at = text + sizeof before - 1;
  for (; *at >= '0' && *at <= '9' && tick < INT64_MAX / 10; at++)
    tick = tick * 10 + (uint64_t)(*at - '0');
  if (strncmp(at, between, sizeof between - 1) != 0)
    return false;
  for (at += sizeof between - 1; (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'); at++)
    token = token << 4 | (uint64_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
  put_text(again, (int64_t)tick, (int64_t)token);
  *ret_tick = (int64_t)tick;
  *ret_token = (int64_t)token;
  return strcmp(text, again) == 0;
}

static enum tide_marker_verdict compare(const struct tide_sink_count *count, int64_t tick, int64_t token) {
  if ((tick == count->tick && token == count->token) || (tick == count->tick - 1 && token == count->previous))
    return TIDE_MARKER_OURS;
  return tick >= count->tick - 1 ? TIDE_MARKER_AHEAD : TIDE_MARKER_BEHIND;
}

struct others {
  const char *log_id;
  bool found;
};

static bool see_other(void *context, const char *name, int64_t size, struct tide_err *err) {
  struct others *others = context;
  const char *last = strrchr(name, '/');
  (void)size, (void)err;
  others->found = last != NULL && strncmp(last + 1, others->log_id, strlen(others->log_id)) == 0;
  return !others->found;
}

/* Two sinks of one log would put the same rows beside each other, and after a symbolic link nobody else can tell. */
static bool has_another(struct tide_target *target, const char *log_id, struct tide_err *err) {
  struct others others = {.log_id = log_id};
  target->methods->list(target, "_tidemark", NULL, see_other, &others, err);
  return others.found;
}

enum tide_marker_verdict tide_marker_look(struct tide_target *target, const char *log_id, const char *sink,
                                          const struct tide_sink_count *count, int64_t *ret_tick,
                                          struct tide_err *err) {
  char text[MARKER_SIZE_MAX];
  int64_t token = 0;
  enum tide_marker_verdict verdict = count->marked > 0 ? TIDE_MARKER_MISSING : TIDE_MARKER_OURS;
  char *name = name_of(log_id, sink, err);
  const size_t size = name != NULL ? read_all(target, name, text, err) : 0;
  *ret_tick = 0;
  if (size > 0 && !tide_err_is_set(err)) {
    if (parse(text, ret_tick, &token))
      verdict = compare(count, *ret_tick, token);
    else
      tide_err_set(err, SQLITE_CORRUPT, "object %s is not one that Tidemark wrote: move it away", name);
  } else if (verdict == TIDE_MARKER_OURS && !tide_err_is_set(err) && has_another(target, log_id, err)) {
    verdict = TIDE_MARKER_ANOTHERS;
  }
  tide_free(name);
  return verdict;
}

void tide_marker_write(struct tide_target *target, const char *log_id, const char *sink,
                       const struct tide_sink_count *count, int64_t token, struct tide_err *err) {
  char text[MARKER_SIZE_MAX];
  char *name = name_of(log_id, sink, err);
  const size_t size = put_text(text, count->tick, count->token);
  const struct tide_object object = {.name = name, .log_id = log_id, .token = token};
  if (name != NULL)
    target->methods->replace(target, &object, text, size, err);
  tide_free(name);
}
