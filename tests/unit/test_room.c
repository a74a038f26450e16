/* A target without room: the batch stays, nothing half is left, and when there is room again the same batch goes out.
 * */
#define _GNU_SOURCE
#include <errno.h>

#include "export_db.h"
#include "mounts.h"
#include "sink/target.h"

/* The object that the open batch will be, and its range. */
static const char *open_batch(void) {
  return db_text(db, "SELECT since || ' ' || until || ' ' || rows || ' ' || object FROM tidemark_batch");
}

/* A tick fails with those words, with the batch open and no file. */
static void fail_a_tick(const char *words) {
  char batch[300];
  ck_assert_str_eq(tick("failed"), "1");
  assert_int(db, 1, "SELECT count(*) FROM tidemark_batch WHERE error LIKE 'writing \"%s/%%\": %s: the batch stays %%'",
             folder, words);
  assert_int(db, 0, "SELECT count(*) FROM tidemark_export_log");
  ck_assert_int_eq(files_below(folder, false), 0);
  snprintf(batch, sizeof batch, "%s", open_batch());
  append_many(5, 100); /* what comes meanwhile is not in it */
  shim.now_ms += 600000;
  ck_assert_str_eq(tick("failed"), "1");
  ck_assert_str_eq(open_batch(), batch);
  ck_assert_int_eq(files_below(folder, false), 0);
}

static void check_the_same_batch_goes_out(const char *batch) {
  shim.now_ms += 600000;
  ck_assert_str_eq(tick("failed"), "0");
  ck_assert_str_eq(db_text(db, "SELECT since || ' ' || until || ' ' || rows || ' ' || object FROM tidemark_export_log"
                               " ORDER BY id LIMIT 1"),
                   batch);
  check_archive();
}

START_TEST(batch_waits_for_room) {
  static const int errors[] = {ENOSPC, EDQUOT};
  static const char *const words[] = {"No space left on device", "Disk quota exceeded"};
  for (int i = 0; i < 2; i++) {
    char batch[300];
    begin();
    append_many(400, 1000);
    tide_target_dir_room = (struct tide_target_dir_room){300000, errors[i]};
    fail_a_tick(words[i]);
    snprintf(batch, sizeof batch, "%s", open_batch());
    tide_target_dir_room = (struct tide_target_dir_room){0};
    check_the_same_batch_goes_out(batch);
    end();
  }
}
END_TEST

START_TEST(batch_waits_for_room_on_a_real_disk) {
  char batch[300];
  begin();
  append_many(400, 1000);
  if (mount_small_disk(folder)) {
    fail_a_tick("No space left on device");
    snprintf(batch, sizeof batch, "%s", open_batch());
    ck_assert_int_eq(mount("tide", folder, "tmpfs", MS_REMOUNT, "size=4m"), 0);
    check_the_same_batch_goes_out(batch);
    umount(folder);
  }
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {batch_waits_for_room, batch_waits_for_room_on_a_real_disk, NULL};
  return unit_main("room", tests);
}
