/* A disk between two calls of a log (disk_log.h): what is safe on it, what is still under way, and what a crash there
 * may leave.
 *
 *   disk_open(log); while (disk_next()) { disk_lose(how, seed); disk_image_write(folder); ... } disk_close();
 *
 * A sync of a file makes its earlier writes and its size safe, a sync of a folder the names in it that were made, moved
 * or taken away; nothing else does. A rename is there as a whole or not at all, so that it is safe when either of its
 * folders was synced. Bytes beside those that are written are not harmed. */
#ifndef TIDE_TESTS_DISK_H
#define TIDE_TESTS_DISK_H

#include "disk_log.h"

/* What becomes of what no sync has made safe. */
enum disk_how {
  DISK_KILLED,     /* all is there: the process died, the machine did not */
  DISK_ALL_LOST,   /* nothing is there */
  DISK_BYTES_LOST, /* names are there, of files whose bytes and sizes are not */
  DISK_NAMES_LOST, /* bytes are there, of files that were not made, moved or taken away */
  DISK_LAST_TORN,  /* all is there but some sectors of the last write of each file */
  DISK_MIXED,      /* of each write, truncation and name by chance: there, not there, some sectors, or only the size */
  DISK_HOWS
};
extern const char *const disk_how_names[DISK_HOWS];

void disk_open(const struct disk_log *log); /* where the work began */
bool disk_next(void);                       /* one call on; false at the end */
void disk_close(void);

/* The call that came last, and how many have come. */
const struct disk_record *disk_last(void);
int disk_at(void);
/* The call that is next, NULL at the end. */
const struct disk_record *disk_coming(void);

/* Whether something is under way, so that the ways differ. */
bool disk_is_pending(void);
/* How many calls had come when a file of that name was taken away from the first folder, which may not have happened
 * yet as far as the disk is concerned; 0 when there is no such. */
int disk_pending_unlink(const char *name);

/* The files and folders that a crash here leaves, with a hash of their names and bytes. Good until the next one. */
uint64_t disk_lose(enum disk_how how, uint64_t seed);

/* Expects the folder to hold those of the files that were left whose path has that text in it. */
void disk_image_compare(const char *folder, const char *text);
/* Makes the folder hold what was left, and nothing else. */
void disk_image_write(const char *folder);
/* Where a file that was left is then, by its number, 0 for the folder itself; NULL: nowhere. Good until the next call. */
const char *disk_image_path(int file);

#endif
