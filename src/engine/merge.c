#include "engine/merge.h"

#include "base/mem.h"

static int64_t since_of(const struct tide_stream *stream) {
  return stream->window.batch.since[stream->window.row];
}

static bool is_before(const struct tide_merge *merge, size_t a, size_t b) {
  const int64_t x = since_of(merge->streams[a]);
  const int64_t y = since_of(merge->streams[b]);
  return merge->downwards ? x > y : x < y;
}

static void sift_down(struct tide_merge *merge, size_t at) {
  for (;;) {
    size_t first = at;
    for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < merge->count; child++) {
      if (is_before(merge, child, first))
        first = child;
    }
    if (first == at)
      return;
    struct tide_stream *swapped = merge->streams[at];
    merge->streams[at] = merge->streams[first];
    merge->streams[first] = swapped;
    at = first;
  }
}

static void heapify(struct tide_merge *merge, const struct tide_err *err) {
  for (size_t i = merge->count / 2; i > 0 && !tide_err_is_set(err); i--)
    sift_down(merge, i - 1);
}

static void free_stream(struct tide_stream *stream) {
  tide_stream_clear(stream);
  tide_free(stream);
}

static void drop(struct tide_merge *merge, size_t at) {
  free_stream(merge->streams[at]);
  merge->streams[at] = merge->streams[--merge->count];
}

void tide_merge_clear(struct tide_merge *merge) {
  while (merge->count > 0)
    drop(merge, merge->count - 1);
  tide_free(merge->streams);
  *merge = (struct tide_merge){0};
}

/* Goes to the first row to read of the stream's next windows. */
static bool enter_next(const struct tide_merge *merge, struct tide_stream *stream, struct tide_err *err) {
  while (tide_stream_next(stream, err)) {
    if (tide_window_enter(&stream->window, merge->downwards))
      return true;
  }
  return false;
}

static void add(struct tide_merge *merge, struct tide_stream_shared *shared, int64_t partition, struct tide_err *err) {
  struct tide_stream *stream = tide_alloc(sizeof *stream, err);
  if (stream == NULL)
    return;
  if (tide_stream_init(stream, shared, err) == 0 && tide_stream_start(stream, partition, err) &&
      enter_next(merge, stream, err))
    merge->streams[merge->count++] = stream;
  else
    free_stream(stream);
}

void tide_merge_start(struct tide_merge *merge, struct tide_stream_shared *shared, const int64_t *partitions,
                      size_t npartitions, struct tide_err *err) {
  merge->downwards = shared->request.order == TIDE_SCAN_DOWNWARDS;
  merge->streams = tide_alloc_zero(npartitions, sizeof *merge->streams, err);
  for (size_t i = 0; i < npartitions && !tide_err_is_set(err); i++)
    add(merge, shared, partitions[i], err);
  heapify(merge, err);
}

void tide_merge_next(struct tide_merge *merge, struct tide_err *err) {
  struct tide_stream *top = merge->streams[0];
  if (!tide_window_step(&top->window) && !enter_next(merge, top, err) && !tide_err_is_set(err))
    drop(merge, 0);
  if (merge->count > 1 && !tide_err_is_set(err))
    sift_down(merge, 0);
}

/* The row on top was read, the others' were not. */
void tide_merge_again(struct tide_merge *merge, struct tide_err *err) {
  for (size_t i = merge->count; i > 0 && !tide_err_is_set(err); i--) {
    struct tide_stream *stream = merge->streams[i - 1];
    tide_stream_again(stream, i > 1 ? TIDE_STREAM_AT_ROW : TIDE_STREAM_BEHIND_ROW, err);
    if (!enter_next(merge, stream, err))
      drop(merge, i - 1);
  }
  heapify(merge, err);
}
