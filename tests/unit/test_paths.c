/* Files are written below the sink's folder and nowhere else, whatever rows, the database or other users of the machine
 * put in the way: values of partitions, names in a file from elsewhere, links, pipes and sockets in every place of a
 * name, folders that are exchanged while a file is written. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "export_db.h"
#include "sink/target.h"

static char outside[128]; /* a folder beside the sink's, with the file "precious" */
static char precious[160];

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  ck_assert_msg(file != NULL, "%s", path);
  fputs(text, file);
  fclose(file);
}

static void begin_beside(void) {
  begin();
  snprintf(outside, sizeof outside, "%s", scratch_path("outside"));
  snprintf(precious, sizeof precious, "%s/precious", outside);
  ck_assert_int_eq(mkdir(outside, 0755), 0);
  write_file(precious, "as it was");
}

/* Beside the folder there is what was there before: the database, and one file that is as it was. */
static void check_outside(const char *when) {
  char text[64] = "";
  FILE *file = fopen(precious, "r");
  ck_assert_msg(file != NULL, "%s", when);
  ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
  fclose(file);
  ck_assert_msg(strcmp(text, "as it was") == 0, "%s: %s", when, text);
  ck_assert_msg(files_below(outside, true) == 1, "%s", when);
  char command[400];
  snprintf(command, sizeof command,
           "test -z \"$(find '%s' -mindepth 1 -maxdepth 1 -not -name 'db*' -not -name archive"
           " -not -name outside)\"",
           scratch);
  ck_assert_msg(system(command) == 0, "%s: something lies beside", when);
}

/* ---- values of partitions ---- */

START_TEST(values_lead_nowhere) {
  static const char *const values[] = {"'..'",
                                       "'.'",
                                       "''",
                                       "NULL",
                                       "'/'",
                                       "'../../outside/x'",
                                       "'/etc/passwd'",
                                       "'_tidemark'",
                                       "'_delta_log'",
                                       "'tmp'",
                                       "'_tidemark/tmp'",
                                       "'a/b'",
                                       "'Web'",
                                       "'web'",
                                       "'WEB'",
                                       "'%2e%2e'",
                                       "'%2E%2E'",
                                       "'%'",
                                       "'%00'",
                                       "char(0)",
                                       "'a' || char(0)",
                                       "char(1)",
                                       "char(10)",
                                       "char(127)",
                                       "'CON'",
                                       "'nul'",
                                       "'aux.txt'",
                                       "' '",
                                       "'a '",
                                       "'a.'",
                                       "'~'",
                                       "'-rf'",
                                       "'*'",
                                       "'\\'",
                                       "'__HIVE_DEFAULT_PARTITION__'",
                                       "'=x'",
                                       "'source=web'",
                                       "CAST(x'ff' AS TEXT)",
                                       "CAST(x'c0ae' AS TEXT)",
                                       "char(8206)",
                                       "'\xc3\xa9'",
                                       "'e\xcc\x81'",
                                       "'$(id)'",
                                       "'`id`'",
                                       "'a;b'",
                                       "printf('%.240c', 'x')"};
  const int count = sizeof values / sizeof *values;
  begin_beside();
  for (int i = 0; i < count; i++)
    db_exec(db, "INSERT INTO logs VALUES (%s, '%d')", values[i], i);
  db_refuses(db, 0, "255", "INSERT INTO logs VALUES (printf('%%.300c', 'x'), 'x')");
  ck_assert_str_eq(tick("failed"), "0");
  ck_assert_int_eq(atoi(db_text(db, "SELECT count(DISTINCT object) FROM tidemark_export_log")), count);
  ck_assert_int_eq(files_below(folder, false), count);
  check_outside("values");
  archive_read(db, folder);
  assert_int(db, count, "SELECT count(DISTINCT json ->> 'body') FROM temp.line");
  assert_text(db, "",
              "SELECT object FROM tidemark_export_log WHERE object GLOB '*[^-A-Za-z0-9%%=._~/]*'"
              " OR '/' || object || '/' GLOB '*/.*' OR object NOT GLOB 'logs/source=*'");
  end();
}
END_TEST

/* ---- names in a file from elsewhere ---- */

