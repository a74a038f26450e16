/* One operation under one fault after another, held against a run without any.
 *
 *   trial_begin(operation);
 *   for (long n = 1; trial_run(&fault, n); n++) {}       // until the fault is not reached any more
 *   trial_end();                                          */
#ifndef TIDE_TESTS_TRIAL_H
#define TIDE_TESTS_TRIAL_H

#include "observed.h"

/* A way to fail. */
struct fault {
  const char *name;
  void (*arm)(sqlite3 *db, long n);                          /* the n-th chance from now on */
  bool (*disarm)(sqlite3 *db);                               /* whether it was reached */
  bool (*is_told)(sqlite3 *db, int rc, const char *message); /* whether an error is this one */
  void (*closed)(void);                                      /* the connection is; NULL: nothing */
};

struct sight {
  char *state;
  char *outside;
};

static struct {
  const struct operation *operation;
  char *sql;
  struct sight before;
  struct sight after;
  char *tables; /* before */
  char *output; /* without a fault */
  const struct fault *fault;
  long n;
  long reached; /* trials in which the fault was */
  long told;    /* and of those, the ones that ended with an error */
} trial;

#define trial_assert(condition, ...)                                                                                   \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      char *why_ = sqlite3_mprintf(__VA_ARGS__);                                                                       \
      ck_abort_msg("%s %ld of %s\n%s", trial.fault != NULL ? trial.fault->name : "no fault", trial.n, trial.sql,       \
                   why_);                                                                                              \
    }                                                                                                                  \
  } while (0)

static inline struct sight sight_take(sqlite3 *db) {
  return (struct sight){observed_state(db), observed_outside()};
}

static inline void sight_clear(struct sight *sight) {
  free(sight->state);
  free(sight->outside);
  *sight = (struct sight){0};
}

static inline bool sight_same(const struct sight *left, const struct sight *right) {
  return strcmp(left->state, right->state) == 0 && strcmp(left->outside, right->outside) == 0;
}

/* ---- running ---- */

static inline int trial_collect(void *out, int count, char **values, char **names) {
  (void)names;
  for (int i = 0; i < count; i++)
    fprintf(out, "%s|", values[i] != NULL ? values[i] : "-");
  fprintf(out, "\n");
  return 0;
}

static inline int trial_exec(sqlite3 *db, char **ret_output) {
  size_t size = 0;
  FILE *out = open_memstream(ret_output, &size);
  const int rc = sqlite3_exec(db, trial.sql, trial_collect, out, NULL);
  fclose(out);
  observed_blank_ids(*ret_output);
  return rc;
}

/* What a failed statement of several leaves is ended as a user would. */
static inline void trial_give_up(sqlite3 *db) {
  if (!sqlite3_get_autocommit(db))
    db_exec(db, "ROLLBACK");
  if (sqlite3_db_filename(db, "fresh") != NULL)
    db_exec(db, "DETACH fresh");
}

static inline void trial_assert_nothing_open(sqlite3 *db) {
  trial_assert(sqlite3_txn_state(db, NULL) == SQLITE_TXN_NONE, "a transaction is open");
  for (sqlite3_stmt *stmt = NULL; (stmt = sqlite3_next_stmt(db, stmt)) != NULL;)
    trial_assert(!sqlite3_stmt_busy(stmt), "a statement is open: %s", sqlite3_sql(stmt));
}

static inline void trial_assert_sound(sqlite3 *db) {
  const char *wrong =
      db_text(db, "SELECT dataset, tidemark_check('main.' || dataset) AS c FROM main.tidemark_registry WHERE"
                  " c <> 'ok' UNION ALL SELECT dataset, tidemark_check('aux.' || dataset) AS c FROM"
                  " aux.tidemark_registry WHERE c <> 'ok'");
  trial_assert(*wrong == '\0', "%s", wrong);
}

static inline void trial_begin(const struct operation *operation) {
  trial.operation = operation;
  trial.sql = database_sql(operation->sql);
  trial.fault = NULL;
  trial.reached = trial.told = 0;
  database_prepare(operation);
  sqlite3 *db = database_open();
  trial.before = sight_take(db);
  trial.tables = observed_tables();
  const int rc = trial_exec(db, &trial.output);
  trial_assert(rc == SQLITE_OK, "%d: %s", rc, sqlite3_errmsg(db));
  trial.after = sight_take(db);
  trial_assert_sound(db);
  database_close(db);
}

