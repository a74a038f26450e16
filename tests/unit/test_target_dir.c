#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "mounts.h"
#include "oom.h"
#include "sink/target.h"
#include "unit.h"

#define NAME "logs/source=web/1-2.ndjson"
#define LOG_ID "0123456789abcdef"
#define TMP "_tidemark/tmp"
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

/* The one file under way, relative to the root. */
static const char *temporary(void) {
  static char name[300];
  DIR *list = opendir(below(TMP));
  ck_assert_int_eq(files_in(TMP), 1);
  for (const struct dirent *entry; (entry = readdir(list)) != NULL;)
    if (entry->d_name[0] != '.')
      snprintf(name, sizeof name, TMP "/%s", entry->d_name);
  closedir(list);
  return name;
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
  const struct tide_object object = {.name = name, .log_id = LOG_ID, .token = token, .again = again};
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
  ck_assert_int_eq(strncmp(temporary(), TMP "/" LOG_ID ".7.", strlen(TMP "/" LOG_ID ".7.")), 0);
  ck_assert_int_eq(files_in("logs/source=web"), 0);
  target->methods->write(target, "two\n", 4, &err);
  commit(target, &found, &err);
  assert_ok(err);
  ck_assert(!found);
  ck_assert_str_eq(content_of(NAME), "one\ntwo\n");
  ck_assert_int_eq(files_in("logs/source=web"), 1);
  ck_assert_int_eq(files_in(TMP), 0);

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
    ck_assert_int_eq(files_in(TMP), 0);
    tide_target_destroy(target);
  }
}
END_TEST

static bool put_exclusive(const char *name, struct tide_err *err) {
  const struct tide_object object = {.name = name, .log_id = LOG_ID, .token = 7, .exclusive = true};
  struct tide_target *target = open_target();
  bool found = false;
  if (target->methods->begin(target, &object, err) == 0 && target->methods->write(target, "x", 1, err) == 0)
    commit(target, &found, err);
  tide_target_destroy(target);
  return found;
}

START_TEST(exclusive_object_is_named_by_a_way_that_cannot_replace) {
  struct tide_err err = {0};
  char expected[1024];
  for (tide_target_dir_ways_missing = 0; tide_target_dir_ways_missing <= 1; tide_target_dir_ways_missing++) {
    const char *name = tide_target_dir_ways_missing == 0 ? "e/0.json" : "e/1.json";
    ck_assert(!put_exclusive(name, &err));
    ck_assert(put_exclusive(name, &err));
    assert_ok(err);
  }
  tide_target_dir_ways_missing = 2;
  put_exclusive("e/2.json", &err);
  snprintf(expected, sizeof expected,
           "the file system of \"%s\" cannot name a file without replacing one (Function not implemented), which "
           "table=delta needs: move the table to another",
           root);
  ck_assert_str_eq(err.msg, expected);
  ck_assert_int_eq(err.rc, SQLITE_IOERR);
  ck_assert_int_eq(files_in("e"), 2);
  ck_assert_int_eq(files_in(TMP), 0);
}
END_TEST

/* ---- what is under way ---- */

