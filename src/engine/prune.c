#include "engine/prune.h"

#include "base/mem.h"
#include "base/stmt.h"

/* A partition of the group at hand that has rows to take away. */
struct due {
  int64_t id;
  bool took;    /* rows of it */
  bool damaged; /* and in the failures */
};

enum { GROUP_PARTITIONS = 1024 };

struct group {
  int64_t ids[GROUP_PARTITIONS];
  size_t count;
  struct due due[GROUP_PARTITIONS];
  size_t ndue;
};

/* Goes to a partition. false when it is not there any more. */
static bool go_to(struct tide_pruning *pruning, int64_t id, struct tide_err *err) {
  tide_buf_reset(&pruning->text);
  pruning->took = false;
  pruning->id = tide_catalog_partition_next(pruning->ds->conn->db, pruning->names, id - 1, &pruning->text, err);
  tide_buf_put_u8(&pruning->text, 0, err);
  return pruning->id == id && !tide_err_is_set(err);
}

static void take_failure(struct tide_pruning *pruning, struct tide_err *err) {
  tide_failures_take(&pruning->result->failures, tide_pruning_text(pruning), tide_pruning_text_size(pruning), err);
}

/* Looks at a group in one snapshot, so that the figures fit each other, and tells what stays where nothing goes. */
static void look_at_group(struct tide_pruning *pruning, struct group *group, struct tide_err *err) {
  sqlite3_stmt *snapshot = tide_read_begin(pruning->ds->conn->db, pruning->ds->schema, err);
  group->ndue = 0;
  for (size_t i = 0; i < group->count && !tide_err_is_set(err); i++) {
    const bool found = go_to(pruning, group->ids[i], err) && tide_pruning_look(pruning, err);
    if (found && pruning->retention.free_rows > 0)
      group->due[group->ndue++] = (struct due){.id = pruning->id};
    else if (found)
      tide_pruning_tell_staying(pruning, err);
    take_failure(pruning, err);
  }
  sqlite3_finalize(snapshot);
}

static bool has_budget(const struct tide_pruning *pruning) {
  return pruning->result->stored_bytes < pruning->request->max_bytes;
}

/* Takes away what may go of one partition, as far as a transaction that began with `before` goes. True when that was
 * not all. */
static bool take_partition(struct tide_pruning *pruning, const struct tide_prune_result *before, struct tide_err *err) {
  bool undone = true;
  while (undone && has_budget(pruning) && pruning->result->stored_bytes - before->stored_bytes < TIDE_PRUNE_PIECE_BYTES)
    undone = tide_pruning_take(pruning, err);
  return undone;
}

/* Takes away what may go of the first of the list, in one transaction. Gives how many are done. An error undoes them
 * all, and then it gives the number of the one that failed: the last, when it was the commit. */
static size_t take_some(struct tide_pruning *pruning, struct due *due, size_t count, struct tide_err *err) {
  struct tide_work work;
  const struct tide_prune_result before = *pruning->result;
  const bool took_before = due[0].took;
  size_t done = 0;
  bool undone = false;
  tide_work_begin(pruning->ds, "tidemark_prune", &work, err);
  while (done < count && !undone && !tide_err_is_set(err)) {
    if (go_to(pruning, due[done].id, err))
      undone = take_partition(pruning, &before, err);
    due[done].took = due[done].took || pruning->took;
    done += !undone && !tide_err_is_set(err);
  }
  const bool taken = !tide_err_is_set(err);
  tide_work_end(&work, err);
  if (tide_err_is_set(err)) {
    done -= taken && done > 0;
    *pruning->result = before; /* a piece does not change the lists */
    for (size_t i = 0; i < count; i++)
      due[i].took = i == 0 && took_before;
  }
  return done;
}

/* Does all that are due, and each by itself where one of them is damaged. Gives how many were looked at. */
static size_t take_due(struct tide_pruning *pruning, struct due *due, size_t count, struct tide_err *err) {
  size_t at = 0;
  size_t alone = 0;
  while (at < count && has_budget(pruning) && !tide_err_is_set(err)) {
    const size_t done = take_some(pruning, due + at, at < alone ? 1 : count - at, err);
    if ((err->rc & 0xff) == SQLITE_CORRUPT && done > 0) {
      alone = at + done + 1;
      tide_err_clear(err);
      continue;
    }
    at += done;
    if (!tide_err_is_set(err))
      continue;
    take_failure(pruning, err);
    due[at].damaged = true;
    at += !tide_err_is_set(err);
  }
  pruning->result->more = at < count;
  return at < count ? at + 1 : at;
}

