/* What long calls tell a terminal, with the clock, the terminal and its width put in its place. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "base/host.h"
#include "base/progress.h"
#include "export_db.h"

static struct {
  bool there;
  int width;
  int writes;
  char all[65536];
  char first[1024];
  char last[1024];
} terminal;

static void (*host_write)(const char *text, size_t size);

static bool is_there(void) {
  return terminal.there;
}

static int width(void) {
  return terminal.width;
}

static void take(const char *text, size_t size) {
  terminal.writes++;
  snprintf(terminal.last, sizeof terminal.last, "%.*s", (int)size, text);
  if (terminal.writes == 1)
    strcpy(terminal.first, terminal.last);
  ck_assert_uint_lt(strlen(terminal.all) + size, sizeof terminal.all);
  strcat(terminal.all, terminal.last);
}

static void begin_at(int columns) {
  memset(&terminal, 0, sizeof terminal);
  terminal.there = true;
  terminal.width = columns;
  tide_host_terminal = (struct tide_host_terminal){is_there, width, take};
  begin();
}

static struct tide_progress started(const char *what, const char *sink, const char *dataset) {
  struct tide_progress progress = {.on = true};
  tide_progress_begin(&progress, sqlite3_vfs_find("shim"), what, sink, dataset);
  return progress;
}

START_TEST(line_of_an_export) {
  char line[TIDE_PROGRESS_LINE_SIZE];
  begin_at(200);
  struct tide_progress progress = started("export", "archive", "logs");
  tide_progress_part(&progress, "source=web");
  tide_progress_expect(&progress, 5000000);
  progress.rows = 1234000;
  progress.bytes = 126143693; /* 120.3 MiB */
  tide_progress_line(&progress, T0 + 3085, 200, line);
  ck_assert_str_eq(line, "tidemark: export archive/logs source=web 1,234,000 of 5,000,000 rows, 120.3 MiB, "
                         "400,000 rows/s, 0:09 left");
  tide_progress_line(&progress, T0 + 3085, 40, line);
  ck_assert_str_eq(line, "tidemark: export archive/logs source=we"); /* 39: some terminals wrap in the last */
  tide_progress_line(&progress, T0 - 5, 200, line);                  /* a clock that was set back tells no pace */
  ck_assert_str_eq(line, "tidemark: export archive/logs source=web 1,234,000 of 5,000,000 rows, 120.3 MiB");
  end();
}
END_TEST

START_TEST(names_are_harmless) {
  char line[TIDE_PROGRESS_LINE_SIZE];
  begin_at(80);
  struct tide_progress progress = started("verify", "a\r\033[2J", "\xc3\xa9\xc2\x9b\x7fz");
  tide_progress_line(&progress, T0 + 1000, 80, line);
  ck_assert_str_eq(line, "tidemark: verify a??[2J/???z");
  end();
}
END_TEST

START_TEST(a_few_times_a_second) {
  begin_at(80);
  struct tide_progress progress = started("flush", NULL, "logs");
  for (int i = 1; i <= 2000; i++) { /* two seconds */
    shim.now_ms = T0 + i;
    tide_progress_add(&progress, 10, 0);
  }
  ck_assert_int_eq(terminal.writes, 7); /* at 500, 750, ... 2000 ms */
  ck_assert_str_eq(terminal.first, "\rtidemark: flush logs 5,000 rows, 10,000 rows/s\033[K");
  tide_progress_end(&progress);
  ck_assert_str_eq(terminal.last, "\r\033[K");
  tide_progress_add(&progress, 1, 1); /* outside a call */
  ck_assert_int_eq(terminal.writes, 8);
  end();
}
END_TEST

START_TEST(short_call_tells_nothing) {
  begin_at(80);
  struct tide_progress progress = started("flush", NULL, "logs");
  shim.now_ms = T0 + 499;
  tide_progress_add(&progress, 1, 1);
  tide_progress_end(&progress);
  ck_assert_int_eq(terminal.writes, 0);
  end();
}
END_TEST

/* Each step of a statement moves the clock on. */
static int pass_time(void *unused) {
  (void)unused;
  shim.now_ms += 300;
  return 0;
}

static void check_told(const char *sql, const char *first) {
  terminal.writes = 0;
  terminal.all[0] = '\0';
  db_exec(db, "%s", sql);
  ck_assert_msg(strstr(terminal.all, first) != NULL, "%s told \"%s\", expected \"%s\"", sql, terminal.all, first);
  ck_assert_str_eq(terminal.last, "\r\033[K");
}