/* What a process that died left of an object; its name, which the next call overwrites. */
static const char *leave(const char *name, int64_t token, const char *content) {
  static char left[300];
  struct tide_err err = {0};
  char kept[300];
  struct tide_target *target = open_target();
  const int before = exists(TMP) ? files_in(TMP) : 0;
  begin(target, name, token, false, &err);
  assert_ok(err);
  ck_assert_int_eq(files_in(TMP), before + 1);
  DIR *list = opendir(below(TMP));
  left[0] = '\0';
  for (const struct dirent *entry; (entry = readdir(list)) != NULL;) {
    struct stat st;
    snprintf(kept, sizeof kept, TMP "/%s", entry->d_name);
    if (lstat(below(kept), &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0)
      strcpy(left, kept);
  }
  closedir(list);
  tide_target_destroy(target); /* it removes the file: it comes back as one that is left */
  ck_assert_str_ne(left, "");
  make_file(left, content);
  return left;
}

START_TEST(first_try_does_not_look_for_leftovers) {
  struct tide_err err = {0};
  struct tide_target *target = open_target();
  leave("d/1-2.x", 3, "older token");
  begin(target, "d/1-2.x", 7, false, &err);
  assert_ok(err);
  ck_assert_int_eq(files_in(TMP), 2);
  tide_target_destroy(target);
}
END_TEST

START_TEST(leftovers_of_the_same_name_are_removed) {
  struct tide_err err = {0};
  struct tide_target *target = open_target();
  bool found = false;
  char older[300], same[300], newer[300], other[300], large[400];
  strcpy(older, leave("d/1-2.x", 3, "older token"));
  strcpy(same, leave("d/1-2.x", 7, "same token"));
  strcpy(newer, leave("d/1-2.x", 8, "newer token"));
  strcpy(other, leave("e/1-2.x", 3, "another object"));
  snprintf(large, sizeof large, TMP "/" LOG_ID ".99999999999999999999%s", older + strlen(TMP "/" LOG_ID ".3"));
  make_file(large, "a number too large");
  put(target, "d/1-2.x", "new", &found, &err);
  assert_ok(err);
  ck_assert(!exists(older) && !exists(same));
  ck_assert(exists(newer) && exists(other) && exists(large));
  ck_assert_str_eq(content_of("d/1-2.x"), "new");
  tide_target_destroy(target);
}
END_TEST

static int asked;

static bool token_is_seven(void *context, const char *name, int64_t token) {
  ck_assert_ptr_eq(context, root);
  ck_assert_ptr_null(name);
  asked++;
  return token == 7;
}

START_TEST(sweep_takes_what_is_nobodys) {
  struct tide_err err = {0};
  struct tide_target *target = open_target();
  char open[300], first[300], second[300];
  strcpy(first, leave("d/1-2.x", 3, "given up"));
  strcpy(second, leave("e/f/3-4.x", 9223372036854775807, "given up too"));
  strcpy(open, leave("d/5-6.x", 7, "somebody's"));
  mkdir(below("d"), 0755);
  make_file("d/keep." LOG_ID ".x", "an object");
  target->methods->sweep(target, LOG_ID, "d", token_is_seven, root, &err);
  assert_ok(err);
  ck_assert(!exists(first) && !exists(second) && exists(open));
  ck_assert(exists("d/keep." LOG_ID ".x"));
  ck_assert_int_eq(asked, 3);
  tide_target_destroy(target);
}
END_TEST

/* Names that are like ours but for one thing each. */
START_TEST(sweep_touches_nothing_else) {
  static const char *const others[] = {"fedcba9876543210.3.0123456789abcdef.0123456789abcdef.tmp",
                                       LOG_ID "0.3.0123456789abcdef.0123456789abcdef.tmp",
                                       "0123456789abcde.3.0123456789abcdef.0123456789abcdef.tmp",
                                       LOG_ID ".03.0123456789abcdef.0123456789abcdef.tmp",
                                       LOG_ID ".-3.0123456789abcdef.0123456789abcdef.tmp",
                                       LOG_ID "..0123456789abcdef.0123456789abcdef.tmp",
                                       LOG_ID ".3x.0123456789abcdef.0123456789abcdef.tmp",
                                       LOG_ID ".9223372036854775808.0123456789abcdef.0123456789abcdef.tmp",
                                       LOG_ID ".3.0123456789abcde.0123456789abcdef.tmp",
                                       LOG_ID ".3.0123456789abcdef0.0123456789abcdef.tmp",
                                       LOG_ID ".3.0123456789abcdef.0123456789ABCDEF.tmp",
                                       LOG_ID ".3.0123456789abcdef.0123456789abcdef",
                                       LOG_ID ".3.0123456789abcdef.0123456789abcdef.tmp.1",
                                       LOG_ID ".3.0123456789abcdef.tmp",
                                       LOG_ID,
                                       "README"};
  struct tide_err err = {0};
  struct tide_target *target = open_target();
  mkdir(below("_tidemark"), 0755);
  mkdir(below(TMP), 0755);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    char name[300];
    snprintf(name, sizeof name, TMP "/%s", others[i]);
    make_file(name, "not ours");
  }
  target->methods->sweep(target, LOG_ID, "d", token_is_seven, root, &err);
  assert_ok(err);
  ck_assert_int_eq(files_in(TMP), (int)(sizeof others / sizeof *others));
  ck_assert_int_eq(asked, 0);
  tide_target_destroy(target);
}
END_TEST

