/* A file under way of a target that is a folder. All of them lie in one folder of it, `_tidemark/tmp`, so that what a
 * crash left is found by a look at what is under way, however large the archive is. A file's name there is
 *
 *   <log id>.<token>.<object>.<own>.tmp
 *
 * token: decimal digits. object: the first 16 digits of the hash of the object's name. own: 16 random hexadecimal
 * digits, since two live copies of a database have log, token and object in common, and neither may ever name the half
 * file of the other.
 *
 * Life: TIDE_DIR_TEMPORARY_NONE, create, write any number of times, finish, then name_new or name_over; discard at any
 * time. */
#ifndef TIDE_SINK_DIR_TEMPORARY_H
#define TIDE_SINK_DIR_TEMPORARY_H

#include "sink/dir_path.h"
#include "sink/target.h"

struct tide_dir_temporary {
  const struct tide_dir_root *root;
  const char *object; /* its name, which outlives the file */
  bool exclusive;     /* as the object is */
  char *name;         /* in folder, from when the file is made until it is named or removed */
  int folder;         /* -1: none, as the next */
  int file;
};
#define TIDE_DIR_TEMPORARY_NONE ((struct tide_dir_temporary){.folder = -1, .file = -1})

extern const char tide_dir_temporary_folder[]; /* "_tidemark/tmp" */

/* After a failure of these only discard is left. */
void tide_dir_temporary_create(struct tide_dir_temporary *temporary, const struct tide_dir_root *root,
                               const struct tide_object *object, struct tide_err *err);
void tide_dir_temporary_write(struct tide_dir_temporary *temporary, const void *bytes, size_t size,
                              struct tide_err *err);
void tide_dir_temporary_finish(struct tide_dir_temporary *temporary, struct tide_err *err); /* all on the disk */

/* Gives the file the name of its object in `into`, the folder of that; false when there is something of that name
 * already, or err is set, as it is of an exclusive object where the file system knows no way that cannot replace
 * another file. into is not synced. */
bool tide_dir_temporary_name_new(struct tide_dir_temporary *temporary, int into, struct tide_err *err);
/* The same in the place of a file of that name, if any. */
void tide_dir_temporary_name_over(struct tide_dir_temporary *temporary, int into, struct tide_err *err);

/* The file goes when it was not named. One that cannot be removed is left to the sweep. */
void tide_dir_temporary_discard(struct tide_dir_temporary *temporary);

/* Removes what earlier tries left of an object: that of its token and of older ones. A newer token has a newer
 * owner. */
void tide_dir_temporary_remove_tries(const struct tide_dir_root *root, const struct tide_object *object,
                                     struct tide_err *err);

/* Removes all of that log but for those whose token is_open says is somebody's; its name is NULL. */
void tide_dir_temporary_sweep(const struct tide_dir_root *root, const char *log_id,
                              bool (*is_open)(void *context, const char *name, int64_t token), void *context,
                              struct tide_err *err);

/* Tells the tests of a step (target.h). */
void tide_dir_temporary_step(const char *step);

#endif
