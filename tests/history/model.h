/* What a world must be like: a plain model that knows each committed row and what each sink was told, beside the
 * dataset. A transaction keeps whole copies of it, so that a rollback is going back to one. */
#ifndef TIDE_TESTS_HISTORY_MODEL_H
#define TIDE_TESTS_HISTORY_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PARTS = 4, SINKS = 5, ADDED = 4, NONE = -1 };

/* ---- rows ---- */

enum fate { LIVE, DELETED, PRUNED };

struct row {
  int64_t since;
  int64_t value;
  int64_t at; /* the clock when it was written */
  int64_t ts; /* the timestamp column; NONE: NULL */
  int part;
  enum fate fate;
};

/* ---- sinks ---- */

enum sink_kind {
  BY_FILE, /* NDJSON to a folder */
  BY_SQL,  /* copies rows into an ordinary table, in one transaction with its watermark */
  BY_HAND  /* claims, ships, acks */
};

enum filter { FILTER_NONE, FILTER_THIRDS, FILTER_LOW, FILTERS };
enum state { ACTIVE, PAUSED, DISABLED, BLOCKED, STATES };

struct sink {
  bool registered;
  int64_t start;
  char prefix[16]; /* the dataset's name when it was registered */
  char target;     /* which of its two folders */
  enum filter filter;
  bool narrow; /* columns: without body and partition */
  enum state state;
  bool hold;
  int64_t hold_rows;   /* NONE: no cap, as below */
  int64_t hold_age_ms; /* NONE */
  int64_t max_rows;    /* NONE: the default */
  int64_t min_rows;    /* 0: does not wait */
};

struct batch {
  bool open;
  int64_t number;
  int64_t since;
  int64_t until;
  int64_t generation;
  int64_t rows;
  int64_t lease_until;
  bool free;      /* nobody's */
  bool ours;      /* of this process, which lives */
  struct sink by; /* its sink when it was claimed */
};

enum entry_kind { BATCH, GAP, REWIND };

/* A row of the export log. */
struct entry {
  int64_t id;
  int sink;
  int part;
  int64_t generation;
  enum entry_kind kind;
  int64_t since;
  int64_t until;
  int64_t rows;
  int64_t skipped;
  int64_t dead;
  int64_t bytes;
  char object[160]; /* "": none */
  char target;
  uint64_t hash; /* of the object's bytes */
  bool trimmed;  /* no longer in the table */
};

/* ---- all of it ---- */

struct options {
  int64_t age_ms; /* NONE: no limit, as for the next two */
  int64_t rows;
  int64_t bytes;
  bool by_ts; /* age counts from the timestamp column where that is not NULL */
};

struct model {
  char dataset[16];
  struct row *rows; /* ascending in since */
  size_t nrows;
  size_t rows_cap;
  struct entry *log; /* ascending in id, trimmed ones included */
  size_t nlog;
  size_t log_cap;
  struct sink sinks[SINKS];
  struct batch batches[SINKS][PARTS];
  struct options options;
  int added;               /* columns added0, added1 ... that came later */
  int64_t added_at[ADDED]; /* the newest row then: those up to it read the column's DEFAULT, the others are NULL */
  bool lost[SINKS][PARTS]; /* rows went that no gap tells of: the sink was not registered and has no log there, or
                              started later */
};

extern const char *const sink_names[SINKS];
extern const enum sink_kind sink_kinds[SINKS];
extern const char *const filter_sql[FILTERS]; /* NULL: none */
extern const char *const state_names[STATES];
extern const char *const entry_kinds[];

void model_copy(struct model *to, const struct model *from);
void model_clear(struct model *model);

void model_add_row(struct model *model, const struct row *row);
void model_add_entry(struct model *model, const struct entry *entry);

/* The highest number that any row ever had, whatever became of it. */
int64_t model_newest(const struct model *model);
int64_t model_newest_of(const struct model *model, int part);
/* NULL when there never was one. */
struct row *model_find(const struct model *model, int64_t since);
/* Index of the first row above a since. */
size_t model_above(const struct model *model, int64_t since);

/* Rows of a partition that are there, with above < since <= upto. */
int64_t model_live(const struct model *model, int part, int64_t above, int64_t upto);

/* The last entry of a sink and partition; NULL when it has none. */
const struct entry *model_last(const struct model *model, int sink, int part);
/* Where the sink stands: its last until, or its start. */
int64_t model_watermark(const struct model *model, int sink, int part);
int64_t model_generation(const struct model *model, int sink, int part);

bool filter_keeps(enum filter filter, const struct row *row);
/* Whether retention waits for the sink at all. */
bool sink_holds(const struct sink *sink);

#endif