START_TEST(sweep_of_a_folder_that_is_not_there_makes_nothing) {
  struct tide_err err = {0};
  struct tide_target *target = open_target();
  target->methods->sweep(target, LOG_ID, "d", token_is_seven, root, &err);
  assert_ok(err);
  ck_assert_int_eq(files_in(""), 0);
  tide_target_destroy(target);
}
END_TEST

/* Two copies of a database write the same object under the same token: neither gives its name to the other's half. */
START_TEST(two_writers_of_one_token_do_not_meet) {
  struct tide_err err = {0};
  struct tide_target *one = open_target(), *other = open_target();
  bool found = true;
  begin(one, NAME, 7, false, &err);
  one->methods->write(one, "whole", 5, &err);
  begin(other, NAME, 7, false, &err);
  other->methods->write(other, "ha", 2, &err);
  commit(one, &found, &err);
  assert_ok(err);
  ck_assert(!found);
  ck_assert_str_eq(content_of(NAME), "whole");
  other->methods->write(other, "lf", 2, &err);
  commit(other, &found, &err);
  assert_ok(err);
  ck_assert(found);
  ck_assert_str_eq(content_of(NAME), "whole");
  tide_target_destroy(one);
  tide_target_destroy(other);
}
END_TEST

START_TEST(folder_of_what_is_under_way_is_no_link) {
  struct tide_err err = {0};
  struct tide_target *target = open_target();
  mkdir(below("outside"), 0755);
  mkdir(below("_tidemark"), 0755);
  ck_assert_int_eq(symlink("../outside", below(TMP)), 0);
  expect_refused(target, NAME, SQLITE_PERM,
                 "\"%s/_tidemark/tmp\" is a symbolic link, which is never followed: expected a folder of this sink, "
                 "move it away");
  make_file("outside/" LOG_ID ".3.0123456789abcdef.0123456789abcdef.tmp", "not ours");
  ck_assert_int_eq(target->methods->sweep(target, LOG_ID, "d", token_is_seven, root, &err), SQLITE_PERM);
  ck_assert_int_eq(files_in("outside"), 1);
  unlink(below(TMP));
  rmdir(below("_tidemark"));
  ck_assert_int_eq(symlink("outside", below("_tidemark")), 0);
  expect_refused(target, NAME, SQLITE_PERM,
                 "\"%s/_tidemark\" is a symbolic link, which is never followed: expected a folder of this sink, "
                 "move it away");
  ck_assert_int_eq(files_in("outside"), 1);
  tide_target_destroy(target);
}
END_TEST

/* ---- replace ---- */

static void replace(struct tide_target *target, const char *name, const char *content, struct tide_err *err) {
  const struct tide_object object = {.name = name, .log_id = LOG_ID, .token = 7};
  target->methods->replace(target, &object, content, strlen(content), err);
}

START_TEST(replaced_object_is_the_new_one) {
  struct tide_err err = {0};
  struct tide_target *target = open_target();
  replace(target, "_tidemark/marker", "1", &err);
  assert_ok(err);
  ck_assert_str_eq(content_of("_tidemark/marker"), "1");
  replace(target, "_tidemark/marker", "22", &err);
  assert_ok(err);
  ck_assert_str_eq(content_of("_tidemark/marker"), "22");
  ck_assert_int_eq(files_in(TMP), 0);
  begin(target, NAME, 7, true, &err);
  target->methods->write(target, "x", 1, &err);
  replace(target, "marker", "while another is under way", &err);
  bool found = true;
  commit(target, &found, &err);
  assert_ok(err);
  ck_assert_str_eq(content_of("marker"), "while another is under way");
  ck_assert_str_eq(content_of(NAME), "x");
  tide_target_destroy(target);
}
END_TEST

