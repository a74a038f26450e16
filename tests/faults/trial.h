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
  bool may_be_done;                                          /* SQLite may find it out when all is committed */
  void (*go_on)(sqlite3 *db);                                /* all is over and right; NULL: nothing */
  void (*closed)(void);                                      /* the connection is; NULL: nothing */
};

struct sight {
  char *state;
  char *outside;
};

static struct {
  const struct operation *operation;
  char *sql;
  const char *failed_at; /* in it: the statement that did */
  const char *resume;    /* and where a user would go on */
  struct sight before;
  struct sight after;
  char *tables;          /* before */
  struct image ended[2]; /* after */
  char *output;          /* without a fault */
  const struct fault *fault;
  long n;
  void (*look)(sqlite3 *db); /* at what an error left, before it is tried again; NULL: nothing */
  long reached;              /* trials in which the fault was */
  long told;                 /* and of those, the ones that ended with an error */
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

static inline int trial_step(sqlite3_stmt *stmt, FILE *out) {
  int rc;
  while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
      const char *value = (const char *)sqlite3_column_text(stmt, i);
      if (value == NULL && sqlite3_column_type(stmt, i) != SQLITE_NULL)
        return SQLITE_NOMEM;
      fprintf(out, "%s|", value != NULL ? value : "-");
    }
    fprintf(out, "\n");
  }
  return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* From there to the end, or to the first failure. One goes on from it where its transaction began. What is
 * random is the same each time. */
static inline int trial_exec(sqlite3 *db, const char *sql, char **ret_output) {
  size_t size = 0;
  int rc = SQLITE_OK;
  sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, 7, NULL);
  FILE *out = open_memstream(ret_output, &size);
  while (rc == SQLITE_OK && *(sql += strspn(sql, "; \n")) != '\0') {
    sqlite3_stmt *stmt = NULL;
    const char *tail = sql;
    trial.failed_at = sql;
    if (sqlite3_get_autocommit(db))
      trial.resume = sql;
    rc = sqlite3_prepare_v2(db, sql, -1, &stmt, &tail);
    if (rc == SQLITE_OK)
      rc = trial_step(stmt, out);
    sqlite3_finalize(stmt);
    sql = tail;
  }
  fclose(out);
  observed_blank_ids(*ret_output);
  return rc;
}

/* Whether an answer says that something went wrong. */
static inline bool trial_tells(const char *output) {
  const char *failed = strstr(output, "\"failed\":");
  return (failed != NULL && failed[strlen("\"failed\":")] != '0') || strstr(output, "\"failures\":[{") != NULL ||
         strstr(output, "\"ok\":false") != NULL;
}

/* What a failed statement of several leaves is ended as a user would: a COMMIT that must wait is tried again, now and
 * then. Returns what the whole came to. */
static inline int trial_give_up(sqlite3 *db, int rc) {
  if (sqlite3_get_autocommit(db))
    return rc;
  trial_assert(strstr(trial.sql, "BEGIN") != NULL || strstr(trial.sql, "SAVEPOINT") != NULL,
               "a transaction is open that nobody began");
  const bool again = (rc & 0xff) == SQLITE_BUSY && strncmp(trial.failed_at, "COMMIT", 6) == 0 && trial.n % 2 == 1;
  db_exec(db, again ? "COMMIT" : "ROLLBACK");
  return again ? SQLITE_OK : rc;
}

static inline void trial_assert_nothing_open(sqlite3 *db) {
  trial_assert(sqlite3_txn_state(db, NULL) == SQLITE_TXN_NONE, "a transaction is open");
  for (sqlite3_stmt *stmt = NULL; (stmt = sqlite3_next_stmt(db, stmt)) != NULL;)
    trial_assert(!sqlite3_stmt_busy(stmt), "a statement is open: %s", sqlite3_sql(stmt));
}

