#include "engine/check_chunks.h"

#include "base/stmt.h"
#include "store/checks.h"

/* Chunk ids and the segments' ranges of them, both ascending. */
struct walk {
  struct tide_check *check;
  sqlite3_stmt *owners;
  sqlite3_stmt *chunks;
  bool there; /* the chunk at hand is */
  int64_t id;
  int64_t end; /* segments have the ids below it, since the last gap */
};

static void next_chunk(struct walk *walk, struct tide_err *err) {
  walk->there = tide_stmt_row(walk->chunks, err);
  tide_check_report_take(walk->check->report, NULL, err);
  if (walk->there)
    walk->id = sqlite3_column_int64(walk->chunks, 0);
}

/* Reports the chunks from the end of a range to the beginning of the next one; neighbours together. */
static void pass_chunks(struct walk *walk, int64_t next_range, struct tide_err *err) {
  while (walk->there && walk->id < next_range && !tide_err_is_set(err)) {
    const int64_t first = walk->id;
    int64_t last = first;
    if (first < walk->end) {
      next_chunk(walk, err);
      continue;
    }
    for (next_chunk(walk, err); walk->there && walk->id == last + 1 && walk->id < next_range; next_chunk(walk, err))
      last++;
    if (first == last)
      tide_check_report_add(walk->check->report, err, "%s_chunk %lld is of no segment", walk->check->names.dataset,
                            (long long)first);
    else
      tide_check_report_add(walk->check->report, err, "%s_chunk %lld to %lld are of no segment",
                            walk->check->names.dataset, (long long)first, (long long)last);
  }
}

static void take_owner(struct walk *walk, struct tide_err *err) {
  const int64_t chunk = sqlite3_column_int64(walk->owners, 0);
  const int64_t chunks = sqlite3_column_int64(walk->owners, 1);
  if (!tide_catalog_is_count(chunk) || !tide_catalog_is_count(chunks))
    return;
  pass_chunks(walk, chunk, err);
  if (chunk < walk->end)
    tide_check_report_add(walk->check->report, err,
                          "%s_segment (partition %lld, last_since %lld): its chunk ids from %lld on are another"
                          " segment's as well",
                          walk->check->names.dataset, (long long)sqlite3_column_int64(walk->owners, 2),
                          (long long)sqlite3_column_int64(walk->owners, 3), (long long)chunk);
  if (chunk + chunks > walk->end)
    walk->end = chunk + chunks;
}

void tide_check_chunks(struct tide_check *check, struct tide_err *err) {
  if (check->owner_unknown || tide_err_is_set(err))
    return;
  struct walk walk = {.check = check};
  walk.owners = tide_checks_chunk_owners(check->db, check->names, err);
  walk.chunks = tide_checks_chunks(check->db, check->names, err);
  walk.end = INT64_MIN;
  next_chunk(&walk, err);
  while (tide_stmt_row(walk.owners, err))
    take_owner(&walk, err);
  tide_check_report_take(check->report, NULL, err);
  pass_chunks(&walk, INT64_MAX, err);
  sqlite3_finalize(walk.owners);
  sqlite3_finalize(walk.chunks);
}