START_TEST(replace_refuses_what_is_no_file) {
  struct tide_err err = {0};
  char expected[256];
  struct tide_target *target = open_target();
  make_file("secret", "secret");
  ck_assert_int_eq(symlink("secret", below("link")), 0);
  replace(target, "link", "x", &err);
  snprintf(expected, sizeof expected,
           "\"%s/link\" is a symbolic link, which is never followed: expected a file of this sink, move it away", root);
  ck_assert_str_eq(err.msg, expected);
  ck_assert_str_eq(content_of("secret"), "secret");
  tide_err_clear(&err);
  mkdir(below("folder"), 0755);
  replace(target, "folder", "x", &err);
  ck_assert_int_eq(err.rc, SQLITE_PERM);
  tide_err_clear(&err);
  replace(target, "../x", "x", &err);
  ck_assert_int_eq(err.rc, SQLITE_ERROR);
  ck_assert_int_eq(files_in(TMP), 0);
  tide_target_destroy(target);
}
END_TEST

/* ---- list ---- */

static char listed[8192];
static int stop_after;

static bool note(void *context, const char *name, int64_t size, struct tide_err *err) {
  ck_assert_ptr_eq(context, root);
  const size_t used = strlen(listed);
  snprintf(listed + used, sizeof listed - used, "%s:%d ", name, (int)size);
  if (stop_after > 0 && --stop_after == 0 && strcmp(name, "fail") == 0)
    tide_err_set(err, SQLITE_FULL, "no more");
  return stop_after != 0;
}

static const char *list(struct tide_target *target, const char *folder, const char *after, struct tide_err *err) {
  listed[0] = '\0';
  if (stop_after == 0)
    stop_after = -1;
  target->methods->list(target, folder, after, note, root, err);
  stop_after = 0;
  return listed;
}

START_TEST(list_gives_objects_and_nothing_else) {
  struct tide_err err = {0};
  bool found = false;
  struct tide_target *target = open_target();
  ck_assert_str_eq(list(target, "", NULL, &err), "");
  ck_assert_str_eq(list(target, "d/none", NULL, &err), "");
  put(target, "d/p=1/x", "123", &found, &err);
  put(target, "d/p=1/w", "", &found, &err);
  put(target, "e/x", "1", &found, &err);
  put(target, "d.g1/x", "12", &found, &err);
  replace(target, "_tidemark/marker", "1234", &err);
  begin(target, "d/p=1/y", 7, true, &err);
  target->methods->write(target, "1", 1, &err);
  ck_assert_int_eq(symlink("/etc", below("d/link")), 0);
  ck_assert_int_eq(symlink("x", below("d/p=1/link")), 0);
  ck_assert_int_eq(mkfifo(below("d/pipe"), 0600), 0);
  make_file("d/no object", "x");
  ck_assert_str_eq(list(target, "d", NULL, &err), "d/p=1/w:0 d/p=1/x:3 ");
  ck_assert_str_eq(list(target, "", NULL, &err), "_tidemark/marker:4 d/p=1/w:0 d/p=1/x:3 d.g1/x:2 e/x:1 ");
  ck_assert_str_eq(list(target, TMP, NULL, &err), "");
  ck_assert_str_eq(list(target, "_tidemark", NULL, &err), "_tidemark/marker:4 ");
  assert_ok(err);
  ck_assert_int_eq(target->methods->list(target, "../d", NULL, note, root, &err), SQLITE_ERROR);
  tide_err_clear(&err);
  ck_assert_int_eq(target->methods->list(target, "d/link", NULL, note, root, &err), SQLITE_PERM);
  tide_target_destroy(target);
}
END_TEST

/* More than are kept at a time, and made in an order that is not theirs. */
START_TEST(list_of_one_folder_is_in_order) {
  struct tide_err err = {0};
  struct tide_target *target = open_target();
  char expected[8192] = "", name[32];
  enum { FILES = 101 };
  mkdir(below("d"), 0755);
  for (int i = 0; i < FILES; i++) {
    snprintf(name, sizeof name, "d/%05d", i * 37 % FILES);
    make_file(name, "");
  }
  for (int i = 0; i < FILES; i++)
    snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "d/%05d:0 ", i);
  ck_assert_str_eq(list(target, "d", NULL, &err), expected);
  ck_assert_str_eq(list(target, "d", "d/00041", &err), strstr(expected, "d/00042"));
  ck_assert_str_eq(list(target, "d", "d/00041.5", &err), strstr(expected, "d/00042"));
  ck_assert_str_eq(list(target, "d", "c", &err), expected);
  ck_assert_str_eq(list(target, "d", "d", &err), expected);
  ck_assert_str_eq(list(target, "d", "d/00100", &err), "");
  ck_assert_str_eq(list(target, "d", "d0", &err), "");
  assert_ok(err);
  tide_target_destroy(target);
}
END_TEST