START_TEST(names_in_the_database_lead_nowhere) {
  static const char *const changes[] = {
      "UPDATE tidemark_batch SET config = json_set(config, '$.log_id', '../../outside/x')",
      "UPDATE tidemark_batch SET config = json_set(config, '$.log_id', 'a.b')",
      "UPDATE tidemark_batch SET config = json_set(config, '$.log_id', '')",
      "UPDATE tidemark_batch SET config = json_set(config, '$.log_id', '0123456789ABCDEF0123456789abcdef')",
      "UPDATE tidemark_batch SET config = json_set(config, '$.log_id', 5)",
      "UPDATE tidemark_batch SET object = '../outside/x'",
      "UPDATE tidemark_batch SET object = '/dev/shm/x'",
      "UPDATE tidemark_batch SET object = 'logs/../../outside/x'",
      "UPDATE tidemark_batch SET object = 'logs//x'",
      "UPDATE tidemark_batch SET object = char(10)",
      "UPDATE tidemark_batch SET object = ''",
      "DELETE FROM tidemark_batch; INSERT INTO tidemark_sink_fork VALUES ('s', 'logs', 'a.b')",
      "DELETE FROM tidemark_batch; INSERT INTO tidemark_sink_fork VALUES ('s', 'logs', '../../outside/x')",
      "DELETE FROM tidemark_batch; UPDATE logs_config SET value = '../../outside/x' WHERE key = 'log_id'"};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    begin_beside();
    db_exec(db, "INSERT INTO logs VALUES ('web', 'one')");
    ck_assert_int_eq(rmdir(folder), 0);
    ck_assert_str_eq(tick("failed"), "1"); /* and leaves its batch */
    ck_assert_int_eq(mkdir(folder, 0755), 0);
    db_exec(db, "DROP TRIGGER tidemark_batch_update; %s", changes[i]);
    ck_assert_msg(strcmp(db_text(db, "SELECT tidemark_export('s', 'now') ->> '$.failed'"), "1") == 0, "%s", changes[i]);
    ck_assert_msg(files_below(folder, false) == 0, "%s", changes[i]);
    check_outside(changes[i]);
    end();
  }
}
END_TEST

/* ---- what others put in the place of a name ---- */

enum thing { LINK_TO_FOLDER, LINK_TO_FILE, LINK_TO_NOTHING, LINK_TO_PIPE, HARD_LINK, PIPE, SOCKET, FOLDER, THINGS };

static void plant(enum thing thing, const char *path) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  char target[450];
  int fd;
  switch (thing) {
  case LINK_TO_FOLDER:
    ck_assert_int_eq(symlink(outside, path), 0);
    break;
  case LINK_TO_FILE:
    ck_assert_int_eq(symlink(precious, path), 0);
    break;
  case LINK_TO_NOTHING:
    snprintf(target, sizeof target, "%s/nothing", outside);
    ck_assert_int_eq(symlink(target, path), 0);
    break;
  case LINK_TO_PIPE:
    snprintf(target, sizeof target, "%s.pipe", path);
    ck_assert_int_eq(mkfifo(target, 0666), 0);
    ck_assert_int_eq(symlink(target, path), 0);
    break;
  case HARD_LINK:
    ck_assert_int_eq(link(precious, path), 0);
    break;
  case PIPE:
    ck_assert_int_eq(mkfifo(path, 0666), 0);
    break;
  case SOCKET:
    snprintf(name.sun_path, sizeof name.sun_path, "%s/socket", scratch); /* a short name, for a longer one */
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&name, sizeof name), 0);
    ck_assert_int_eq(rename(name.sun_path, path), 0);
    close(fd);
    break;
  default:
    ck_assert_int_eq(mkdir(path, 0755), 0);
  }
}

/* The object that the next tick writes, below the folder. */
static const char *next_object(void) {
  return db_text(db, "SELECT tidemark_peek('s') ->> '$.sinks[0].batches[0].object'");
}

