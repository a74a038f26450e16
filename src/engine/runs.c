#include "engine/runs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/mem.h"

enum { BUCKETS_MIN = 16 };

static void free_run(struct tide_run *run) {
  tide_segment_writer_destroy(run->writer);
  tide_buf_clear(&run->rows.bytes);
  tide_free(run);
}

/* ---- by partition ---- */

/* For each partition column the type, then an INT's eight bytes or a TEXT's size in eight and its bytes. */
static void put_key(const struct tide_spec *spec, const struct tide_val *values, struct tide_buf *key,
                    struct tide_err *err) {
  tide_buf_reset(key);
  for (size_t i = 0; i < spec->npartition; i++) {
    const struct tide_val *value = &values[spec->partition[i]];
    const uint64_t number = value->type == TIDE_VAL_INT ? (uint64_t)value->i : value->n;
    if (tide_buf_reserve(key, 1 + sizeof number + value->n, err) != 0)
      return;
    unsigned char *at = key->data + key->len;
    *at++ = value->type;
    memcpy(at, &number, sizeof number);
    if (value->n > 0)
      memcpy(at + sizeof number, value->p, value->n);
    key->len += 1 + sizeof number + value->n;
  }
}

static bool run_is(const struct tide_run *run, const struct tide_buf *key) {
  return run->key_size == key->len && (key->len == 0 || memcmp(run->key, key->data, key->len) == 0);
}

struct tide_run *tide_runs_find(struct tide_runs *runs, const struct tide_spec *spec, const struct tide_val *values,
                                struct tide_err *err) {
  const struct tide_buf *key = &runs->key;
  put_key(spec, values, &runs->key, err);
  if (tide_err_is_set(err) || runs->count == 0)
    return NULL;
  if (runs->last != NULL && run_is(runs->last, key))
    return runs->last;
  const uint64_t hash = XXH3_64bits(key->data, key->len);
  struct tide_run *run = runs->buckets[hash & (runs->nbuckets - 1)];
  while (run != NULL && !run_is(run, key))
    run = run->next;
  runs->last = run;
  return run;
}

static void enter(struct tide_runs *runs, struct tide_run *run) {
  struct tide_run **bucket = &runs->buckets[run->hash & (runs->nbuckets - 1)];
  run->next = *bucket;
  *bucket = run;
}

/* Makes room for one run more. */
static int grow_buckets(struct tide_runs *runs, struct tide_err *err) {
  if (runs->count < runs->nbuckets)
    return 0;
  const size_t nbuckets = runs->nbuckets > 0 ? runs->nbuckets * 2 : BUCKETS_MIN;
  struct tide_run **buckets = tide_alloc_zero(nbuckets, sizeof(struct tide_run *), err);
  if (buckets == NULL)
    return err->rc;
  tide_free(runs->buckets);
  runs->buckets = buckets;
  runs->nbuckets = nbuckets;
  for (struct tide_run *run = runs->all; run != NULL; run = run->next_of_all)
    enter(runs, run);
  return 0;
}

struct tide_run *tide_runs_add(struct tide_runs *runs, int64_t partition, struct tide_err *err) {
  const struct tide_buf *key = &runs->key;
  if (tide_err_is_set(err) || grow_buckets(runs, err) != 0)
    return NULL;
  struct tide_run *run = tide_alloc_zero(1, sizeof *run + key->len, err);
  if (run == NULL)
    return NULL;
  run->rows.partition = partition;
  run->hash = XXH3_64bits(key->data, key->len);
  run->key_size = key->len;
  if (key->len > 0)
    memcpy(run->key, key->data, key->len);
  enter(runs, run);
  run->next_of_all = runs->all;
  runs->all = run;
  runs->count++;
  runs->last = run;
  return run;
}

/* ---- rows ---- */

int tide_runs_append(struct tide_runs *runs, struct tide_run *run, const struct tide_spec *spec, int64_t since,
                     int64_t ingested_at, const struct tide_val *values, struct tide_err *err) {
  const size_t before = run->rows.bytes.cap;
  const bool was_empty = tide_run_is_empty(run);
  const int rc = tide_tail_run_append(&run->rows, spec, since, ingested_at, values, err);
  runs->filled += was_empty && rc == 0;
  assert(runs->filled <= runs->count);
  runs->bytes += run->rows.bytes.cap - before;
  return rc;
}

