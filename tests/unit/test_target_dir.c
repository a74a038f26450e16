#define _GNU_SOURCE
#include <dirent.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/target.h"
#include "unit.h"

#define NAME "logs/source=web/1-2.ndjson"
#define AGAIN ": the batch stays and the next tick tries again"

static char root[64];

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
  (void)st, (void)kind, (void)at;
  return remove(path);
}

static void setup(void) {
  strcpy(root, "/tmp/tide_dir_XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(root));
}

static void teardown(void) {
  nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *below(const char *name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", root, name);
  return path;
}

static void make_file(const char *name, const char *content) {
  FILE *file = fopen(below(name), "w");
  ck_assert_ptr_nonnull(file);
  fputs(content, file);
  fclose(file);
}

static const char *content_of(const char *name) {
  static char content[4096];
  FILE *file = fopen(below(name), "r");
  if (file == NULL)
    return NULL;
  content[fread(content, 1, sizeof content - 1, file)] = '\0';
  fclose(file);
  return content;
}

static bool exists(const char *name) {
  struct stat st;
  return lstat(below(name), &st) == 0;
}

static int files_in(const char *name) {
  DIR *list = opendir(below(name));
  int count = 0;
  ck_assert_ptr_nonnull(list);
  for (const struct dirent *entry; (entry = readdir(list)) != NULL;)
    count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  closedir(list);
  return count;
}

static int open_files(void) {
  DIR *list = opendir("/proc/self/fd");
  int count = 0;
  while (readdir(list) != NULL)
    count++;
  closedir(list);
  return count;
}

static struct tide_target *open_target(void) {
  struct tide_err err = {0};
  struct tide_target *target = tide_target_dir_open(root, &err);
  assert_ok(err);
  return target;
}

static int begin(struct tide_target *target, const char *name, int64_t token, bool again, struct tide_err *err) {
  const struct tide_object object = {.name = name, .log_id = "0123456789abcdef", .token = token, .again = again};
  return target->methods->begin(target, &object, err);
}

static int commit(struct tide_target *target, bool *ret_exists, struct tide_err *err) {
  struct tide_answer answer = {0};
  if (target->methods->commit(target, &answer, err) == 0)
    *ret_exists = answer.verdict == TIDE_VERDICT_EXISTS;
  return err->rc;
}

static void put(struct tide_target *target, const char *name, const char *content, bool *ret_exists,
                struct tide_err *err) {
  begin(target, name, 7, true, err);
  if (!tide_err_is_set(err))
    target->methods->write(target, content, strlen(content), err);
  if (!tide_err_is_set(err))
    commit(target, ret_exists, err);
}

/* Puts and expects a failure with that code and those words ("%s" is the root). */
static void expect_refused(struct tide_target *target, const char *name, int rc, const char *format) {
  struct tide_err err = {0};
  bool found = false;
  char expected[1024];
  snprintf(expected, sizeof expected, format, root);
  put(target, name, "x", &found, &err);
  ck_assert_str_eq(err.msg, expected);
  ck_assert_int_eq(err.rc, rc);
}

START_TEST(object_appears_whole_under_its_name) {
  struct tide_err err = {0};
  struct tide_target *target = open_target();
  bool found = true;
  begin(target, NAME, 7, true, &err);
  target->methods->write(target, "one\n", 4, &err);
  assert_ok(err);
  ck_assert(!exists(NAME));
  ck_assert(exists("logs/source=web/.1-2.ndjson.7.tmp"));
  target->methods->write(target, "two\n", 4, &err);
  commit(target, &found, &err);
  assert_ok(err);
  ck_assert(!found);
  ck_assert_str_eq(content_of(NAME), "one\ntwo\n");
  ck_assert_int_eq(files_in("logs/source=web"), 1);

  put(target, "plain", "", &found, &err);
  assert_ok(err);
  ck_assert_str_eq(content_of("plain"), "");
  tide_target_destroy(target);
}
END_TEST

START_TEST(big_and_small_writes_keep_their_order) {
  struct tide_err err = {0};
  struct tide_target *target = open_target();
  enum { SIZE = 700000 };
  unsigned char *bytes = malloc(SIZE), *back = malloc(SIZE);
  for (size_t i = 0; i < SIZE; i++)
    bytes[i] = (unsigned char)(i * 2654435761u >> 13);
  begin(target, "a/b", 1, true, &err);
  static const size_t pieces[] = {1, 100000, 262143, 300000, 0, 37856};
  size_t at = 0;
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; at += pieces[i++])
    target->methods->write(target, bytes + at, pieces[i], &err);
  ck_assert_uint_eq(at, SIZE);
  bool found = true;
  commit(target, &found, &err);
  target->methods->open_read(target, "a/b", &err);
  assert_ok(err);
  size_t got = 0;
  for (long size;
       (size = target->methods->read(target, back + got, 65536 < SIZE - got ? 65536 : SIZE - got, &err)) > 0;)
    got += (size_t)size;
  target->methods->close_read(target);
  assert_ok(err);
  ck_assert(got == SIZE && memcmp(bytes, back, SIZE) == 0);
  free(bytes);
  free(back);
  tide_target_destroy(target);
}
END_TEST

START_TEST(existing_object_is_never_replaced) {
  /* by renameat2, by linkat, by look and rename */
  for (tide_target_dir_ways_missing = 0; tide_target_dir_ways_missing <= 2; tide_target_dir_ways_missing++) {
    struct tide_err err = {0};
    struct tide_target *target = open_target();
    char name[32];
    bool found = true;
    snprintf(name, sizeof name, "d/way%d", tide_target_dir_ways_missing);
    put(target, name, "first", &found, &err);
    assert_ok(err);
    ck_assert(!found);
    put(target, name, "second", &found, &err);
    assert_ok(err);
    ck_assert(found);
    ck_assert_str_eq(content_of(name), "first");
    ck_assert_int_eq(files_in("d"), tide_target_dir_ways_missing + 1);
    tide_target_destroy(target);
  }
}
END_TEST

/* A folder may hold a million objects: a first try has left nothing, so nothing is looked for. */
START_TEST(first_try_does_not_look_for_leftovers) {
  struct tide_err err = {0};
  struct tide_target *target = open_target();
  mkdir(below("d"), 0755);
  make_file("d/.1-2.x.3.tmp", "older token");
  begin(target, "d/1-2.x", 7, false, &err);
  assert_ok(err);
  ck_assert(exists("d/.1-2.x.3.tmp"));
  tide_target_destroy(target);
}
END_TEST

START_TEST(leftovers_of_the_same_name_are_removed) {
  struct tide_err err = {0};
  struct tide_target *target = open_target();
  bool found = false;
  mkdir(below("d"), 0755);
  make_file("d/.1-2.x.3.tmp", "older token");
  make_file("d/.1-2.x.7.tmp", "same token");
  make_file("d/.1-2.x.8.tmp", "newer token");
  make_file("d/.1-2.x.99999999999999999999.tmp", "a number too large");
  make_file("d/.1-20.x.3.tmp", "another object");
  make_file("d/.1-2.x.3a.tmp", "not ours");
  make_file("d/.1-2.x..tmp", "not ours");
  make_file("d/1-2.x.3.tmp", "not ours");
  put(target, "d/1-2.x", "new", &found, &err);
  assert_ok(err);
  ck_assert(!exists("d/.1-2.x.3.tmp") && !exists("d/.1-2.x.7.tmp"));
  ck_assert(exists("d/.1-2.x.8.tmp") && exists("d/.1-2.x.99999999999999999999.tmp") && exists("d/.1-20.x.3.tmp"));
  ck_assert(exists("d/.1-2.x.3a.tmp") && exists("d/.1-2.x..tmp") && exists("d/1-2.x.3.tmp"));
  ck_assert_str_eq(content_of("d/1-2.x"), "new");
  tide_target_destroy(target);
}
END_TEST

START_TEST(abort_leaves_nothing) {
  struct tide_err err = {0};
  struct tide_target *target = open_target();
  target->methods->abort(target);
  begin(target, NAME, 7, true, &err);
  target->methods->write(target, "x", 1, &err);
  assert_ok(err);
  target->methods->abort(target);
  target->methods->abort(target);
  ck_assert_int_eq(files_in("logs/source=web"), 0);
  begin(target, NAME, 7, true, &err);
  assert_ok(err);
  tide_target_destroy(target);
  ck_assert_int_eq(files_in("logs/source=web"), 0);
}
END_TEST

START_TEST(no_descriptor_is_left_open) {
  int before = open_files();
  struct tide_err err = {0};
  struct tide_target *target = open_target();
  bool found = false;
  put(target, NAME, "x", &found, &err);
  put(target, NAME, "x", &found, &err);
  assert_ok(err);
  target->methods->open_read(target, NAME, &err);
  assert_ok(err);
  target->methods->close_read(target);
  target->methods->open_read(target, "nowhere/x", &err);
  tide_err_clear(&err);
  ck_assert_int_eq(symlink("/", below("link")), 0);
  put(target, "link/x", "x", &found, &err);
  tide_target_destroy(target);
  ck_assert_int_eq(open_files(), before);
}
END_TEST

START_TEST(missing_root_is_not_created) {
  struct tide_err err = {0};
  char expected[256], path[128];
  snprintf(path, sizeof path, "%s/none", root);
  ck_assert_ptr_null(tide_target_dir_open(path, &err));
  snprintf(expected, sizeof expected, "folder \"%s\" does not exist: create it, or mount the disk it is on", path);
  ck_assert_str_eq(err.msg, expected);
  ck_assert_int_eq(err.rc, SQLITE_CANTOPEN);
  ck_assert(!exists("none"));

  tide_err_clear(&err);
  make_file("none", "a file");
  ck_assert_ptr_null(tide_target_dir_open(path, &err));
  snprintf(expected, sizeof expected, "\"%s\" is not a folder, or a part of its path is not", path);
  ck_assert_str_eq(err.msg, expected);
}
END_TEST

START_TEST(symbolic_links_are_refused) {
  struct tide_err err = {0};
  struct tide_target *target = open_target();
  mkdir(below("outside"), 0755);
  mkdir(below("logs"), 0755);
  ck_assert_int_eq(symlink("../outside", below("logs/source=web")), 0);
  expect_refused(target, NAME, SQLITE_PERM,
                 "\"%s/logs/source=web\" is a symbolic link, which is never followed: expected a folder of this sink, "
                 "move it away");
  ck_assert_int_eq(files_in("outside"), 0);

  make_file("secret", "secret");
  ck_assert_int_eq(symlink("../secret", below("logs/object")), 0);
  expect_refused(
      target, "logs/object", SQLITE_PERM,
      "\"%s/logs/object\" is a symbolic link, which is never followed: expected a file of this sink, move it away");
  ck_assert_str_eq(content_of("secret"), "secret");
  ck_assert_int_ne(target->methods->open_read(target, "logs/object", &err), 0);
  tide_err_clear(&err);
  ck_assert_int_eq(target->methods->open_read(target, "logs/source=web/x", &err), SQLITE_PERM);
  ck_assert_int_eq(files_in("logs"), 2);
  tide_target_destroy(target);
}
END_TEST

START_TEST(other_things_in_the_place_are_refused) {
  struct tide_err err = {0};
  struct tide_target *target = open_target();
  make_file("logs", "a file");
  expect_refused(target, NAME, SQLITE_PERM, "\"%s/logs\" is a file: expected a folder of this sink, move it away");
  mkdir(below("folder"), 0755);
  expect_refused(target, "folder", SQLITE_PERM,
                 "\"%s/folder\" is a folder: expected a file of this sink, move it away");
  ck_assert_int_eq(mkfifo(below("pipe"), 0600), 0);
  expect_refused(target, "pipe", SQLITE_PERM,
                 "\"%s/pipe\" is a device, pipe or socket: expected a file of this sink, move it away");
  ck_assert_int_ne(target->methods->open_read(target, "pipe", &err), 0);
  tide_target_destroy(target);
}
END_TEST

START_TEST(names_that_lead_out_are_refused) {
  static const char *const names[] = {"",     "/",      "/a",  "a/",  "a//b", ".",    "..",
                                      "../a", "a/../b", "a/.", "a b", "a\nb", "a\\b", "\xc3\xa9"};
  struct tide_target *target = open_target();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct tide_err err = {0};
    ck_assert_int_eq(begin(target, names[i], 1, true, &err), SQLITE_ERROR);
    tide_err_clear(&err);
    ck_assert_int_eq(target->methods->open_read(target, names[i], &err), SQLITE_ERROR);
  }
  expect_refused(target, "a/../b", SQLITE_ERROR,
                 "\"a/../b\" is no object's name: expected parts of A-Z a-z 0-9 %% = . _ ~ -, joined by \"/\"");
  ck_assert_int_eq(files_in(""), 0);
  tide_target_destroy(target);
}
END_TEST

