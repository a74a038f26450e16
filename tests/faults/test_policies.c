/* What hosts allow to SQL from elsewhere: an authorizer that lets it read and no more, one without PRAGMA, without
 * ATTACH, without triggers; and sqlite3_limit set low, each limit to several values. An operation works, or says in a
 * sentence what is not allowed; what is there is as the operation says, and it works when all is allowed again. Reading
 * works for who may read. */
#define _GNU_SOURCE
#include "faults_main.h"

/* An authorizer, or a limit. */
struct policy {
  int (*authorizer)(void *data, int action, const char *a, const char *b, const char *schema, const char *trigger);
  int limit;
  int value;
};

static int only_read(void *data, int action, const char *a, const char *b, const char *schema, const char *trigger) {
  (void)data, (void)a, (void)b, (void)schema, (void)trigger;
  const bool reads =
      action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION || action == SQLITE_RECURSIVE;
  return reads ? SQLITE_OK : SQLITE_DENY;
}

static int no_pragma(void *data, int action, const char *a, const char *b, const char *schema, const char *trigger) {
  (void)data, (void)a, (void)b, (void)schema, (void)trigger;
  return action == SQLITE_PRAGMA ? SQLITE_DENY : SQLITE_OK;
}

static int no_attach(void *data, int action, const char *a, const char *b, const char *schema, const char *trigger) {
  (void)data, (void)a, (void)b, (void)schema, (void)trigger;
  return action == SQLITE_ATTACH || action == SQLITE_DETACH ? SQLITE_DENY : SQLITE_OK;
}

static int no_trigger(void *data, int action, const char *a, const char *b, const char *schema, const char *trigger) {
  (void)data, (void)a, (void)b, (void)schema;
  return action == SQLITE_CREATE_TRIGGER || trigger != NULL ? SQLITE_DENY : SQLITE_OK;
}

static const struct policy policies[] = {{only_read, 0, 0},
                                         {no_pragma, 0, 0},
                                         {no_attach, 0, 0},
                                         {no_trigger, 0, 0},
                                         {NULL, SQLITE_LIMIT_LENGTH, 100},
                                         {NULL, SQLITE_LIMIT_LENGTH, 3000},
                                         {NULL, SQLITE_LIMIT_SQL_LENGTH, 100},
                                         {NULL, SQLITE_LIMIT_SQL_LENGTH, 400},
                                         {NULL, SQLITE_LIMIT_COLUMN, 3},
                                         {NULL, SQLITE_LIMIT_COLUMN, 9},
                                         {NULL, SQLITE_LIMIT_EXPR_DEPTH, 2},
                                         {NULL, SQLITE_LIMIT_EXPR_DEPTH, 6},
                                         {NULL, SQLITE_LIMIT_COMPOUND_SELECT, 1},
                                         {NULL, SQLITE_LIMIT_VDBE_OP, 25},
                                         {NULL, SQLITE_LIMIT_VDBE_OP, 120},
                                         {NULL, SQLITE_LIMIT_FUNCTION_ARG, 1},
                                         {NULL, SQLITE_LIMIT_FUNCTION_ARG, 4},
                                         {NULL, SQLITE_LIMIT_ATTACHED, 0},
                                         {NULL, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1},
                                         {NULL, SQLITE_LIMIT_VARIABLE_NUMBER, 1},
                                         {NULL, SQLITE_LIMIT_VARIABLE_NUMBER, 4},
                                         {NULL, SQLITE_LIMIT_TRIGGER_DEPTH, 0},
                                         {NULL, SQLITE_LIMIT_TRIGGER_DEPTH, 1}};
static const long policies_count = sizeof policies / sizeof *policies;

static struct {
  const struct policy *policy;
  int limit_before;
} host;

/* SQLite asks the authorizer for an INSERT when a virtual table is connected: whoever is to read only has them
 * connected before. */
static void arm(sqlite3 *db, long n) {
  if (database.operation->before == NULL)
    db_exec(db, "SELECT 1 FROM logs; SELECT 1 FROM keys; SELECT 1 FROM jobs; SELECT 1 FROM visits; SELECT 1 FROM web;"
                "SELECT 1 FROM aux.remote; SELECT 1 FROM tidemark_dataset; SELECT 1 FROM aux.tidemark_dataset;"
                "SELECT 1 FROM tidemark_stat; SELECT 1 FROM tidemark_segment; SELECT 1 FROM tidemark_lag");
  host.policy = &policies[n - 1];
  if (host.policy->authorizer != NULL)
    sqlite3_set_authorizer(db, host.policy->authorizer, NULL);
  else
    host.limit_before = sqlite3_limit(db, host.policy->limit, host.policy->value);
}

static bool disarm(sqlite3 *db) {
  if (host.policy->authorizer != NULL)
    sqlite3_set_authorizer(db, NULL, NULL);
  else
    sqlite3_limit(db, host.policy->limit, host.limit_before);
  return true;
}

static bool is_told(sqlite3 *db, int rc, const char *message) {
  (void)db;
  if (host.policy->authorizer == NULL)
    return (rc != SQLITE_CORRUPT || strstr(message, "malformed database schema") != NULL) && *message != '\0';
  return strstr(message, "authoriz") != NULL || strstr(message, "prohibited") != NULL;
}

static const struct fault policing = {"policy", arm, disarm, is_told, false, NULL, NULL};

/* SQLite's own answers, which are others: a VACUUM, and a text of printf that is beyond the limit. */
static bool is_own(const struct operation *operation) {
  return strcmp(operation->sql, "VACUUM") == 0 || strstr(operation->sql, "printf") != NULL;
}

START_TEST(every_policy) {
  static const char *const reads[] = {"SELECT *", "SELECT count(*)", "SELECT a.since"};
  if (!faults_has_turn(_i, 2) || is_own(&operations[_i]))
    return;
  trial_begin(&operations[_i]);
  trial_run(&policing, 1);
  for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
    if (strncmp(trial.sql, reads[i], strlen(reads[i])) == 0 && strstr(trial.sql, "tidemark_guard") == NULL)
      ck_assert_msg(trial.told == 0, "who may read may not: %s", trial.sql);
  }
  for (long n = 2; n <= policies_count; n++) {
    if (faults_takes(_i, n, 9))
      trial_run(&policing, n);
  }
  trial_end();
}
END_TEST

static void make(void) {
  database_make("delete");
}

int main(int argc, char **argv) {
  return faults_main("policies", make, every_policy, NULL, argc, argv);
}
