/* The open transaction's writes to one dataset. Rows gather in memory, one run a partition, and SQLite's own
 * rollback is the truth: they are flushed to the shadow tables before a savepoint, before a read and before the
 * commit, and dropped, with every cached number, on any rollback.
 *
 *   idle --begin--> open --append, delete--> open --flush--> open --sync--> synced --commit--> idle
 *                    |  rollback_to: drop memory, stay open           \--rollback from any: drop all--> idle
 *
 * Every step may come twice (two instances of one table, COMMIT tried again after BUSY) and is then nothing. */
#ifndef TIDE_ENGINE_TXN_H
#define TIDE_ENGINE_TXN_H

#include "base/sqlite.h"
#include "engine/erase.h"
#include "engine/packing.h"
#include "engine/runs.h"
#include "model/val.h"

struct tide_dataset;

enum {
  TIDE_TXN_MEMORY_BYTES = 22 << 20,    /* rows that take more memory than that go out */
  TIDE_TXN_DIRECT_BYTES = 1 << 20,     /* a run of that size goes to a segment at once, never through the tail */
  TIDE_TXN_TAIL_BATCHES = 4096,        /* a commit that leaves more in the tail seals some of it, unless */
  TIDE_TXN_TAIL_BATCHES_EACH = 8,      /* these are so many for each partition that has any, or fewer, and */
  TIDE_TXN_TAIL_BATCHES_MAX = 1 << 17, /* no more than that */
  TIDE_TXN_TAIL_BYTES = 64 << 20
};

struct tide_txn {
  bool open;
  bool alone; /* one statement's own transaction: SQLite sets changes() after it, whatever ours set */
  bool counters_known;
  bool flushing;       /* rows in memory are on their way out */
  bool failed;         /* a flush or seal broke off midway: only a rollback is left */
  int64_t first_since; /* the lowest since it may have written */
  int64_t next_since;
  struct sqlite3_vfs *vfs;     /* the file's, which has the clock; NULL: not asked yet */
  struct tide_runs runs;       /* rows in memory, */
  struct tide_packing packing; /* and how they are encoded */

  struct tide_erase erase; /* DELETE's part: erase.h */
};

/* A write transaction has begun on the schema (its lock is held). */
void tide_txn_begin(struct tide_dataset *ds);

/* Appends a row: values has one entry a column, already of the column's type. Gives its since. On failure nothing
 * was appended; SQLITE_CONSTRAINT_UNIQUE is one (once.h). Without memory for a row whose value is entered, the
 * transaction is left failed, as by a flush. */
int tide_txn_append(struct tide_dataset *ds, const struct tide_val *values, int64_t *ret_since, struct tide_err *err);

/* Puts what is in memory into the shadow tables. Restores last_insert_rowid. Nothing to do when nothing is there. An
 * error midway leaves the transaction failed: what was written cannot be told apart any more, so savepoints and the
 * commit are refused until a rollback. */
void tide_txn_flush(struct tide_dataset *ds, struct tide_err *err);

/* A statement of an open transaction is done, or a savepoint is released: flushes, what is due into segments. Done
 * here, changes() stays that of the statement, which SQLite sets after it. */
void tide_txn_release(struct tide_dataset *ds, struct tide_err *err);

/* Before the commit: flush, then seal by the rules of autoflush. */
void tide_txn_sync(struct tide_dataset *ds, struct tide_err *err);

void tide_txn_committed(struct tide_dataset *ds);
void tide_txn_rolled_back(struct tide_dataset *ds);
/* Rolled back to a savepoint, perhaps to one that was never announced: what is in memory and cached is dropped. */
void tide_txn_rolled_back_to(struct tide_dataset *ds);

/* Marks the transaction as failed when err is set, unless the error has rolled it back already (SQLite then called
 * tide_txn_rolled_back from within the statement that failed). */
void tide_txn_note_failure(struct tide_dataset *ds, const struct tide_err *err);

/* SQLITE_ABORT when it has failed: rows may be in neither place then, so who reads or writes asks. */
void tide_txn_check(const struct tide_dataset *ds, struct tide_err *err);

/* Frees all memory and statements (rows included). */
void tide_txn_drop(struct tide_dataset *ds);

#endif