/* Plants the thing in one place of a name, ticks, takes it away again, and ticks. */
static void meet(enum thing thing, const char *place) {
  char path[400];
  char what[500];
  char command[900];
  begin_beside();
  db_exec(db, "INSERT INTO logs VALUES ('web', 'one')");
  const char *log_id = db_text(db, "SELECT log_id FROM tidemark_dataset");
  snprintf(path, sizeof path, "%s/%s", folder,
           strcmp(place, "object") == 0 ? next_object()
           : strcmp(place, "mark") == 0 ? sqlite3_snprintf(100, what, "_tidemark/%s.s", log_id)
                                        : place);
  snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s')\"", path);
  ck_assert_int_eq(system(command), 0);
  plant(thing, path);
  snprintf(what, sizeof what, "thing %d in the place of %s", (int)thing, place);
  const bool harmless = thing == FOLDER && strcmp(place, "object") != 0 && strcmp(place, "mark") != 0;
  ck_assert_msg(strcmp(tick("failed"), harmless ? "0" : "1") == 0, "%s", what);
  check_outside(what);
  if (!harmless) {
    snprintf(command, sizeof command, "rm -rf '%s' '%s.pipe'", path, path);
    ck_assert_int_eq(system(command), 0);
    ck_assert_msg(strcmp(db_text(db, "SELECT tidemark_export('s', 'now') ->> '$.rows'"), "1") == 0, "%s", what);
  }
  check_archive();
  check_outside(what);
  end();
}

START_TEST(things_in_the_place_are_not_followed) {
  static const char *const places[] = {"logs", "logs/source=web", "object", "_tidemark", "_tidemark/tmp", "mark"};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    for (int thing = 0; thing < THINGS; thing++)
      meet(thing, places[i]);
}
END_TEST

/* ---- folders that are exchanged under way ---- */

static const char *swap_at; /* the step */
static const char *swap_what;

static void swap(const char *step) {
  char path[300];
  char aside[320];
  if (swap_at == NULL || strcmp(step, swap_at) != 0)
    return;
  swap_at = NULL;
  snprintf(path, sizeof path, "%s/%s", folder, swap_what);
  snprintf(aside, sizeof aside, "%s.aside", path);
  ck_assert_int_eq(rename(path, aside), 0);
  ck_assert_int_eq(symlink(outside, path), 0);
}

START_TEST(a_folder_that_becomes_a_link_is_not_followed) {
  static const char *const steps[] = {"created", "written", "synced", "renamed", "folder_synced"};
  static const char *const folders[] = {"logs", "logs/source=web", "_tidemark", "_tidemark/tmp"};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    for (size_t j = 0; j < sizeof steps / sizeof *steps; j++) {
      begin_beside();
      db_exec(db, "INSERT INTO logs VALUES ('web', 'one')");
      db_exec(db, "SELECT tidemark_export('s'); INSERT INTO logs VALUES ('web', 'two'), ('db', 'three')");
      swap_at = steps[j];
      swap_what = folders[i];
      tide_target_dir_step = swap;
      db_exec(db, "SELECT tidemark_export('s'); SELECT tidemark_export('s', 'now')");
      tide_target_dir_step = NULL;
      ck_assert_ptr_null(swap_at); /* the step came */
      check_outside(steps[j]);
      end();
    }
  }
}
END_TEST

START_TEST(files_have_the_rights_of_the_umask) {
  static const mode_t masks[] = {022, 077};
  for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
    char command[700];
    begin_beside();
    const mode_t before = umask(masks[i]);
    db_exec(db, "INSERT INTO logs VALUES ('web', 'one'); SELECT tidemark_export('s')");
    umask(before);
    snprintf(command, sizeof command,
             "test -n \"$(find '%s/logs' -type f)\" && test -z \"$(find '%s' -mindepth 1 -type f -perm /%o)\" &&"
             " test -z \"$(find '%s' -mindepth 1 -perm /%o)\"",
             folder, folder, 0111, folder, (unsigned)masks[i]);
    ck_assert_int_eq(system(command), 0);
    end();
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {values_lead_nowhere,
                                names_in_the_database_lead_nowhere,
                                things_in_the_place_are_not_followed,
                                a_folder_that_becomes_a_link_is_not_followed,
                                files_have_the_rights_of_the_umask,
                                NULL};
  return unit_main("paths", tests);
}