/* '-' and '.' sort before '/', '0' behind it. */
START_TEST(list_after_a_name_looks_into_folders) {
  struct tide_err err = {0};
  bool found = false;
  struct tide_target *target = open_target();
  put(target, "d/a/x", "", &found, &err);
  put(target, "d/a-b", "", &found, &err);
  put(target, "d/a0", "", &found, &err);
  put(target, "d/b/y", "", &found, &err);
  ck_assert_str_eq(list(target, "d", "d/a-b", &err), "d/a/x:0 d/a0:0 d/b/y:0 ");
  ck_assert_str_eq(list(target, "d", "d/a/x", &err), "d/a0:0 d/b/y:0 ");
  ck_assert_str_eq(list(target, "d", "d/a/w", &err), "d/a/x:0 d/a0:0 d/b/y:0 ");
  ck_assert_str_eq(list(target, "d", "d/b", &err), "d/b/y:0 ");
  ck_assert_str_eq(list(target, "d", "d/b0", &err), "");
  assert_ok(err);
  tide_target_destroy(target);
}
END_TEST

START_TEST(list_stops_when_told) {
  struct tide_err err = {0};
  struct tide_target *target = open_target();
  mkdir(below("d"), 0755);
  make_file("d/1", "");
  make_file("d/2", "");
  make_file("fail", "");
  make_file("z", "");
  stop_after = 1;
  ck_assert_str_eq(list(target, "", NULL, &err), "d/1:0 ");
  stop_after = 3;
  ck_assert_str_eq(list(target, "", NULL, &err), "d/1:0 d/2:0 fail:0 ");
  ck_assert_int_eq(err.rc, SQLITE_FULL);
  ck_assert_str_eq(err.msg, "no more");
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
  ck_assert_int_eq(files_in(TMP), 0);
  begin(target, NAME, 7, true, &err);
  assert_ok(err);
  tide_target_destroy(target);
  ck_assert_int_eq(files_in(TMP), 0);
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
  ck_assert_int_eq(files_in(TMP) + files_in("logs/source=web"), 0);

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
  ck_assert_int_eq(files_in(TMP) + files_in("logs/source=web"), 0);
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
  if (!mount_small_disk(root))
    return;
  struct tide_target *target = open_target();
  char *bytes = calloc(1, 400000);
  begin(target, NAME, 7, true, &err);
  ck_assert_int_eq(target->methods->write(target, bytes, 400000, &err), SQLITE_FULL);
  snprintf(expected, sizeof expected, "writing \"%s/" NAME "\": No space left on device" AGAIN, root);
  ck_assert_str_eq(err.msg, expected);
  ck_assert_int_eq(files_in(TMP) + files_in("logs/source=web"), 0);
  ck_assert_int_eq(mount(NULL, root, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
  expect_refused(target, NAME, SQLITE_READONLY, "creating \"%s/" NAME "\": Read-only file system" AGAIN);
  expect_refused(target, "new/x", SQLITE_READONLY, "making a folder for \"%s/new/x\": Read-only file system" AGAIN);
  free(bytes);
  tide_target_destroy(target);
  umount(root);
}
END_TEST

/* The object goes out when there is room again. A disk may take a part of a write before it is full. */
START_TEST(without_room_nothing_is_left) {
  static const int errors[] = {ENOSPC, EDQUOT};
  static const char *const words[] = {"No space left on device", "Disk quota exceeded"};
  char *bytes = calloc(1, 400001);
  memset(bytes, 'x', 400000);
  for (size_t i = 0; i < 4; i++) {
    struct tide_err err = {0};
    char expected[256], name[32];
    bool found = true;
    struct tide_target *target = open_target();
    snprintf(name, sizeof name, "d/%zu", i);
    tide_target_dir_room = (struct tide_target_dir_room){i % 2 == 0 ? 300000 : 0, errors[i / 2]};
    put(target, name, bytes, &found, &err);
    ck_assert_int_eq(err.rc, SQLITE_FULL);
    snprintf(expected, sizeof expected, "writing \"%s/%s\": %s" AGAIN, root, name, words[i / 2]);
    ck_assert_str_eq(err.msg, expected);
    ck_assert_int_eq(files_in(TMP), 0);
    ck_assert_int_eq(files_in("d"), (int)i);
    tide_err_clear(&err);
    replace(target, "marker", i % 2 == 0 ? "old" : "new", &err);
    if (i % 2 == 0)
      ck_assert_int_eq(err.rc, SQLITE_FULL);
    tide_target_dir_room = (struct tide_target_dir_room){0};
    tide_err_clear(&err);
    put(target, name, bytes, &found, &err);
    assert_ok(err);
    ck_assert(!found && exists(name));
    ck_assert_int_eq(files_in(TMP), 0);
    tide_target_destroy(target);
  }
  free(bytes);
}
END_TEST

/* A folder of the target that is another disk. */
START_TEST(another_file_system_below_is_named) {
  struct tide_err err = {0};
  bool found = false;
  char expected[512];
  mkdir(below("logs"), 0755);
  mkdir(below("logs/source=web"), 0755);
  if (!mount_small_disk(below("logs/source=web")))
    return;
  struct tide_target *target = open_target();
  put(target, NAME, "x", &found, &err);
  snprintf(expected, sizeof expected,
           "\"%s/" NAME "\" cannot be named: its folder and \"%s/" TMP "\" are on different file systems, and all of a "
           "target must be on one" AGAIN,
           root, root);
  ck_assert_str_eq(err.msg, expected);
  ck_assert_int_eq(files_in(TMP) + files_in("logs/source=web"), 0);
  tide_target_destroy(target);
  umount(below("logs/source=web"));
}
END_TEST

START_TEST(folder_without_permission_is_named) {
  ck_assert_int_eq(chmod(root, 0555), 0);
  bool was_root = geteuid() == 0;
  if (was_root)
    ck_assert_int_eq(seteuid(65534), 0);
  struct tide_target *target = open_target();
  expect_refused(target, NAME, SQLITE_PERM, "making a folder for \"%s/" NAME "\": Permission denied" AGAIN);
  expect_refused(target, "x", SQLITE_PERM, "making a folder for \"%s/" TMP "/\": Permission denied" AGAIN);
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

/* How often a folder is synced. */
static struct {
  const char *name;
  int count;
} synced;

int fsync(int file) {
  struct stat st, of_name;
  if (synced.name != NULL && fstat(file, &st) == 0 && stat(below(synced.name), &of_name) == 0)
    synced.count += st.st_dev == of_name.st_dev && st.st_ino == of_name.st_ino;
  return (int)syscall(SYS_fsync, file);
}

static int syncs_of(const char *name, struct tide_target *target, const char *object) {
  struct tide_err err = {0};
  bool found = false;
  synced.name = name;
  synced.count = 0;
  put(target, object, "1", &found, &err);
  synced.name = NULL;
  assert_ok(err);
  return synced.count;
}

START_TEST(root_is_synced_once_for_a_folder) {
  struct tide_target *target = open_target();
  ck_assert_int_eq(syncs_of("", target, "logs/a/1"), 1);
  ck_assert_int_eq(syncs_of("", target, "logs/b/1"), 0);
  ck_assert_int_eq(syncs_of("logs", target, "logs/a/2"), 1);
  ck_assert_int_eq(syncs_of("", target, "other/a/1"), 1);
  char moved[sizeof root + 8];
  snprintf(moved, sizeof moved, "%s/moved", root);
  ck_assert_int_eq(rename(below("other"), moved), 0); /* another takes its place */
  ck_assert_int_eq(syncs_of("", target, "other/a/1"), 1);
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
    ck_assert_int_eq(files_in(TMP), 0);
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

/* ---- no memory ---- */

/* All that a target does, with what an earlier try left beside it. */
static void do_all(struct tide_err *err) {
  bool found;
  struct tide_target *target = tide_target_dir_open(root, err);
  if (target == NULL)
    return;
  put(target, "d/object", "whole", &found, err);
  if (!tide_err_is_set(err))
    replace(target, "d/marker", "1", err);
  if (!tide_err_is_set(err))
    list(target, "", NULL, err);
  if (!tide_err_is_set(err))
    target->methods->sweep(target, LOG_ID, "d", token_is_seven, root, err);
  tide_target_destroy(target);
}

START_TEST(without_memory_nothing_is_left) {
  oom_install();
  const int files = open_files();
  const long live = oom_live();
  int failures = 0;
  for (int n = 1;; n++) {
    struct tide_err err = {0};
    oom_fail_at(n);
    do_all(&err);
    const bool failed = oom_has_failed();
    oom_fail_at(0);
    ck_assert_int_eq(err.rc, failed ? SQLITE_NOMEM : 0);
    ck_assert_int_eq(oom_live(), live);
    ck_assert_int_eq(open_files(), files);
    ck_assert_int_eq(exists(TMP) ? files_in(TMP) : 0, 0);
    ck_assert(!exists("d/object") || strcmp(content_of("d/object"), "whole") == 0);
    failures += failed;
    if (!failed)
      break;
  }
  ck_assert_int_gt(failures, 10);
}
END_TEST

START_TEST(memory_target_replaces_and_lists) {
  struct tide_err err = {0};
  struct tide_target *target = tide_target_memory_create(&err);
  bool found = true;
  put(target, "d/b", "1", &found, &err);
  put(target, "d/a", "22", &found, &err);
  put(target, "e", "333", &found, &err);
  put(target, "d0", "4444", &found, &err);
  ck_assert_str_eq(list(target, "d", NULL, &err), "d/a:2 d/b:1 ");
  ck_assert_str_eq(list(target, "d", "d/a", &err), "d/b:1 ");
  ck_assert_str_eq(list(target, "", NULL, &err), "d/a:2 d/b:1 d0:4 e:3 ");
  stop_after = 1;
  ck_assert_str_eq(list(target, "", NULL, &err), "d/a:2 ");
  replace(target, "d/a", "new", &err);
  replace(target, "d/c", "", &err);
  ck_assert_str_eq(list(target, "d", NULL, &err), "d/a:3 d/b:1 d/c:0 ");
  ck_assert_int_eq(memcmp(tide_target_memory_object(target, "d/a")->data, "new", 3), 0);
  target->methods->sweep(target, LOG_ID, "d", token_is_seven, root, &err);
  assert_ok(err);
  tide_target_memory_fail(target, "replace", SQLITE_FULL);
  replace(target, "d/a", "lost", &err);
  ck_assert_int_eq(err.rc, SQLITE_FULL);
  ck_assert_int_eq(tide_target_memory_object(target, "d/a")->len, 3);
  tide_target_destroy(target);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {object_appears_whole_under_its_name,
                                big_and_small_writes_keep_their_order,
                                existing_object_is_never_replaced,
                                exclusive_object_is_named_by_a_way_that_cannot_replace,
                                leftovers_of_the_same_name_are_removed,
                                first_try_does_not_look_for_leftovers,
                                sweep_takes_what_is_nobodys,
                                sweep_touches_nothing_else,
                                sweep_of_a_folder_that_is_not_there_makes_nothing,
                                two_writers_of_one_token_do_not_meet,
                                folder_of_what_is_under_way_is_no_link,
                                replaced_object_is_the_new_one,
                                replace_refuses_what_is_no_file,
                                list_gives_objects_and_nothing_else,
                                list_of_one_folder_is_in_order,
                                list_after_a_name_looks_into_folders,
                                list_stops_when_told,
                                without_room_nothing_is_left,
                                another_file_system_below_is_named,
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
                                root_is_synced_once_for_a_folder,
                                killed_at_any_step_it_is_whole_or_absent,
                                urls_become_paths,
                                other_urls_are_refused_in_words,
                                memory_target_keeps_and_fails_as_told,
                                memory_target_replaces_and_lists,
                                without_memory_nothing_is_left,
                                NULL};
  Suite *suite = suite_create("target_dir");
  TCase *tcase = tcase_create("target_dir");
  tcase_add_checked_fixture(tcase, setup, teardown);
  for (size_t i = 0; tests[i] != NULL; i++)
    tcase_add_test(tcase, tests[i]);
  suite_add_tcase(suite, tcase);
  return unit_run(suite);
}