START_TEST(each_long_call_tells) {
  begin_at(200);
  db_exec(db, "SELECT tidemark_progress(1)");
  append_many(20000, 8);
  sqlite3_progress_handler(db, 1, pass_time, NULL);
  check_told("SELECT tidemark_flush('logs')", "\rtidemark: flush logs 20,000 rows");
  check_told("SELECT tidemark_export('s')", "\rtidemark: export s/logs source=web ");
  ck_assert_ptr_nonnull(strstr(terminal.all, " of 20,000 rows, "));
  check_told("SELECT tidemark_verify('s')", "\rtidemark: verify s/logs ");
  append_many(100, 8);
  check_told("SELECT tidemark_maintain('logs')", "\rtidemark: maintain logs 100 rows");
  check_told("SELECT tidemark_compact('logs')", "\rtidemark: compact logs ");
  end();
}
END_TEST

START_TEST(silent_unless_asked_and_there) {
  begin_at(200);
  sqlite3_progress_handler(db, 1, pass_time, NULL);
  append_many(10, 8);
  db_exec(db, "SELECT tidemark_flush('logs')");
  assert_text(db, "1", "SELECT tidemark_progress(1)");
  terminal.there = false;
  append_many(10, 8);
  db_exec(db, "SELECT tidemark_flush('logs')");
  terminal.there = true;
  assert_text(db, "1|0", "SELECT tidemark_progress(), tidemark_progress(0)");
  append_many(10, 8);
  db_exec(db, "SELECT tidemark_flush('logs')");
  ck_assert_int_eq(terminal.writes, 0);
  end();
}
END_TEST

/* A call that fails takes its line away too. */
START_TEST(failed_call_cleans_up) {
  begin_at(200);
  db_exec(db, "SELECT tidemark_progress(1)");
  append_many(20000, 8);
  sqlite3_progress_handler(db, 1, pass_time, NULL);
  ck_assert_int_eq(rmdir(folder), 0);
  check_told("SELECT tidemark_export('s')", "\rtidemark: export s/logs source=web ");
  assert_text(db, "1", "SELECT count(*) FROM tidemark_batch WHERE error IS NOT NULL");
  ck_assert_int_eq(sqlite3_exec(db, "SELECT tidemark_verify('nobody')", NULL, NULL, NULL), SQLITE_ERROR);
  check_told("SELECT tidemark_flush('logs')", "\rtidemark: flush logs ");
  end();
}
END_TEST

/* As after Ctrl-S: who waited for it would keep its locks for as long as somebody reads the screen. */
START_TEST(stopped_terminal_stops_nobody) {
  char text[64] = "";
  const int kept = dup(STDERR_FILENO);
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  ck_assert(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
  const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
  ck_assert_int_ge(slave, 0);
  ck_assert_int_eq(dup2(slave, STDERR_FILENO), STDERR_FILENO);
  ck_assert_int_eq(tcflow(slave, TCOOFF), 0);
  host_write("lost", 4);
  ck_assert_int_eq(tcflow(slave, TCOON), 0);
  host_write("told", 4);
  dup2(kept, STDERR_FILENO);
  ck_assert_int_eq(read(master, text, sizeof text), 4);
  ck_assert_str_eq(text, "told");
  close(slave);
  close(master);
  close(kept);
}
END_TEST

START_TEST(damage_keeps_its_partition_alone) {
  begin_at(200);
  db_exec(db, "SELECT tidemark_progress(1); INSERT INTO logs VALUES ('a', 'one'), ('b', 'two');"
              "SELECT tidemark_flush('logs'); UPDATE logs_segment SET rows = -7 WHERE partition = 1");
  ck_assert_str_eq(tick("rows"), "1");
  end();
}
END_TEST

int main(void) {
  host_write = tide_host_terminal.write;
  const TTest *const tests[] = {line_of_an_export,
                                names_are_harmless,
                                a_few_times_a_second,
                                short_call_tells_nothing,
                                each_long_call_tells,
                                silent_unless_asked_and_there,
                                failed_call_cleans_up,
                                stopped_terminal_stops_nobody,
                                damage_keeps_its_partition_alone,
                                NULL};
  return unit_main("progress", tests);
}