static inline void trial_end(void) {
  sight_clear(&trial.before);
  sight_clear(&trial.after);
  free(trial.tables);
  free(trial.output);
  free(trial.sql);
}

/* ---- judging ---- */

static inline void trial_show_difference(const char *expected, const char *found, const char *what) {
  const char *line = observed_missing(found, "", NULL, expected, NULL);
  if (line != NULL)
    trial_assert(false, "%s: there is\n%s", what, line);
  line = observed_missing(expected, "", NULL, found, NULL);
  trial_assert(false, "%s: missing is\n%s", what, line != NULL ? line : "(another order)");
}

static inline void trial_assert_same(const char *expected, const char *found, const char *what) {
  if (strcmp(expected, found) != 0)
    trial_show_difference(expected, found, what);
}

/* Rows and what left are those of before, or are those of the end, or some of both; what both have is there. */
static inline void trial_assert_between(const struct sight *now) {
  static const char *const words[] = {"row", "log"};
  const char *line = observed_missing(now->outside, "", NULL, trial.before.outside, trial.after.outside);
  trial_assert(line == NULL, "what was never to leave is outside: %s", line);
  line = observed_missing(trial.before.outside, "", NULL, now->outside, NULL);
  trial_assert(line == NULL, "what had left is not outside any more: %s", line);
  for (int i = 0; i < 2; i++) {
    line = observed_missing(now->state, words[i], NULL, trial.before.state, trial.after.state);
    trial_assert(line == NULL, "neither before nor at the end was: %s", line);
    line = observed_missing(trial.before.state, words[i], trial.after.state, now->state, NULL);
    trial_assert(line == NULL, "before and at the end was: %s", line);
  }
}

/* After an error, or an answer that tells of one: what is there, and that the operation works now. */
static inline void trial_recover(sqlite3 *db) {
  char *output = NULL;
  if (trial.operation->failed == OPERATION_WHOLE) {
    char *tables = observed_tables();
    trial_assert_same(trial.tables, tables, "tables");
    free(tables);
  }
  struct sight now = sight_take(db);
  trial_assert_between(&now);
  trial_assert_sound(db);
  if (trial.operation->failed != OPERATION_ONCE || !sight_same(&now, &trial.after)) {
    if (trial.operation->failed != OPERATION_WHOLE)
      shim.now_ms += 600000; /* what is tried again waits */
    const int rc = trial_exec(db, &output);
    trial_assert(rc == SQLITE_OK, "repeated it says %d: %s", rc, sqlite3_errmsg(db));
    free(output);
  }
  sight_clear(&now);
}

/* false when the fault was not reached. */
static inline bool trial_run(const struct fault *fault, long n) {
  char *output = NULL;
  trial.fault = fault;
  trial.n = n;
  sqlite3 *db = database_open();
  fault->arm(db, n);
  const int rc = trial_exec(db, &output);
  char *message = strdup(sqlite3_errmsg(db));
  const bool reached = fault->disarm(db);
  trial_assert(rc == SQLITE_OK || (reached && fault->is_told(db, rc, message)), "%d: %s", rc, message);
  const bool told = rc != SQLITE_OK;
  trial_give_up(db);
  trial_assert_nothing_open(db);
  const bool right = !told && strcmp(output, trial.output) == 0;
  if (!right) {
    trial_assert(reached && (told || trial.operation->failed != OPERATION_WHOLE), "wrong answer:\n%s\nnot:\n%s", output,
                 trial.output);
    trial_recover(db);
  }
  struct sight now = sight_take(db);
  trial_assert_same(trial.after.state, now.state, "at the end");
  trial_assert_same(trial.after.outside, now.outside, "outside, at the end");
  trial_assert_sound(db);
  sight_clear(&now);
  free(message);
  free(output);
  database_close(db);
  if (fault->closed != NULL)
    fault->closed();
  trial.reached += reached;
  trial.told += told;
  return reached;
}

#endif
