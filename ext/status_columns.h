/* The columns of the status tables: what each row at hand of a cursor says. */
#ifndef TIDE_EXT_STATUS_COLUMNS_H
#define TIDE_EXT_STATUS_COLUMNS_H

#include "engine/stats.h"
#include "store/exportlog.h"
#include "store/sink_row.h"

enum tide_status_kind {
  TIDE_STATUS_DATASET,
  TIDE_STATUS_STAT,
  TIDE_STATUS_SEGMENT,
  TIDE_STATUS_LAG,
  TIDE_STATUS_KINDS
};

/* Columns of tidemark_lag that a constraint means more for than its rows. */
enum { TIDE_LAG_ROWS = 5, TIDE_LAG_MAX_ROWS = 9, TIDE_LAG_MAX_UNTIL = 10 };

/* Which column a constraint on it narrows, -1: the table has none such. */
struct tide_status_table {
  const char *name;
  const char *declaration;
  int sink_column;
  int dataset_column;
  int partition_column;
};
extern const struct tide_status_table tide_status_tables[TIDE_STATUS_KINDS];

/* All zero is one at no row. */
struct tide_status_cursor {
  sqlite3_vtab_cursor base;
  bool at_end;
  char *partition; /* asked for; NULL: all */
  int64_t max_rows;
  bool max_rows_given;
  int64_t max_until;
  bool max_until_given;
  bool behind_only;        /* lag: partitions with rows to deliver are enough */
  sqlite3_stmt *outer;     /* datasets, or sinks */
  struct tide_sink sink;   /* lag: the sink at hand */
  struct tide_dataset *ds; /* the dataset at hand */
  struct tide_stats *stats;
  struct tide_stat stat;
  sqlite3_stmt *watermarks;
  sqlite3_stmt *segments;
  struct tide_watermark watermark;
  bool range_known;
  struct tide_range range;
  int64_t rowid;
  bool held_known; /* stat: what retention holds back of the partition at hand */
  int64_t held_rows;
  struct tide_buf held_by;
};

/* Hands the column of the row at hand to SQLite, unless err is set. */
void tide_status_put_column(struct tide_status_cursor *cursor, enum tide_status_kind kind, int column,
                            sqlite3_context *context, struct tide_err *err);

#endif