START_TEST(missing_object_is_told_apart) {
  struct tide_err err = {0};
  char expected[256];
  struct tide_target *target = open_target();
  ck_assert_int_eq(target->methods->open_read(target, NAME, &err), SQLITE_CANTOPEN);
  snprintf(expected, sizeof expected, "\"%s/" NAME "\" does not exist", root);
  ck_assert_str_eq(err.msg, expected);
  tide_err_clear(&err);
  ck_assert_int_eq(target->methods->open_read(target, "object", &err), SQLITE_CANTOPEN);
  ck_assert_int_eq(files_in(""), 0);
  tide_target_destroy(target);
}
END_TEST

/* A file that may not grow: EFBIG stands for any error of write. */
START_TEST(failed_write_leaves_nothing) {
  struct tide_err err = {0};
  char expected[256];
  struct tide_target *target = open_target();
  struct rlimit old, low;
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &old);
  low = old;
  low.rlim_cur = 300000;
  char *bytes = calloc(1, 400000);
  begin(target, NAME, 7, true, &err);
  setrlimit(RLIMIT_FSIZE, &low);
  int rc = target->methods->write(target, bytes, 400000, &err);
  setrlimit(RLIMIT_FSIZE, &old);
  snprintf(expected, sizeof expected, "writing \"%s/" NAME "\": File too large" AGAIN, root);
  ck_assert_str_eq(err.msg, expected);
  ck_assert_int_eq(rc, SQLITE_IOERR);
  target->methods->abort(target);
  ck_assert_int_eq(files_in("logs/source=web"), 0);

  /* The same at commit, where the buffer is written. */
  bool found = true;
  tide_err_clear(&err);
  low.rlim_cur = 10;
  begin(target, NAME, 7, true, &err);
  target->methods->write(target, bytes, 1000, &err);
  assert_ok(err);
  setrlimit(RLIMIT_FSIZE, &low);
  ck_assert_int_eq(commit(target, &found, &err), SQLITE_IOERR);
  setrlimit(RLIMIT_FSIZE, &old);
  ck_assert_int_eq(files_in("logs/source=web"), 0);
  tide_err_clear(&err);
  put(target, NAME, "works again", &found, &err);
  assert_ok(err);
  ck_assert_str_eq(content_of(NAME), "works again");
  free(bytes);
  tide_target_destroy(target);
}
END_TEST

