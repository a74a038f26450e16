#include "sink/outlet.h"

#include <string.h>

#include "base/mem.h"
#include "model/partition.h"
#include "sink/marker.h"
#include "store/durable.h"
#include "store/exportlog.h"

void tide_outlet_close(struct tide_outlet *outlet) {
  tide_delta_destroy(outlet->delta);
  tide_target_destroy(outlet->target);
  tide_free(outlet->url);
  tide_free(outlet->options);
  tide_free(outlet->place);
  tide_free(outlet->log_id);
  *outlet = (struct tide_outlet){0};
}

bool tide_outlet_is_to_blame(const struct tide_outlet *outlet, const struct tide_err *failure) {
  if (outlet->place == NULL)
    return false;
  return outlet->log_id == NULL || (outlet->scheme->remote && (failure->rc & 0xff) == SQLITE_IOERR);
}

void tide_outlet_refuse_ahead(const char *what, const char *sink, int64_t tick, struct tide_err *err) {
  tide_err_set(err, SQLITE_CONSTRAINT,
               "%s was told of tick %lld of this sink, which this database knows nothing of: it was restored from a "
               "backup, or is in use twice. Nothing is sent until SELECT tidemark_fork('%s')",
               what, (long long)tick, sink);
}

static bool same_text(const char *a, const char *b) {
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void open_target(struct tide_outlet *outlet, const struct tide_patience *patience,
                        struct tide_sink_config *config, const char *options, struct tide_err *err) {
  if (outlet->target != NULL && same_text(outlet->url, config->url) && same_text(outlet->options, options))
    return;
  tide_outlet_close(outlet);
  outlet->url = tide_copy_string(config->url, err);
  outlet->place = tide_copy_string(config->place, err);
  outlet->scheme = config->scheme;
  outlet->options = options != NULL ? tide_copy_string(options, err) : NULL;
  if (!tide_err_is_set(err))
    outlet->target = tide_sink_config_open(config, patience, err);
}

/* The present count; a batch of an early Tidemark was claimed without one. */
static void read_count(struct tide_outlet *outlet, const struct tide_outlet_call *call, struct tide_err *err) {
  struct tide_durable durable;
  tide_sink_count_read(call->db, &call->place, &outlet->count, err);
  if (outlet->count.tick > 0 || tide_err_is_set(err))
    return;
  tide_durable_begin(call->db, call->place.schema, &durable, err);
  if (!tide_err_is_set(err))
    tide_sink_count_next(call->db, &call->place, err);
  tide_durable_end(&durable, err);
  tide_sink_count_read(call->db, &call->place, &outlet->count, err);
}

/* Another process of ours may have told it a tick since the count was read, so the database is asked again. */
static enum tide_marker_verdict look(struct tide_outlet *outlet, const struct tide_outlet_call *call, int64_t *ret_tick,
                                     struct tide_err *err) {
  enum tide_marker_verdict verdict = TIDE_MARKER_OURS;
  struct tide_sink_count before;
  do {
    before = outlet->count;
    verdict = tide_marker_look(outlet->target, call->log_id, call->place.sink, &outlet->count, ret_tick, err);
    if (verdict == TIDE_MARKER_AHEAD && !tide_err_is_set(err))
      tide_sink_count_read(call->db, &call->place, &outlet->count, err);
  } while (verdict == TIDE_MARKER_AHEAD && outlet->count.tick != before.tick && !tide_err_is_set(err));
  return verdict;
}

/* Another process of ours may have told it a later tick between our look and our write, which then says too little: the
 * count is in the database before it is told, so that whoever wrote looks there again. */
static void tell(struct tide_outlet *outlet, const struct tide_outlet_call *call, struct tide_err *err) {
  int64_t told = 0;
  while (told != outlet->count.tick && !tide_err_is_set(err)) {
    told = outlet->count.tick;
    tide_marker_write(outlet->target, call->log_id, call->place.sink, &outlet->count, call->batch, err);
    if (!tide_err_is_set(err))
      tide_sink_count_read(call->db, &call->place, &outlet->count, err);
  }
}

static bool is_open(void *context, const char *name, int64_t token) {
  const struct tide_outlet_call *call = context;
  struct tide_err unsure = {0}; /* what may be open stays */
  const bool open = tide_batch_is_known(call->db, call->place.schema, token, name, &unsure);
  return open || tide_err_is_set(&unsure);
}

static void sweep(struct tide_outlet *outlet, const struct tide_outlet_call *call, struct tide_err *err) {
  struct tide_outlet_call context = *call;
  struct tide_buf names = {0};
  tide_partition_encode_name(call->dataset, strlen(call->dataset), &names, err);
  tide_buf_put_u8(&names, 0, err);
  if (!tide_err_is_set(err))
    outlet->target->methods->sweep(outlet->target, call->log_id, (const char *)names.data, is_open, &context, err);
  tide_buf_clear(&names);
}

static void refuse_place(const struct tide_outlet_call *call, enum tide_marker_verdict verdict, int64_t tick,
                         int64_t marked, struct tide_err *err) {
  if (verdict == TIDE_MARKER_ANOTHERS)
    tide_err_set(err, SQLITE_CONSTRAINT,
                 "%s holds what another sink of this log wrote, as _tidemark says: give sink %s a place of its own, or "
                 "register it under that sink's name",
                 call->place.place, call->place.sink);
  else if (verdict == TIDE_MARKER_MISSING)
    tide_err_set(err, SQLITE_CANTOPEN,
                 "%s is not the place that sink %s wrote to, which has a mark of tick %lld in _tidemark: is a disk not "
                 "mounted? To begin there anew: SELECT tidemark_fork('%s')",
                 call->place.place, call->place.sink, (long long)marked, call->place.sink);
  else
    tide_err_set(
        err, SQLITE_CANTOPEN,
        "%s is an old copy of the place that sink %s wrote to: its mark in _tidemark is of tick %lld, expected "
        "%lld. To go on there all the same: SELECT tidemark_fork('%s')",
        call->place.place, call->place.sink, (long long)tick, (long long)marked, call->place.sink);
}

bool tide_outlet_open(struct tide_outlet *outlet, const struct tide_outlet_call *call, struct tide_sink_config *config,
                      const char *options, int64_t *ret_tick, struct tide_err *err) {
  open_target(outlet, call->patience, config, options, err);
  if (tide_err_is_set(err) || (outlet->log_id != NULL && strcmp(outlet->log_id, call->log_id) == 0))
    return true;
  read_count(outlet, call, err);
  if (!config->scheme->forwards && !tide_err_is_set(err)) {
    const enum tide_marker_verdict verdict = look(outlet, call, ret_tick, err);
    if (verdict == TIDE_MARKER_AHEAD && !tide_err_is_set(err))
      return false;
    if (verdict != TIDE_MARKER_OURS && !tide_err_is_set(err))
      refuse_place(call, verdict, *ret_tick, outlet->count.marked, err);
    if (!tide_err_is_set(err) && *ret_tick != outlet->count.tick) {
      tell(outlet, call, err);
      /* a copy of this database may have looked when we did, and written after us */
      if (!tide_err_is_set(err) && look(outlet, call, ret_tick, err) == TIDE_MARKER_AHEAD && !tide_err_is_set(err))
        return false;
    }
    if (!tide_err_is_set(err))
      sweep(outlet, call, err);
  }
  tide_free(outlet->log_id);
  outlet->log_id = tide_err_is_set(err) ? NULL : tide_copy_string(call->log_id, err);
  return true;
}