/* What stays of the partitions of which something went, or in a dry run what would go. */
static void look_at_due(struct tide_pruning *pruning, struct due *due, size_t count, struct tide_err *err) {
  sqlite3_stmt *snapshot = tide_read_begin(pruning->ds->conn->db, pruning->ds->schema, err);
  for (size_t i = 0; i < count && !tide_err_is_set(err); i++) {
    const bool found = !due[i].damaged && go_to(pruning, due[i].id, err) && tide_pruning_look(pruning, err);
    if (found && pruning->request->dry_run) {
      tide_pruning_tell_going(pruning, err);
      due[i].took = pruning->took;
    }
    if (found && !tide_err_is_set(err))
      tide_pruning_tell_staying(pruning, err);
    take_failure(pruning, err);
  }
  sqlite3_finalize(snapshot);
}

static void prune_group(struct tide_pruning *pruning, struct group *group, struct tide_err *err) {
  look_at_group(pruning, group, err);
  size_t tried = group->ndue;
  if (!pruning->request->dry_run && !tide_err_is_set(err))
    tried = take_due(pruning, group->due, group->ndue, err);
  if (tried > 0 && !tide_err_is_set(err))
    look_at_due(pruning, group->due, tried, err);
  for (size_t i = 0; i < group->ndue; i++)
    pruning->result->partitions += group->due[i].took;
}

/* The next partitions behind the last of a group. false when there are none. */
static bool next_group(struct tide_pruning *pruning, struct group *group, struct tide_err *err) {
  int64_t id = group->count > 0 ? group->ids[group->count - 1] : 0;
  group->count = 0;
  while (group->count < GROUP_PARTITIONS && !tide_err_is_set(err)) {
    tide_buf_reset(&pruning->text);
    id = tide_catalog_partition_next(pruning->ds->conn->db, pruning->names, id, &pruning->text, err);
    if (id == 0)
      break;
    group->ids[group->count++] = id;
  }
  return group->count > 0 && !tide_err_is_set(err);
}

static bool has_limits(struct tide_dataset *ds, struct tide_err *err) {
  const struct tide_options *options = &ds->config.options;
  sqlite3_stmt *snapshot = tide_read_begin(ds->conn->db, ds->schema, err);
  tide_txn_flush(ds, err);
  tide_dataset_refresh(ds, err);
  sqlite3_finalize(snapshot);
  return options->retention_age != TIDE_OPTIONS_NO_LIMIT || options->retention_rows != TIDE_OPTIONS_NO_LIMIT ||
         options->retention_bytes != TIDE_OPTIONS_NO_LIMIT;
}

void tide_prune(struct tide_dataset *ds, const struct tide_prune_request *request, struct tide_prune_result *result,
                struct tide_err *err) {
  struct tide_pruning pruning = {.ds = ds,
                                 .names = tide_dataset_names(ds),
                                 .request = request,
                                 .result = result,
                                 .now_ms = tide_dataset_now_ms(ds)};
  tide_dataset_check_unread(ds, "tidemark_prune", err);
  if (tide_err_is_set(err) || !has_limits(ds, err))
    return;
  struct group *group = tide_alloc_zero(1, sizeof *group, err);
  tide_stmt_pool_hold(ds->pool);
  while (group != NULL && !result->more && next_group(&pruning, group, err))
    prune_group(&pruning, group, err);
  tide_stmt_pool_release(ds->pool);
  tide_free(group);
  tide_retention_clear(&pruning.retention);
  tide_holds_clear(&pruning.holds);
  tide_buf_clear(&pruning.text);
}

void tide_prune_result_clear(struct tide_prune_result *result) {
  for (size_t i = 0; i < result->nheld; i++)
    tide_free(result->held[i].sink);
  tide_free(result->held);
  for (int i = 0; i < TIDE_PRUNE_FUTURE_LISTED; i++)
    tide_free(result->future[i].partition);
  tide_failures_clear(&result->failures);
  *result = (struct tide_prune_result){0};
}
