/* The handle of one dataset on one connection: what it is, what is cached of it, and what the open transaction has
 * written. There is one handle for a dataset of a connection, shared by all virtual-table instances, cursors and
 * functions (SQLite keeps two instances of a table at times), so that rows in memory are never doubled.
 *
 * What is cached (the tail's index, the counters, the partitions that have runs and those that are known) is right for
 * one state of the file: `version` is the file's data version when it was read outside a write transaction of our own;
 * inside one, `in_txn` says that it holds this transaction's own writes as well. tide_dataset_refresh makes it right
 * again at the start of whatever reads it. */
#ifndef TIDE_ENGINE_DATASET_H
#define TIDE_ENGINE_DATASET_H

#include "base/progress.h"
#include "base/sqlite.h"
#include "base/stmt_pool.h"
#include "engine/known.h"
#include "engine/txn.h"
#include "model/spec.h"
#include "store/catalog.h"
#include "store/catalog_column.h"
#include "store/catalog_partition.h"
#include "store/catalog_segment.h"
#include "store/tail.h"

struct tide_dataset;

/* One connection. Shared by all that registers with it; freed with the last reference. */
struct tide_conn {
  sqlite3 *db;
  int refs;
  struct tide_dataset *datasets; /* the live handles, each at most once */
  struct tide_tail_press press;  /* for their tails */
  struct tide_stmt_pool pool;    /* statements on main's tables of the sinks */
  struct tide_progress progress; /* of the call at work */
};

struct tide_conn *tide_conn_create(sqlite3 *db, struct tide_err *err);
struct tide_conn *tide_conn_ref(struct tide_conn *conn);
void tide_conn_unref(struct tide_conn *conn);

/* The pool for statements on a schema's tables of the sinks; NULL for another than main. Those that were taken while
 * the connection holds it stay as long as there is a handle: SQLite lets go of the tables that have it before it looks
 * for open statements. */
struct tide_stmt_pool *tide_conn_pool(struct tide_conn *conn, const char *schema);
void tide_conn_hold(struct tide_conn *conn);
void tide_conn_release(struct tide_conn *conn); /* as often as it was held */

struct tide_dataset {
  struct tide_conn *conn;
  struct tide_dataset *next;
  int refs;
  bool listed; /* in conn->datasets: what acquire finds; a dropped, renamed or replaced dataset is not */
  bool gone;   /* dropped or renamed: what it had in hand was flushed, and its transaction does nothing any more */
  char *schema;
  char *name;
  struct tide_spec *spec;
  struct tide_config
      config;  /* as cached: log_id, sealed_since, seals, options; next_chunk only within a packer's life */
  bool loaded; /* spec and config were read at least once */

  bool version_known;
  uint32_t version;
  bool in_txn;
  struct tide_tail_index tail;
  struct tide_known known;
  int64_t npartitions; /* how many there were when the cache was read, counted up to TIDE_CATALOG_PARTITIONS_COUNTED */
  int64_t deleted_max; /* the highest since in _deleted, 0: none */
  int64_t epoch;       /* grows when rows move between tail and segments, or vanish by rollback: cursors look again */
  int64_t durable_batch; /* open batches with numbers up to it are on the disk, whoever claimed them */
  int64_t scans;         /* open ones: what takes rows away must not run under them (tide_dataset_check_unread) */

  struct tide_stmt_pool *pool; /* statements on its tables, as long as somebody holds it; those that look for what was
                                  committed and the one that writes to the tail as long as the handle */
  struct tide_txn txn;
};

static inline struct tide_names tide_dataset_names(const struct tide_dataset *ds) {
  return (struct tide_names){.schema = ds->schema,
                             .dataset = ds->name,
                             .pool = ds->pool,
                             .press = &ds->conn->press,
                             .unique = ds->config.options.unique != TIDE_OPTIONS_NOT_UNIQUE};
}

/* Makes a new dataset's tables; the spec is kept (a reference is taken). The handle has one reference. */
struct tide_dataset *tide_dataset_create(struct tide_conn *conn, const char *schema, const char *name,
                                         struct tide_spec *spec, const struct tide_options *options,
                                         struct tide_err *err);

/* Takes up the tables of an earlier log as they are, log id, columns and options included, and what the sinks' tables
 * have of it. The handle has one reference. NULL on failure: SQLITE_ERROR when tables are missing. */
struct tide_dataset *tide_dataset_adopt(struct tide_conn *conn, const char *schema, const char *name,
                                        struct tide_err *err);

/* The handle of an existing dataset, made when there is none, with its spec as the file has it now. NULL on failure. */
struct tide_dataset *tide_dataset_acquire(struct tide_conn *conn, const char *schema, const char *name,
                                          struct tide_err *err);
/* The handle that the connection has of one already; NULL: none. Whether it is of the log that has that name now, the
 * next refresh says. The caller releases it. */
struct tide_dataset *tide_dataset_find(struct tide_conn *conn, const char *schema, const char *name);
struct tide_dataset *tide_dataset_ref(struct tide_dataset *ds);
void tide_dataset_release(struct tide_dataset *ds); /* NULL is fine */

/* Removes everything of the dataset but its rows in the sink tables (store/sinks.h does those). The handle is gone. */
void tide_dataset_drop(struct tide_dataset *ds, struct tide_err *err);
/* The same for one that is so damaged that it has no handle. */
void tide_dataset_drop_damaged(struct tide_conn *conn, const char *schema, const char *name, struct tide_err *err);

/* Renames the shadow tables. The handle is gone: who holds it goes on with one of the new name, or of the old one when
 * the RENAME is rolled back (tide_dataset_current). */
void tide_dataset_rename(struct tide_dataset *ds, const char *new_name, struct tide_err *err);

/* The handle to use for one that may be gone: itself, or in exchange for it the one that its name has now. NULL on
 * failure, and the old one is kept. */
struct tide_dataset *tide_dataset_current(struct tide_dataset *ds, struct tide_err *err);

/* Makes the cache right for what the connection sees now. A read or write transaction must be open on the schema.
 * Rows in memory are not in it: see tide_txn_flush. */
void tide_dataset_refresh(struct tide_dataset *ds, struct tide_err *err);

/* Whether the cache, config and spec among it, is known to be right without a look at the tables. The same as for
 * tide_dataset_refresh must be open. */
bool tide_dataset_is_fresh(const struct tide_dataset *ds);

/* Says that our own write changed what is cached, and that the cache was changed along with it. */
void tide_dataset_touched(struct tide_dataset *ds);
/* Forgets the cache. */
void tide_dataset_forget(struct tide_dataset *ds);
/* After the transaction committed: what the cache holds is now what the file holds. */
void tide_dataset_committed(struct tide_dataset *ds);

/* SQLITE_LOCKED with a sentence when a cursor of this connection is open on the dataset: it would see a mix. */
void tide_dataset_check_unread(const struct tide_dataset *ds, const char *what, struct tide_err *err);

/* The highest since given so far, as the cache says: 0 for none. Refresh first. */
int64_t tide_dataset_last_since(const struct tide_dataset *ds);

/* Milliseconds since 1970 by the clock of the dataset's file. */
int64_t tide_dataset_now_ms(const struct tide_dataset *ds);

#endif
