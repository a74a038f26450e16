/* A dataset that gets another name, or goes, while a tick of it is under way: the tick says so, and the next one goes on
 * where it was. */
#define _GNU_SOURCE
#include "export_db.h"
#include "sink/target.h"

static sqlite3 *second; /* another connection to the same file */
static struct {
  const char *at; /* the step of the target at which it happens */
  int nth;
  const char *sql;
} change;

static void change_on_step(const char *step) {
  if (change.at != NULL && strcmp(step, change.at) == 0 && --change.nth == 0)
    db_exec(second, "%s", change.sql);
}

static void begin_changing(const char *at, int nth, const char *sql) {
  begin();
  second = db_open(scratch_path("db"), "shim");
  db_exec(db, "INSERT INTO logs VALUES ('a', '1'), ('a', '2'), ('b', '3'), ('c', '4')");
  change.at = at, change.nth = nth, change.sql = sql;
  tide_target_dir_step = change_on_step;
}

static void end_changing(void) {
  tide_target_dir_step = NULL;
  db_close(second);
  end();
}

START_TEST(renamed_dataset_is_told_apart_from_a_damaged_one) {
  static const char *const steps[] = {"written", "synced", "renamed"};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    for (int nth = 1; nth <= 3; nth++) {
      begin_changing(steps[i], nth, "ALTER TABLE logs RENAME TO other");
      const char *report = db_text(db, "SELECT tidemark_export('s')");
      ck_assert_msg(strstr(report, "is missing") == NULL && strstr(report, "\"failed\":0") == NULL, "%s %d: %s",
                    steps[i], nth, report);
      ck_assert_msg(strstr(report, "dataset logs was renamed or dropped during the tick: call again") != NULL, "%s",
                    report);
      ck_assert_int_le(change.nth, 0);
      assert_text(db, "0", "SELECT tidemark_export('s', 'now') ->> 'failed'");
      db_exec(db, "ALTER TABLE other RENAME TO logs");
      check_archive();
      assert_text(db, "ok", "SELECT tidemark_check('logs')");
      end_changing();
    }
  }
}
END_TEST

START_TEST(dropped_dataset_leaves_nothing_to_ship) {
  begin_changing("written", 1, "DROP TABLE logs");
  const char *report = db_text(db, "SELECT tidemark_export('s')");
  ck_assert_msg(strstr(report, "is missing") == NULL && strstr(report, "\"batches\":0") != NULL, "%s", report);
  assert_int(db, 0, "SELECT (SELECT count(*) FROM tidemark_batch) + (SELECT count(*) FROM tidemark_sink)");
  end_changing();
}
END_TEST

/* tidemark_registry may have lost its row of a dataset, too. */
START_TEST(damaged_dataset_is_no_renamed_one) {
  begin();
  db_exec(db, "CREATE VIRTUAL TABLE other USING tidemark(body TEXT); INSERT INTO logs VALUES ('a', '1');"
              "DELETE FROM tidemark_registry WHERE dataset = 'logs'; DROP TABLE logs_config");
  const char *report = db_text(db, "SELECT tidemark_export('s')");
  ck_assert_msg(strstr(report, "logs_config is missing") != NULL && strstr(report, "renamed") == NULL, "%s", report);
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {renamed_dataset_is_told_apart_from_a_damaged_one,
                                dropped_dataset_leaves_nothing_to_ship, damaged_dataset_is_no_renamed_one, NULL};
  return unit_main("tick_renamed", tests);
}
