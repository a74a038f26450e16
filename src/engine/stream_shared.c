#include "engine/stream_shared.h"

#include <stdlib.h>

#include "base/mem.h"

void tide_stream_shared_init(struct tide_stream_shared *shared, struct tide_dataset *ds,
                             struct tide_scan_request *request) {
  *shared = (struct tide_stream_shared){.ds = tide_dataset_ref(ds), .spec = tide_spec_ref(ds->spec)};
  tide_stmt_pool_hold(ds->pool);
  shared->request = *request;
  *request = (struct tide_scan_request){.empty = true};
}

void tide_stream_shared_clear(struct tide_stream_shared *shared) {
  struct tide_stmt_pool *pool = shared->ds->pool;
  tide_stmt_pool_give(pool, shared->segments_stmt);
  tide_stmt_pool_give(pool, shared->tail_stmt);
  tide_stmt_pool_give(pool, shared->deleted_stmt);
  tide_stmt_pool_give(pool, shared->text_stmt);
  tide_stmt_pool_release(pool);
  tide_frame_decoder_destroy(shared->decoder);
  tide_free(shared->tail);
  tide_buf_clear(&shared->known_text);
  tide_scan_request_clear(&shared->request);
  tide_spec_unref(shared->spec);
  tide_dataset_release(shared->ds);
}

/* ---- the tail ---- */

static int by_partition(const void *a, const void *b) {
  const struct tide_tail_entry *x = a;
  const struct tide_tail_entry *y = b;
  if (x->partition != y->partition)
    return x->partition < y->partition ? -1 : 1;
  return (x->last_since > y->last_since) - (x->last_since < y->last_since);
}

static void add_entry(struct tide_stream_shared *shared, const struct tide_tail_entry *entry, struct tide_err *err) {
  void *tail = shared->tail;
  if (entry->first_since > shared->request.upto ||
      tide_grow(&tail, &shared->tail_cap, shared->ntail + 1, sizeof *shared->tail, err) != 0)
    return;
  shared->tail = tail;
  shared->tail[shared->ntail++] = *entry;
}

void tide_stream_shared_look(struct tide_stream_shared *shared, int64_t partition, struct tide_err *err) {
  const struct tide_tail_index *index = &shared->ds->tail;
  const struct tide_scan_request *request = &shared->request;
  shared->epoch = shared->ds->epoch;
  shared->ntail = 0;
  if (partition != 0) {
    const struct tide_tail_entry *entry = tide_tail_index_find(index, partition);
    for (; entry != NULL && entry->last_since > request->above; entry = tide_tail_index_before(index, entry))
      add_entry(shared, entry, err);
  } else {
    for (size_t i = tide_tail_index_above(index, request->above); i < index->end; i++) {
      if (index->entries[i].rows > 0)
        add_entry(shared, &index->entries[i], err);
    }
  }
  if (shared->ntail > 1)
    qsort(shared->tail, shared->ntail, sizeof *shared->tail, by_partition);
}

/* The first place of an entry behind that one. */
static size_t place_behind(const struct tide_stream_shared *shared, int64_t partition, int64_t last_since) {
  const struct tide_tail_entry wanted = {.partition = partition, .last_since = last_since};
  size_t low = 0;
  size_t high = shared->ntail;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (by_partition(&shared->tail[middle], &wanted) > 0)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

void tide_stream_shared_tail(const struct tide_stream_shared *shared, int64_t partition, int64_t above, int64_t upto,
                             size_t *ret_first, size_t *ret_end) {
  size_t end = place_behind(shared, partition, upto - 1);
  if (end < shared->ntail && shared->tail[end].partition == partition && shared->tail[end].first_since <= upto)
    end++;
  *ret_first = place_behind(shared, partition, above);
  *ret_end = end > *ret_first ? end : *ret_first;
}

/* ---- statements ---- */

sqlite3_stmt *tide_stream_shared_need(struct tide_stream_shared *shared, sqlite3_stmt **stmt,
                                      tide_stream_prepare *prepare, struct tide_err *err) {
  if (*stmt == NULL)
    *stmt = prepare(shared->ds->conn->db, tide_dataset_names(shared->ds), err);
  return *stmt;
}

struct tide_frame_decoder *tide_stream_shared_decoder(struct tide_stream_shared *shared, struct tide_err *err) {
  if (shared->decoder == NULL && !tide_err_is_set(err))
    shared->decoder = tide_frame_decoder_create(err);
  return shared->decoder;
}
