/* What was done to the files below a folder, call by call: the log of a disk. A child process writes it while it works
 * (recorder.c), its parent replays it (disk.h). It lies in memory that both share. */
#ifndef TIDE_TESTS_DISK_LOG_H
#define TIDE_TESTS_DISK_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum disk_call {
  DISK_CREATE, /* a file, of that name in a folder */
  DISK_MKDIR,
  DISK_WRITE,
  DISK_TRUNCATE,
  DISK_SYNC, /* a file: its bytes and its size */
  DISK_SYNC_FOLDER,
  DISK_RENAME, /* takes the place of what has that name */
  DISK_UNLINK,
  DISK_MARK /* something that the work itself has to say */
};

/* Files and folders have numbers, the folder of them all is 0, which are never given again. */
struct disk_record {
  enum disk_call call;
  int file;      /* or the folder that is made or synced */
  int folder;    /* that holds, or held, the name */
  int to_folder; /* of DISK_RENAME, as to_name */
  const char *name, *to_name;
  int64_t offset; /* DISK_TRUNCATE: the new size; DISK_MARK: what it says */
  size_t size;
  const unsigned char *bytes;
};

enum { DISK_RECORDS_MAX = 60000, DISK_FILES_MAX = 4000 };

struct disk_log {
  int count;
  int first; /* the records before it say what was there when the work began, all of it safe */
  int files;
  size_t used; /* of what holds names and bytes */
  struct disk_record records[DISK_RECORDS_MAX];
};

/* Runs work in a child that then exits, and gives the log of what it did below the folder, which stays good until the
 * next call. Only files that the folder holds, or that work makes there, count; names that end in "-shm" do not: no
 * process ever reads what another that is gone left in them. */
const struct disk_log *recorder_run(const char *folder, void (*work)(void));

/* The same by a child that goes on in the folder where another was killed. The log is taken back to `count` records of
 * `from`, a copy of its log, and goes on; path_of says where each of its files is now, NULL: nowhere. */
const struct disk_log *recorder_go_on(const struct disk_log *from, int count, const char *(*path_of)(int file),
                                      void (*work)(void));

/* For work: puts a DISK_MARK into the log. */
void recorder_mark(int64_t value);

#endif
