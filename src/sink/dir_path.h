/* Folders and files below an open root, reached part by part so that no symbolic link is followed, and the sentences
 * for what the file system answers. Descriptors are never 0, 1 or 2: a host that closed those must not print into an
 * export. */
#ifndef TIDE_SINK_DIR_PATH_H
#define TIDE_SINK_DIR_PATH_H

#include <dirent.h>
#include <stddef.h>

#include "base/err.h"

struct tide_dir_root {
  char *path; /* as the user wrote it, "" for "/", so that path, '/' and a name make a path for messages */
  int fd;
  int *synced; /* the folder in the root whose name was synced last, -1: none; NULL: that is not remembered */
};

/* openat that goes on after a signal and gives a descriptor above 2, or -1 with errno. O_CLOEXEC is added. */
int tide_dir_openat(int folder, const char *name, int flags);

enum tide_dir_missing {
  TIDE_DIR_MISSING_FAILS, /* with SQLITE_CANTOPEN, which stands for nothing else */
  TIDE_DIR_MISSING_IS_MADE,
  TIDE_DIR_MISSING_IS_SYNCED /* made, and every folder on the way is synced, so that an earlier try that was cut short
                                between making one and syncing its parent does no harm */
};

/* The folder that holds the last part of `name` (which tide_target_name_check has passed; it may also end with a slash,
 * or be empty for the root), for the caller to close; -1 with err. */
int tide_dir_open_folder(const struct tide_dir_root *root, const char *name, enum tide_dir_missing missing,
                         struct tide_err *err);

/* A folder's names, for readdir and closedir, from the start; the descriptor stays the caller's. NULL with errno. */
DIR *tide_dir_read_names(int folder);

/* fsync of a file or folder; 0, or -1 with errno. File systems that cannot sync folders at all are not an error. */
int tide_dir_sync_file(int file);
int tide_dir_sync_folder(int folder);

/* Sets err for errno `error`: "<doing> "<root>/<name>": <reason>: the batch stays and the next tick tries again". */
void tide_dir_fail(const struct tide_dir_root *root, const char *doing, const char *name, int error,
                   struct tide_err *err);

/* Sets err for a thing in the place of a file or folder, the last part of name's first `size` bytes: says what is
 * there. wanted: "file" or "folder". */
void tide_dir_fail_kind(const struct tide_dir_root *root, int folder, const char *name, size_t size, const char *wanted,
                        struct tide_err *err);

#endif
