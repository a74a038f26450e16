/* The export log and the batches in flight. The triggers of store/sinks_sql.c check what is written here as they check
 * everybody. */
#ifndef TIDE_STORE_EXPORTLOG_H
#define TIDE_STORE_EXPORTLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sqlite.h"
#include "store/names.h"
#include "store/sink_row.h"

/* ---- watermarks ---- */

/* Where a sink stands in a partition. */
struct tide_watermark {
  int64_t since;
  int64_t generation;
};
/* The sink's name must live until the statement is given back. */
sqlite3_stmt *tide_watermark_prepare(sqlite3 *db, struct tide_names names, const char *sink, struct tide_err *err);
/* The last row's until, or start when the log has none. SQLITE_CORRUPT_VTAB for one that cannot be. */
struct tide_watermark tide_watermark_get(sqlite3_stmt *stmt, const char *partition, size_t size, int64_t start,
                                         struct tide_err *err);

/* A since up to which no partition has rows for the sink: its log has them, or, of one that has none, it begins behind
 * them. */
int64_t tide_watermark_least(sqlite3 *db, struct tide_names names, const struct tide_sink *sink, struct tide_err *err);

/* ---- batches ---- */

/* A batch row. Strings are owned: tide_batch_row_clear. */
struct tide_batch_row {
  int64_t batch;
  char *sink;
  char *dataset;
  char *partition;
  int64_t generation;
  int64_t since;
  int64_t until;
  int64_t rows;
  char *key;
  char *object;        /* the key for one that forwards; NULL: the sink is driven by its user */
  char *config;        /* JSON: what was frozen */
  char *owner;         /* NULL: nobody's */
  int64_t lease_until; /* ms since 1970 */
  int64_t attempts;
  int64_t not_before; /* ms since 1970; 0: at once */
};

/* How long an owner has a batch to itself without renewing. */
enum { TIDE_BATCH_LEASE_MS = 60000 };

/* Whether nobody works on a batch any more: nobody ever did, its lease is out (or further away than any is, for the
 * clock was set back), or its owner is known to be dead. */
bool tide_batch_is_abandoned(const char *owner, int64_t lease_until, int64_t now_ms);

/* Open batches of a schema with numbers above one, of a sink and dataset (NULL: any), in order of their numbers. */
sqlite3_stmt *tide_batch_prepare(sqlite3 *db, const char *schema, int64_t above, const char *sink, const char *dataset,
                                 struct tide_err *err);
bool tide_batch_next(sqlite3_stmt *stmt, struct tide_batch_row *ret_row, struct tide_err *err);
void tide_batch_row_clear(struct tide_batch_row *row);

/* The highest batch number that is open; 0: none. */
int64_t tide_batch_last(sqlite3 *db, const char *schema, struct tide_stmt_pool *pool, struct tide_err *err);

/* Whether the sink has an open batch of that partition. */
bool tide_batch_is_open(sqlite3 *db, struct tide_names names, const char *sink, const char *partition,
                        struct tide_err *err);

/* Whether a batch of that number, or with that object (NULL: none), is open. */
bool tide_batch_is_known(sqlite3 *db, const char *schema, int64_t batch, const char *object, struct tide_err *err);

/* Deletes an open batch to make another of its rows. false, without an error, when it is no longer there under that
 * number. */
bool tide_batch_give_up(sqlite3 *db, const char *schema, int64_t batch, struct tide_err *err);

/* Inserts it, with claimed_at; row->batch is set. */
void tide_batch_insert(sqlite3 *db, struct tide_names names, struct tide_batch_row *row, int64_t now_ms,
                       struct tide_err *err);

/* Gives the batch a new owner and a new number, which row->batch then has. false, without an error, when it is gone
 * or was taken meanwhile. */
bool tide_batch_take(sqlite3 *db, const char *schema, struct tide_batch_row *row, const char *owner,
                     int64_t lease_until, struct tide_err *err);

/* Gives the batch a new owner; its number stays. */
void tide_batch_own(sqlite3 *db, const char *schema, int64_t batch, const char *owner, int64_t lease_until,
                    struct tide_err *err);

/* Leaves out the number that the next batch would have: a write for a transaction that has no other, for one that
 * writes nothing has nothing synced. */
void tide_batch_pass_number(sqlite3 *db, const char *schema, struct tide_err *err);

/* Renews the lease. false, without an error, when the batch is no longer there under that number. */
bool tide_batch_renew(sqlite3 *db, const char *schema, int64_t batch, int64_t lease_until, struct tide_err *err);

/* Notes a failure and gives the batch free. false, without an error, when the batch is no longer there under that
 * number. */
bool tide_batch_fail(sqlite3 *db, const char *schema, int64_t batch, const char *message, int64_t not_before,
                     struct tide_err *err);

/* ---- acks ---- */

struct tide_ack {
  int64_t rows; /* delivered */
  int64_t skipped;
  int64_t dead; /* set aside (dead.h) */
  int64_t bytes;
  const char *object; /* NULL: nothing was written */
  const char *hash;
  const char *reason; /* NULL: nothing to remark */
};

/* Inserts the log row of a batch, which ends it; refused (SQLITE_CONSTRAINT) when the batch is gone or has another
 * number by now. */
void tide_exportlog_ack(sqlite3 *db, struct tide_names names, const struct tide_batch_row *row,
                        const struct tide_ack *ack, struct tide_err *err);

/* ---- gaps ---- */

/* Rows that a sink never had and that are gone. */
struct tide_gap {
  const char *sink;
  const char *dataset;
  const char *partition;
  int64_t since; /* its watermark */
  int64_t until; /* the last row removed */
  int64_t rows;  /* that were there to deliver */
  const char *reason;
  bool ends_batch; /* delete the sink's open batch of that partition first */
};

/* Inserts the log row, also for a sink that is not registered any more as long as its log has the partition. */
void tide_exportlog_gap(sqlite3 *db, const char *schema, const struct tide_gap *gap, struct tide_err *err);

/* ---- rewinds ---- */

/* The log row of a rewind. reason is owned: tide_rewind_row_clear. */
struct tide_rewind_row {
  int64_t generation; /* the one that it began */
  int64_t since;      /* the watermark that it left */
  int64_t until;      /* where the sink stands now */
  int64_t rows;       /* live rows between the two: those it gives back */
  char *reason;
};

/* The last log row of that sink and partition when it is a rewind; false when it is another, or there is none. */
bool tide_exportlog_last_rewind(sqlite3 *db, struct tide_names names, const char *sink, const char *partition,
                                struct tide_rewind_row *ret_row, struct tide_err *err);
void tide_rewind_row_clear(struct tide_rewind_row *row);

/* Inserts the log row of a rewind from the watermark to one below it. */
void tide_exportlog_rewind(sqlite3 *db, struct tide_names names, const char *sink, const char *partition, int64_t since,
                           int64_t until, const char *reason, struct tide_err *err);

/* ---- trimming ---- */

/* Deletes at most max_rows of a dataset's oldest log rows; the last of each sink and partition stays, and
 * tidemark_export_total keeps what the others counted. It walks the ids upward and stops at the first row of the log,
 * whoever's, that was committed at before_ms (since 1970) or later, so that a call costs what it deletes and the rows
 * that it passes over. Gives how many are gone. */
int64_t tide_exportlog_trimmable(sqlite3 *db, struct tide_names names, int64_t before_ms, int64_t max_rows,
                                 struct tide_err *err); /* how many would be, without deleting */
int64_t tide_exportlog_trim(sqlite3 *db, struct tide_names names, int64_t before_ms, int64_t max_rows,
                            struct tide_err *err);

#endif