/* A real full disk and a real read-only one, where the test may mount one. */
START_TEST(full_and_read_only_disks_have_their_codes) {
  struct tide_err err = {0};
  char expected[256];
  if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("tide", root, "tmpfs", 0, "size=64k") != 0)
    return;
  struct tide_target *target = open_target();
  char *bytes = calloc(1, 400000);
  begin(target, NAME, 7, true, &err);
  ck_assert_int_eq(target->methods->write(target, bytes, 400000, &err), SQLITE_FULL);
  snprintf(expected, sizeof expected, "writing \"%s/" NAME "\": No space left on device" AGAIN, root);
  ck_assert_str_eq(err.msg, expected);
  ck_assert_int_eq(files_in("logs/source=web"), 0);
  ck_assert_int_eq(mount(NULL, root, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
  expect_refused(target, NAME, SQLITE_READONLY, "creating \"%s/" NAME "\": Read-only file system" AGAIN);
  expect_refused(target, "new/x", SQLITE_READONLY, "making a folder for \"%s/new/x\": Read-only file system" AGAIN);
  free(bytes);
  tide_target_destroy(target);
  umount(root);
}
END_TEST

START_TEST(folder_without_permission_is_named) {
  ck_assert_int_eq(chmod(root, 0555), 0);
  bool was_root = geteuid() == 0;
  if (was_root)
    ck_assert_int_eq(seteuid(65534), 0);
  struct tide_target *target = open_target();
  expect_refused(target, NAME, SQLITE_PERM, "making a folder for \"%s/" NAME "\": Permission denied" AGAIN);
  expect_refused(target, "x", SQLITE_PERM, "creating \"%s/x\": Permission denied" AGAIN);
  tide_target_destroy(target);
  if (was_root)
    ck_assert_int_eq(seteuid(0), 0);
  chmod(root, 0755);
}
END_TEST

/* ---- steps ---- */

static char steps[256];

static void record(const char *step) {
  strcat(strcat(steps, step), exists("d/x") ? "+ " : " ");
}

START_TEST(file_is_synced_before_it_is_named) {
  struct tide_err err = {0};
  bool found = false;
  tide_target_dir_step = record;
  struct tide_target *target = open_target();
  steps[0] = '\0';
  put(target, "d/x", "1", &found, &err);
  ck_assert_str_eq(steps, "created written synced renamed+ folder_synced+ ");
  steps[0] = '\0';
  put(target, "d/x", "1", &found, &err);
  ck_assert_str_eq(steps, "created+ written+ synced+ folder_synced+ ");
  assert_ok(err);
  tide_target_dir_step = NULL;
  tide_target_destroy(target);
}
END_TEST

static const char *stop_at;

static void stop_at_step(const char *step) {
  if (strcmp(step, stop_at) == 0)
    _exit(0);
}

START_TEST(killed_at_any_step_it_is_whole_or_absent) {
  static const char *const all[] = {"created", "written", "synced", "renamed", "folder_synced"};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    struct tide_err err = {0};
    char name[32];
    bool found = false;
    snprintf(name, sizeof name, "d/%zu.ndjson", i);
    pid_t child = fork();
    if (child == 0) {
      stop_at = all[i];
      tide_target_dir_step = stop_at_step;
      put(open_target(), name, "whole", &found, &err);
      _exit(1);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    const char *content = content_of(name);
    ck_assert(i < 3 ? content == NULL : content != NULL && strcmp(content, "whole") == 0);
    struct tide_target *target = open_target();
    put(target, name, "whole", &found, &err);
    assert_ok(err);
    ck_assert_int_eq(found, i >= 3);
    ck_assert_int_eq(files_in("d"), (int)i + 1);
    tide_target_destroy(target);
  }
}
END_TEST

/* ---- URLs ---- */

START_TEST(urls_become_paths) {
  static const char *const cases[][2] = {{"file:///var/archive", "/var/archive"},
                                         {"file:///var/archive//", "/var/archive"},
                                         {"file:////var///archive/", "/var/archive"},
                                         {"file://localhost/a", "/a"},
                                         {"FILE://LOCALHOST/a", "/a"},
                                         {"file:///", "/"},
                                         {"file:///a%20b/%C3%A9%25%3f%23", "/a b/\xc3\xa9%?#"},
                                         {"file:///a b/..c/d.", "/a b/..c/d."}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_err err = {0};
    char *path = tide_target_dir_path(cases[i][0], &err);
    assert_ok(err);
    ck_assert_str_eq(path, cases[i][1]);
    tide_free(path);
  }
}
END_TEST

START_TEST(other_urls_are_refused_in_words) {
  static const char *const cases[][2] = {
      {"file://host/a", "a folder on another host is not taken: expected file:///folder, with three slashes"},
      {"file://localhost.x/a", "a folder on another host is not taken: expected file:///folder, with three slashes"},
      {"file://", "expected file:///folder"},
      {"file:/a", "expected file:///folder"},
      {"file:a", "expected file:///folder"},
      {"file://a", "expected file:///folder"},
      {"s3://a/b", "expected file:///folder"},
      {"", "expected file:///folder"},
      {"file:///a?b", "a query or fragment is not taken (write %3F for \"?\", %23 for \"#\")"},
      {"file:///a#b", "a query or fragment is not taken (write %3F for \"?\", %23 for \"#\")"},
      {"file:///a%00", "%00 cannot be in a path"},
      {"file:///a%2fb", "%2F cannot be in a path"},
      {"file:///a%", "\"%\" must be followed by two hexadecimal digits (write %25 for \"%\")"},
      {"file:///a%4", "\"%\" must be followed by two hexadecimal digits (write %25 for \"%\")"},
      {"file:///a%4g", "\"%\" must be followed by two hexadecimal digits (write %25 for \"%\")"},
      {"file:///a/../b", "the parts \".\" and \"..\" are not taken"},
      {"file:///a/%2e%2E", "the parts \".\" and \"..\" are not taken"},
      {"file:///./b", "the parts \".\" and \"..\" are not taken"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_err err = {0};
    char expected[256];
    ck_assert_ptr_null(tide_target_dir_path(cases[i][0], &err));
    snprintf(expected, sizeof expected, "target \"%s\": %s", cases[i][0], cases[i][1]);
    ck_assert_str_eq(err.msg, expected);
    ck_assert_int_eq(err.rc, SQLITE_ERROR);
  }
}
END_TEST

/* ---- the memory target obeys the same contract ---- */

START_TEST(memory_target_keeps_and_fails_as_told) {
  struct tide_err err = {0};
  struct tide_target *target = tide_target_memory_create(&err);
  bool found = true;
  char back[16];
  put(target, NAME, "first", &found, &err);
  assert_ok(err);
  ck_assert(!found);
  put(target, NAME, "second", &found, &err);
  assert_ok(err);
  ck_assert(found);
  ck_assert_uint_eq(tide_target_memory_object(target, NAME)->len, 5);
  target->methods->open_read(target, NAME, &err);
  ck_assert_int_eq(target->methods->read(target, back, 3, &err), 3);
  ck_assert_int_eq(target->methods->read(target, back + 3, 13, &err), 2);
  ck_assert_int_eq(target->methods->read(target, back, 16, &err), 0);
  ck_assert_int_eq(memcmp(back, "first", 5), 0);
  target->methods->close_read(target);
  ck_assert_int_eq(target->methods->open_read(target, "other", &err), SQLITE_CANTOPEN);
  static const char *const methods[] = {"begin", "write", "commit"};
  for (size_t i = 0; i < 3; i++) {
    tide_err_clear(&err);
    tide_target_memory_fail(target, methods[i], SQLITE_FULL);
    put(target, "new", "x", &found, &err);
    ck_assert_int_eq(err.rc, SQLITE_FULL);
    ck_assert_ptr_null(tide_target_memory_object(target, "new"));
  }
  tide_err_clear(&err);
  ck_assert_int_eq(begin(target, "../x", 1, true, &err), SQLITE_ERROR);
  tide_target_destroy(target);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {object_appears_whole_under_its_name,
                                big_and_small_writes_keep_their_order,
                                existing_object_is_never_replaced,
                                leftovers_of_the_same_name_are_removed,
                                first_try_does_not_look_for_leftovers,
                                abort_leaves_nothing,
                                no_descriptor_is_left_open,
                                missing_root_is_not_created,
                                symbolic_links_are_refused,
                                other_things_in_the_place_are_refused,
                                names_that_lead_out_are_refused,
                                missing_object_is_told_apart,
                                failed_write_leaves_nothing,
                                full_and_read_only_disks_have_their_codes,
                                folder_without_permission_is_named,
                                file_is_synced_before_it_is_named,
                                killed_at_any_step_it_is_whole_or_absent,
                                urls_become_paths,
                                other_urls_are_refused_in_words,
                                memory_target_keeps_and_fails_as_told,
                                NULL};
  Suite *suite = suite_create("target_dir");
  TCase *tcase = tcase_create("target_dir");
  tcase_add_checked_fixture(tcase, setup, teardown);
  for (size_t i = 0; tests[i] != NULL; i++)
    tcase_add_test(tcase, tests[i]);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