static inline void trial_assert_sound(sqlite3 *db) {
  static const char *const schemas[] = {"main", "aux"};
  for (int i = 0; i < 2; i++) {
    const char *wrong = db_text(db,
                                "SELECT dataset, tidemark_check(%Q || '.' || dataset) AS said FROM"
                                " %s.tidemark_registry JOIN %s.sqlite_schema ON name = dataset WHERE said <> 'ok'",
                                schemas[i], schemas[i], schemas[i]);
    trial_assert(*wrong == '\0', "%s", wrong);
  }
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
  const int rc = trial_exec(db, trial.sql, &trial.output);
  trial_assert(rc == SQLITE_OK, "%d: %s", rc, sqlite3_errmsg(db));
  trial.after = sight_take(db);
  trial_assert_sound(db);
  database_read(trial.ended);
  database_close(db);
}

static inline void trial_end(void) {
  sight_clear(&trial.before);
  sight_clear(&trial.after);
  free(trial.tables);
  for (int i = 0; i < 2; i++) {
    free(trial.ended[i].bytes);
    trial.ended[i] = (struct image){0};
  }
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
  const char *line =
      observed_missing(observed_without_tmp(now->outside), "", NULL, trial.before.outside, trial.after.outside);
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
  const bool is_whole = trial.operation->failed == OPERATION_WHOLE;
  bool is_done = trial.operation->failed == OPERATION_ONCE && database_is(trial.ended);
  if (is_whole && trial.fault->may_be_done) {
    struct sight now = sight_take(db);
    is_done = sight_same(&now, &trial.after) && !sight_same(&now, &trial.before);
    sight_clear(&now);
  }
  char *output = NULL;
  if (is_whole && !is_done && !database_is(database.prepared)) {
    char *tables = observed_tables();
    trial_assert_same(trial.tables, tables, "tables");
    free(tables);
  } else if (!is_whole && !is_done && !database_is(database.prepared)) {
    struct sight now = sight_take(db);
    trial_assert_between(&now);
    trial_assert_sound(db);
    is_done = trial.operation->failed == OPERATION_ONCE && sight_same(&now, &trial.after);
    sight_clear(&now);
  }
  if (is_done)
    return;
  if (!is_whole)
    shim.now_ms += 600000; /* what is tried again waits */
  const int rc = trial_exec(db, trial.resume, &output);
  trial_assert(rc == SQLITE_OK && !trial_tells(output), "repeated it says %d: %s %s", rc, sqlite3_errmsg(db), output);
  free(output);
}

/* What is there is what an undisturbed run left. */
static inline void trial_assert_ended(sqlite3 *db) {
  struct sight now = {0};
  if (!database_is(trial.ended)) {
    now.state = observed_state(db);
    trial_assert_same(trial.after.state, now.state, "at the end");
    trial_assert_sound(db);
  }
  now.outside = observed_outside();
  trial_assert_same(trial.after.outside, now.outside, "outside, at the end");
  sight_clear(&now);
}

/* false when the fault was not reached. */
static inline bool trial_run(const struct fault *fault, long n) {
  char *output = NULL;
  trial.fault = fault;
  trial.n = n;
  sqlite3 *db = database_open();
  fault->arm(db, n);
  int rc = trial_exec(db, trial.sql, &output);
  char *message = strdup(sqlite3_errmsg(db));
  const bool reached = fault->disarm(db);
  trial_assert(rc == SQLITE_OK || (reached && fault->is_told(db, rc, message)), "%d: %s", rc, message);
  rc = trial_give_up(db, rc);
  const bool told = rc != SQLITE_OK || (strcmp(output, trial.output) != 0 && trial_tells(output));
  trial_assert_nothing_open(db);
  if (told && trial.look != NULL)
    trial.look(db);
  if (told)
    trial_recover(db);
  else
    trial_assert_same(trial.output, output, "the answer");
  trial_assert_ended(db);
  free(message);
  free(output);
  if (fault->go_on != NULL)
    fault->go_on(db);
  database_close(db);
  if (fault->closed != NULL)
    fault->closed();
  trial.reached += reached;
  trial.told += told;
  return reached;
}

#endif
