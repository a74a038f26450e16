/* A host's authorizer that denies or ignores one thing that Tidemark asks for. What is ignored SQLite does not tell:
 * each such change is an error of ours, with nothing half done, and all works when it is allowed again. */
#define _GNU_SOURCE
#include "prune_db.h"

/* The one thing: its action, and the first and second thing it is about (NULL: any). */
static struct {
  int action;
  const char *about[2];
  int answer;
  int asked;
} rule;

static int judge(void *data, int action, const char *a, const char *b, const char *schema, const char *trigger) {
  (void)data, (void)schema, (void)trigger;
  const char *const about[] = {a, b};
  for (int i = 0; i < 2; i++) {
    if (action != rule.action || (rule.about[i] != NULL && (about[i] == NULL || strcmp(about[i], rule.about[i]) != 0)))
      return SQLITE_OK;
  }
  rule.asked++;
  return rule.answer;
}

static void forbid(int answer, int action, const char *a, const char *b) {
  rule.action = action;
  rule.about[0] = a;
  rule.about[1] = b;
  rule.answer = answer;
  rule.asked = 0;
  sqlite3_set_authorizer(db, judge, NULL);
}

static void allow(void) {
  ck_assert_int_gt(rule.asked, 0);
  sqlite3_set_authorizer(db, NULL, NULL);
}

static const int answers[] = {SQLITE_DENY, SQLITE_IGNORE};

/* ---- transactions ---- */

static int judge_setting(void *data, int action, const char *a, const char *b, const char *schema,
                         const char *trigger) {
  return b == NULL ? SQLITE_OK : judge(data, action, a, b, schema, trigger);
}

/* Durable is what PRAGMA synchronous makes so: neither when it cannot be read nor when it cannot be set. */
START_TEST(claim_that_would_not_be_durable) {
  begin();
  append("a", 1);
  db_exec(db, "PRAGMA synchronous = off; INSERT INTO tidemark_sink(sink, dataset) VALUES ('mine', 'logs')");
  for (int read = 0; read <= 1; read++) {
    forbid(answers[_i], SQLITE_PRAGMA, "synchronous", NULL);
    if (!read)
      sqlite3_set_authorizer(db, judge_setting, NULL);
    db_refuses(db, SQLITE_AUTH, "authoriz", "SELECT tidemark_claim('mine', 'logs')");
    allow();
    assert_int(db, 0, "SELECT count(*) FROM tidemark_batch");
    assert_int(db, 0, "PRAGMA synchronous");
  }
  assert_int(db, 1, "SELECT tidemark_claim('mine', 'logs')");
  assert_int(db, 0, "PRAGMA synchronous");
  end();
}
END_TEST

/* Temporary tables have no such setting. */
START_TEST(claim_of_what_is_temporary) {
  begin();
  db_exec(db, "CREATE VIRTUAL TABLE temp.mine USING tidemark(x); INSERT INTO temp.mine VALUES (1);"
              "INSERT INTO temp.tidemark_sink(sink, dataset) VALUES ('mine', 'mine')");
  assert_int(db, 1, "SELECT tidemark_claim('mine', 'temp.mine')");
  end();
}
END_TEST

/* ---- columns ---- */

static void assert_no_column_then_add_it(void) {
  assert_text(db, "source ts body", "SELECT name FROM pragma_table_info('logs')");
  assert_int(db, 0, "SELECT count(*) FROM sqlite_schema WHERE name = 'tidemark_redeclared'");
  db_exec(db, "INSERT INTO logs VALUES ('a', NULL, 'before')");
  assert_int(db, 1, "SELECT tidemark_add_column('logs', 'x') ->> 'added'");
  db_exec(db, "INSERT INTO logs VALUES ('a', NULL, 'after', 7)");
  assert_text(db, "before|- after|7", "SELECT body, x FROM logs");
}

