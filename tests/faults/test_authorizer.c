/* The host's authorizer denies each thing that an operation asks for in turn, by SQLITE_DENY and by SQLITE_IGNORE, as
 * long as the operation runs. Denied, it says so in a sentence; what is there is as the operation says, and it works
 * when it is allowed again. So it is with a row of Tidemark's own that is not inserted because the authorizer ignores
 * it. What else is ignored (columns read as NULL, columns not updated) cannot all be seen: nothing is read that is not
 * there, and nothing is left open. */
#define _GNU_SOURCE
#include "faults_main.h"

enum { ASKED_MAX = 4000, ASKED_SIZE = 200 };

static struct {
  char asked[ASKED_MAX][ASKED_SIZE]; /* each thing once, in the order of the run without a fault */
  long count;
  long at;    /* what is denied; 0: nothing yet */
  int answer; /* SQLITE_DENY or SQLITE_IGNORE */
  bool reached;
} authorizer;

static void say(char text[ASKED_SIZE], int action, const char *a, const char *b, const char *schema,
                const char *trigger) {
  snprintf(text, ASKED_SIZE, "%d %s %s %s %s", action, a != NULL ? a : "-", b != NULL ? b : "-",
           schema != NULL ? schema : "-", trigger != NULL ? trigger : "-");
}

static int learn(void *data, int action, const char *a, const char *b, const char *schema, const char *trigger) {
  (void)data;
  char text[ASKED_SIZE];
  say(text, action, a, b, schema, trigger);
  for (long i = 0; i < authorizer.count; i++) {
    if (strcmp(text, authorizer.asked[i]) == 0)
      return SQLITE_OK;
  }
  ck_assert_int_lt(authorizer.count, ASKED_MAX);
  memcpy(authorizer.asked[authorizer.count++], text, ASKED_SIZE);
  return SQLITE_OK;
}

static int judge(void *data, int action, const char *a, const char *b, const char *schema, const char *trigger) {
  (void)data;
  char text[ASKED_SIZE];
  say(text, action, a, b, schema, trigger);
  if (strcmp(text, authorizer.asked[authorizer.at - 1]) != 0)
    return SQLITE_OK;
  authorizer.reached = true;
  return authorizer.answer;
}

static void arm_deny(sqlite3 *db, long n) {
  authorizer.at = n;
  authorizer.answer = SQLITE_DENY;
  authorizer.reached = false;
  sqlite3_set_authorizer(db, judge, NULL);
}

static void arm_ignore(sqlite3 *db, long n) {
  arm_deny(db, n);
  authorizer.answer = SQLITE_IGNORE;
}

static int allow(void *data, int action, const char *a, const char *b, const char *schema, const char *trigger) {
  (void)data, (void)action, (void)a, (void)b, (void)schema, (void)trigger;
  return SQLITE_OK;
}

/* One that allows everything has statements that are kept compiled anew, which none at all has not. */
static bool disarm(sqlite3 *db) {
  sqlite3_set_authorizer(db, allow, NULL);
  return authorizer.reached;
}

static bool is_denied(sqlite3 *db, int rc, const char *message) {
  (void)db, (void)rc;
  return strstr(message, "authoriz") != NULL || strstr(message, "prohibited") != NULL;
}

static const struct fault denying = {"authorizer's question", arm_deny, disarm, is_denied, false, NULL, NULL};

static const struct fault ignoring = {
    "authorizer's question ignored", arm_ignore, disarm, is_denied, false, NULL, NULL};

/* What is asked of the authorizer on a connection as trials have it. */
static void learn_operation(void) {
  char *output = NULL;
  authorizer.count = 0;
  sqlite3 *db = database_open();
  sqlite3_set_authorizer(db, learn, NULL);
  ck_assert_int_eq(trial_exec(db, trial.sql, &output), SQLITE_OK);
  sqlite3_set_authorizer(db, NULL, NULL);
  database_close(db);
  free(output);
}

static long next_question(long n) {
  return effort_is_long() ? n + 1 : n + 1 + 3 * n;
}

/* ---- ignored ---- */

/* A row that is Tidemark's own to insert: it notices when it is not. */
static bool is_own_insert(long n) {
  int action = 0;
  char table[ASKED_SIZE] = "";
  char trigger[ASKED_SIZE] = "";
  sscanf(authorizer.asked[n - 1], "%d %199s %*s %*s %199s", &action, table, trigger);
  return action == SQLITE_INSERT && strncmp(table, "sqlite_", 7) != 0 && strchr(table, '_') != NULL &&
         strcmp(trigger, "-") == 0 && strstr(trial.sql, table) == NULL;
}

/* SQLite itself does not survive when its schema is ignored. */
static bool is_survived(long n) {
  return strstr(authorizer.asked[n - 1], " sqlite_") == NULL;
}

static void ignore_one(long n) {
  char *output = NULL;
  trial.fault = &ignoring;
  trial.n = n;
  sqlite3 *db = database_open();
  ignoring.arm(db, n);
  const int rc = trial_exec(db, trial.sql, &output);
  trial_assert(rc == SQLITE_OK || *sqlite3_errmsg(db) != '\0', "%d without a message", rc);
  disarm(db);
  if (!sqlite3_get_autocommit(db))
    db_exec(db, "ROLLBACK");
  trial_assert_nothing_open(db);
  free(output);
  database_close(db);
}

/* ---- the tests ---- */

START_TEST(every_question) {
  if (!faults_has_turn(_i, 0) || strcmp(operations[_i].sql, "VACUUM") == 0)
    return; /* SQLite's own statements alone, and its own words */
  trial_begin(&operations[_i]);
  learn_operation();
  for (long n = 1; n <= authorizer.count; n = next_question(n)) {
    trial_run(&denying, n);
    if (is_own_insert(n))
      trial_run(&ignoring, n);
    else if (is_survived(n))
      ignore_one(n);
  }
  ck_assert_int_gt(trial.told, 0);
  trial_end();
}
END_TEST

static void make(void) {
  database_make("delete");
}

int main(int argc, char **argv) {
  return faults_main("authorizer", make, every_question, NULL, argc, argv);
}