static int by_last_since(const void *a, const void *b) {
  const struct tide_run *const *x = a;
  const struct tide_run *const *y = b;
  return ((*x)->rows.last_since > (*y)->rows.last_since) - ((*x)->rows.last_since < (*y)->rows.last_since);
}

struct tide_run **tide_runs_sorted(const struct tide_runs *runs, size_t *ret_count, struct tide_err *err) {
  *ret_count = 0;
  struct tide_run **sorted = runs->filled > 0 ? tide_alloc_zero(runs->filled, sizeof *sorted, err) : NULL;
  if (sorted == NULL)
    return NULL;
  for (struct tide_run *run = runs->all; run != NULL; run = run->next_of_all) {
    if (!tide_run_is_empty(run))
      sorted[(*ret_count)++] = run;
  }
  qsort(sorted, *ret_count, sizeof *sorted, by_last_since);
  return sorted;
}

/* ---- going out ---- */

static size_t memory_of(const struct tide_run *run) {
  return run->rows.bytes.cap + run->writer_memory;
}

static void drop_writer(struct tide_run *run) {
  tide_segment_writer_destroy(run->writer);
  run->writer = NULL;
  run->writer_memory = 0;
}

void tide_runs_packed(struct tide_runs *runs, struct tide_run *run, int64_t first, int64_t last) {
  const size_t memory = tide_segment_writer_memory(run->writer);
  runs->bytes += memory - run->writer_memory;
  if (run->writer_memory == 0)
    run->packed_first = first;
  run->writer_memory = memory;
  run->packed_last = last;
}

/* While rows are encoded the run counts as filled, also when a segment of all that was encoded goes out. */
void tide_runs_rows_packed(struct tide_runs *runs, struct tide_run *run) {
  tide_tail_run_reset(&run->rows);
  runs->filled -= tide_run_is_empty(run);
}

void tide_runs_packed_went_out(struct tide_runs *runs, struct tide_run *run) {
  runs->bytes -= run->writer_memory;
  drop_writer(run);
  runs->filled -= tide_run_is_empty(run);
}

static void empty(struct tide_run *run) {
  drop_writer(run);
  tide_tail_run_reset(&run->rows);
  if (run->rows.bytes.cap > TIDE_RUNS_KEPT_BYTES)
    tide_buf_clear(&run->rows.bytes);
}

void tide_runs_went_out(struct tide_runs *runs, struct tide_run *run) {
  runs->filled -= !tide_run_is_empty(run);
  runs->bytes -= memory_of(run);
  empty(run);
  runs->bytes += memory_of(run);
}

void tide_runs_all_went_out(struct tide_runs *runs) {
  if (runs->count > TIDE_RUNS_KEPT) {
    tide_runs_clear(runs);
    return;
  }
  runs->filled = 0;
  runs->bytes = 0;
  for (struct tide_run *run = runs->all; run != NULL; run = run->next_of_all) {
    empty(run);
    runs->bytes += memory_of(run);
  }
}

void tide_runs_forget(struct tide_runs *runs) {
  struct tide_run *run = runs->all;
  runs->all = runs->last = NULL;
  runs->count = 0;
  if (runs->nbuckets > 0)
    memset(runs->buckets, 0, runs->nbuckets * sizeof *runs->buckets);
  while (run != NULL) {
    struct tide_run *next = run->next_of_all;
    if (tide_run_is_empty(run)) {
      runs->bytes -= memory_of(run);
      free_run(run);
    } else {
      enter(runs, run);
      run->next_of_all = runs->all;
      runs->all = run;
      runs->count++;
    }
    run = next;
  }
}

void tide_runs_clear(struct tide_runs *runs) {
  while (runs->all != NULL) {
    struct tide_run *run = runs->all;
    runs->all = run->next_of_all;
    free_run(run);
  }
  tide_free(runs->buckets);
  tide_buf_clear(&runs->key);
  *runs = (struct tide_runs){0};
}