START_TEST(column_that_the_connection_could_not_see) {
  for (int nested = 0; nested <= 1; nested++) {
    begin();
    db_exec(db, nested ? "BEGIN; CREATE TABLE unrelated(x)" : "CREATE TABLE unrelated(x)");
    forbid(answers[_i], SQLITE_PRAGMA, "writable_schema", NULL);
    db_refuses(db, SQLITE_AUTH, "authoriz", "SELECT tidemark_add_column('logs', 'x')");
    allow();
    assert_int(db, 3, "SELECT value FROM logs_config WHERE key = 'columns'");
    assert_int(db, 0, "PRAGMA writable_schema");
    assert_no_column_then_add_it();
    db_exec(db, nested ? "COMMIT" : "SELECT 1");
    assert_int(db, 0, "SELECT count(*) FROM unrelated");
    end();
  }
}
END_TEST

static int nth; /* of what is asked by that rule, this one alone */

static int judge_nth(void *data, int action, const char *a, const char *b, const char *schema, const char *trigger) {
  const int before = rule.asked;
  const int answer = judge(data, action, a, b, schema, trigger);
  return rule.asked > before && rule.asked == nth ? answer : SQLITE_OK;
}

/* A host that changes its mind while the column is being committed. */
START_TEST(column_that_is_there_but_not_seen) {
  begin();
  forbid(answers[_i], SQLITE_PRAGMA, "writable_schema", NULL);
  nth = 2;
  sqlite3_set_authorizer(db, judge_nth, NULL);
  db_refuses(db, SQLITE_AUTH, "dataset logs has the column \"x\" now, but this connection does not see it",
             "SELECT tidemark_add_column('logs', 'x')");
  allow();
  db_close(db);
  db = db_open(scratch_path("db"), "shim");
  db_exec(db, "INSERT INTO logs(source, x) VALUES ('a', 7)");
  assert_int(db, 7, "SELECT x FROM logs");
  end();
}
END_TEST

static int messages;

static void count_message(void *data, int rc, const char *message) {
  (void)data;
  if (rc == SQLITE_MISUSE)
    messages += message != NULL;
}

START_TEST(column_without_the_journal_mode) {
  sqlite3_shutdown();
  sqlite3_config(SQLITE_CONFIG_LOG, count_message, NULL);
  begin();
  forbid(answers[_i], SQLITE_PRAGMA, "journal_mode", NULL);
  assert_no_column_then_add_it();
  allow();
  forbid(answers[_i], SQLITE_CREATE_VIEW, NULL, NULL);
  db_refuses(db, SQLITE_AUTH, "authoriz", "SELECT tidemark_add_column('logs', 'y')");
  allow();
  ck_assert_int_eq(messages, 0);
  end();
}
END_TEST

/* ---- what is dropped ---- */

START_TEST(drop_that_is_ignored) {
  begin();
  append("a", 2);
  forbid(answers[_i], SQLITE_DROP_TABLE, "logs_tail", NULL);
  db_refuses(db, 0, "authoriz", "DROP TABLE logs");
  allow();
  assert_int(db, 2, "SELECT count(*) FROM logs");
  forbid(answers[_i], SQLITE_DROP_VIEW, "tidemark_redeclared", NULL);
  db_refuses(db, SQLITE_AUTH, "authoriz", "SELECT tidemark_add_column('logs', 'x')");
  allow();
  assert_int(db, 1, "SELECT tidemark_add_column('logs', 'x') ->> 'added'");
  db_exec(db, "DROP TABLE logs; CREATE VIRTUAL TABLE logs USING tidemark(x)");
  end();
}
END_TEST

int main(void) {
  Suite *suite = suite_create("authorizer");
  TCase *tcase = tcase_create("authorizer");
  const TTest *const tests[] = {claim_that_would_not_be_durable,          claim_of_what_is_temporary,
                                column_that_the_connection_could_not_see, column_that_is_there_but_not_seen,
                                column_without_the_journal_mode,          drop_that_is_ignored};
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
    tcase_add_loop_test(tcase, tests[i], 0, (int)(sizeof answers / sizeof *answers));
  suite_add_tcase(suite, tcase);
  return unit_run(suite);
}
