/* A prune at work on one partition: what may go of it, and how it goes. It takes whole segments with their chunks, tail
 * entries, and the front of the segment or entry that the cut falls into, which stays stored until compaction but is
 * read no more. In the same transaction every sink that is overtaken gets a gap in its log. */
#ifndef TIDE_ENGINE_PRUNE_PARTITION_H
#define TIDE_ENGINE_PRUNE_PARTITION_H

#include "engine/retention.h"
#include "engine/work.h"

struct tide_prune_request {
  bool dry_run;      /* look only */
  int64_t max_bytes; /* stored bytes to take away before it stops; at least one segment with rows goes */
};

/* A sink that holds rows back. */
struct tide_prune_held {
  char *sink;
  int64_t rows;
  int64_t partitions;
};

/* A row of the future that keeps those behind it. */
struct tide_prune_future {
  char *partition;
  int64_t since;
  int64_t at; /* in retention_by's unit; ms when it is the time of ingest */
};

enum { TIDE_PRUNE_FUTURE_LISTED = 10 };

/* What was done, or with dry_run would be. All zero before; tide_prune_result_clear after. */
struct tide_prune_result {
  int64_t rows; /* live ones that went */
  int64_t partitions;
  int64_t segments; /* that went whole */
  int64_t stored_bytes;
  int64_t gaps; /* log rows */
  int64_t gap_rows;
  int64_t held_rows; /* past the limits, but held */
  struct tide_prune_held *held;
  size_t nheld;
  size_t held_cap;
  int64_t nfuture;
  struct tide_prune_future future[TIDE_PRUNE_FUTURE_LISTED]; /* the first of them */
  bool more;                                                 /* stopped at max_bytes */
  struct tide_failures failures;
};

enum { TIDE_PRUNE_PIECE_BYTES = 64 << 20 }; /* stored bytes that one transaction takes away */

/* All zero but the first five before its first use; the rest is of the partition that `id` and `text` name. */
struct tide_pruning {
  struct tide_dataset *ds;
  struct tide_names names;
  const struct tide_prune_request *request;
  struct tide_prune_result *result;
  int64_t now_ms;
  int64_t id;
  struct tide_buf text; /* the partition's, and a NUL */
  struct tide_holds holds;
  struct tide_stat stat;
  struct tide_retention retention;
  bool took; /* rows of this partition */
};

static inline const char *tide_pruning_text(const struct tide_pruning *pruning) {
  return (const char *)pruning->text.data;
}

static inline size_t tide_pruning_text_size(const struct tide_pruning *pruning) {
  return pruning->text.len - 1;
}

/* What the connection sees of the partition now. false when it has no rows, and on error. */
bool tide_pruning_look(struct tide_pruning *pruning, struct tide_err *err);

/* Adds to the result what stays of the partition, and why; what a prune would take away now. After a look. */
void tide_pruning_tell_staying(struct tide_pruning *pruning, struct tide_err *err);
void tide_pruning_tell_going(struct tide_pruning *pruning, struct tide_err *err);

/* Within a transaction, looks again and takes one piece away. True when more of what may go is left. */
bool tide_pruning_take(struct tide_pruning *pruning, struct tide_err *err);

#endif
