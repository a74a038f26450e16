/* Each call is interrupted at some of its steps, those of the statements within it too: it says so, and nothing else,
 * and works when it is called again. */
#define _GNU_SOURCE
#include "busy_db.h"

static int steps_left;

static int count_down(void *data) {
  (void)data;
  return steps_left-- == 0; /* once: what comes after must not hide what this did */
}

/* false when it came to its end before that step. */
static bool interrupt_at(const struct call *call, int step) {
  busy_open("wal");
  steps_left = step;
  sqlite3_progress_handler(db, 1, count_down, NULL);
  const int rc = sqlite3_exec(db, call->sql, NULL, NULL, NULL);
  char *message = strdup(sqlite3_errmsg(db));
  sqlite3_progress_handler(db, 0, NULL, NULL);
  const bool interrupted = steps_left < 0;
  const bool is_wrapped = strncmp(call->sql, "ALTER", 5) == 0 && strstr(message, "interrupted") != NULL; /* by SQLite */
  ck_assert_msg(rc == SQLITE_OK || (interrupted && (rc == SQLITE_INTERRUPT || is_wrapped)), "%s at step %d: %d, %s",
                call->sql, step, rc, message);
  free(message);
  ck_assert_int_eq(sqlite3_get_autocommit(db), 1);
  if (rc != SQLITE_OK && strcmp(db_text(other, "%s", call->effect), call->after) != 0) /* some work in pieces */
    db_exec(db, "%s", call->sql);
  assert_text(other, call->after, "%s", call->effect);
  busy_close();
  return interrupted;
}

START_TEST(an_interrupt_is_told_as_one) {
  const int growth = getenv("TIDE_TEST_LONG") != NULL ? 100 : 1;
  for (const struct call *call = calls; call < calls + sizeof calls / sizeof *calls; call++) {
    for (int step = 0; interrupt_at(call, step); step += 1 + step / growth) {
    }
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {an_interrupt_is_told_as_one, NULL};
  return unit_main("interrupted", tests);
}
