#define _GNU_SOURCE
#include "disk.h"

#include <check.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "chance.h"

const char *const disk_how_names[DISK_HOWS] = {"killed", "all lost", "bytes lost", "names lost", "last torn", "mixed"};

enum { SECTOR = 512, NAMES_MAX = 2000 };

struct bytes {
  unsigned char *data;
  size_t size, room;
};

/* A file's or a folder's name, and the number of either. */
struct name {
  int folder;
  const char *name;
  int file;
};
struct names {
  struct name list[NAMES_MAX];
  int count;
};

/* Records that are not safe yet, in order. */
struct pending {
  int *list;
  int count, room;
};

struct image_file {
  char *path;
  int number;
  struct bytes bytes; /* none of a folder */
  bool folder;
};

static struct {
  const struct disk_log *log;
  int at; /* records that have come */
  bool *is_folder;
  struct bytes *safe;           /* by number of the file */
  struct pending *under_way;    /* likewise: writes and truncations */
  struct names names;           /* that are safe */
  struct pending names_pending; /* all that change names */
  struct image_file image[NAMES_MAX];
  int image_count;
  const char *image_folder; /* where it was written */
} disk;

/* ---- bytes ---- */

static void bytes_resize(struct bytes *bytes, size_t size) {
  if (size > bytes->room) {
    bytes->room = size * 2;
    bytes->data = realloc(bytes->data, bytes->room);
  }
  if (size > bytes->size)
    memset(bytes->data + bytes->size, 0, size - bytes->size);
  bytes->size = size;
}

static void bytes_put(struct bytes *bytes, int64_t offset, const unsigned char *from, size_t size) {
  const size_t end = (size_t)offset + size;
  if (end > bytes->size)
    bytes_resize(bytes, end);
  memcpy(bytes->data + offset, from, size);
}

static void bytes_apply(struct bytes *bytes, const struct disk_record *record) {
  if (record->call == DISK_TRUNCATE)
    bytes_resize(bytes, (size_t)record->offset);
  else
    bytes_put(bytes, record->offset, record->bytes, record->size);
}

/* The write, sector by sector by chance; the size is there. */
static void bytes_tear(struct bytes *bytes, const struct disk_record *record) {
  const int64_t end = record->offset + (int64_t)record->size;
  if ((size_t)end > bytes->size)
    bytes_resize(bytes, (size_t)end);
  for (int64_t at = record->offset; at < end;) {
    const int64_t next = at - at % SECTOR + SECTOR < end ? at - at % SECTOR + SECTOR : end;
    if (one_in(2))
      bytes_put(bytes, at, record->bytes + (at - record->offset), (size_t)(next - at));
    at = next;
  }
}

/* ---- names ---- */

static void names_remove(struct names *names, int folder, const char *name) {
  for (int i = 0; i < names->count; i++) {
    if (names->list[i].folder == folder && strcmp(names->list[i].name, name) == 0) {
      names->list[i] = names->list[--names->count];
      return;
    }
  }
}

static void names_add(struct names *names, int folder, const char *name, int file) {
  names_remove(names, folder, name);
  ck_assert_int_lt(names->count, NAMES_MAX);
  names->list[names->count++] = (struct name){folder, name, file};
}

static void names_apply(struct names *names, const struct disk_record *record) {
  if (record->call == DISK_RENAME || record->call == DISK_UNLINK)
    names_remove(names, record->folder, record->name);
  if (record->call == DISK_RENAME)
    names_add(names, record->to_folder, record->to_name, record->file);
  else if (record->call != DISK_UNLINK)
    names_add(names, record->folder, record->name, record->file);
}

/* ---- the disk goes on ---- */

static void pending_add(struct pending *pending, int record) {
  if (pending->count == pending->room) {
    pending->room = pending->room * 2 + 16;
    pending->list = realloc(pending->list, (size_t)pending->room * sizeof *pending->list);
  }
  pending->list[pending->count++] = record;
}

static void sync_file(int file) {
  struct pending *pending = &disk.under_way[file];
  for (int i = 0; i < pending->count; i++)
    bytes_apply(&disk.safe[file], &disk.log->records[pending->list[i]]);
  pending->count = 0;
}

static bool touches(const struct disk_record *record, int folder, const char *name) {
  return (record->folder == folder && (name == NULL || strcmp(record->name, name) == 0)) ||
         (record->call == DISK_RENAME && record->to_folder == folder &&
          (name == NULL || strcmp(record->to_name, name) == 0));
}

/* Whether a change becomes safe by the sync of a folder: as a change there, or as one that a later such change of the
 * same name builds upon. */
static bool is_synced(const struct pending *pending, int at, int folder) {
  const struct disk_record *record = &disk.log->records[pending->list[at]];
  bool is = touches(record, folder, NULL);
  for (int later = at + 1; later < pending->count && !is; later++) {
    const struct disk_record *next = &disk.log->records[pending->list[later]];
    is = (touches(next, record->folder, record->name) ||
          (record->call == DISK_RENAME && touches(next, record->to_folder, record->to_name))) &&
         is_synced(pending, later, folder);
  }
  return is;
}

static void sync_folder(int folder) {
  struct pending *pending = &disk.names_pending;
  const struct pending before = *pending;
  int left = 0;
  for (int i = 0; i < before.count; i++) {
    if (is_synced(&before, i, folder))
      names_apply(&disk.names, &disk.log->records[before.list[i]]);
    else
      before.list[left++] = before.list[i];
  }
  pending->count = left;
}

static void apply(int at) {
  const struct disk_record *record = &disk.log->records[at];
  switch (record->call) {
  case DISK_CREATE:
  case DISK_MKDIR:
    disk.is_folder[record->file] = record->call == DISK_MKDIR;
    pending_add(&disk.names_pending, at);
    break;
  case DISK_RENAME:
  case DISK_UNLINK:
    pending_add(&disk.names_pending, at);
    break;
  case DISK_WRITE:
  case DISK_TRUNCATE:
    pending_add(&disk.under_way[record->file], at);
    break;
  case DISK_SYNC:
    sync_file(record->file);
    break;
  case DISK_SYNC_FOLDER:
    sync_folder(record->file);
    break;
  case DISK_MARK:
    break;
  }
}

void disk_open(const struct disk_log *log) {
  const size_t files = (size_t)log->files;
  disk.log = log;
  disk.at = 0;
  disk.names.count = disk.names_pending.count = 0;
  disk.is_folder = calloc(files, sizeof *disk.is_folder);
  disk.safe = calloc(files, sizeof *disk.safe);
  disk.under_way = calloc(files, sizeof *disk.under_way);
  while (disk.at < log->first)
    apply(disk.at++);
}

bool disk_next(void) {
  if (disk.at == disk.log->count)
    return false;
  apply(disk.at++);
  return true;
}

static void image_clear(void) {
  for (int i = 0; i < disk.image_count; i++) {
    free(disk.image[i].path);
    free(disk.image[i].bytes.data);
  }
  disk.image_count = 0;
}

void disk_close(void) {
  for (int i = 0; i < disk.log->files; i++) {
    free(disk.safe[i].data);
    free(disk.under_way[i].list);
  }
  free(disk.safe);
  free(disk.under_way);
  free(disk.is_folder);
  image_clear();
}

const struct disk_record *disk_last(void) {
  return &disk.log->records[disk.at - 1];
}

int disk_at(void) {
  return disk.at;
}

const struct disk_record *disk_coming(void) {
  return disk.at < disk.log->count ? &disk.log->records[disk.at] : NULL;
}

bool disk_is_pending(void) {
  bool is = disk.names_pending.count > 0;
  for (int i = 0; i < disk.log->files; i++)
    is |= disk.under_way[i].count > 0;
  return is;
}

int disk_pending_unlink(const char *name) {
  const struct pending *pending = &disk.names_pending;
  for (int i = 0; i < pending->count; i++) {
    const struct disk_record *record = &disk.log->records[pending->list[i]];
    if (record->call == DISK_UNLINK && record->folder == 0 && strcmp(record->name, name) == 0)
      return pending->list[i];
  }
  return 0;
}

/* ---- what is left ---- */

static struct names names_left(enum disk_how how) {
  static struct names names;
  names = disk.names;
  for (int i = 0; i < disk.names_pending.count; i++) {
    if (how != DISK_ALL_LOST && how != DISK_NAMES_LOST && (how != DISK_MIXED || one_in(2)))
      names_apply(&names, &disk.log->records[disk.names_pending.list[i]]);
  }
  return names;
}

static void apply_by_chance(struct bytes *bytes, const struct disk_record *record) {
  const size_t end = (size_t)record->offset + record->size;
  const size_t fate = pick(5);
  if (fate == 0 && record->call == DISK_WRITE)
    bytes_tear(bytes, record);
  else if (fate == 1 && record->call == DISK_WRITE && end > bytes->size)
    bytes_resize(bytes, end);
  else if (fate >= 3)
    bytes_apply(bytes, record);
}

static struct bytes bytes_left(int file, enum disk_how how) {
  const struct bytes *safe = &disk.safe[file];
  const struct pending *pending = &disk.under_way[file];
  struct bytes bytes = {malloc(safe->size + 1), safe->size, safe->size + 1};
  if (safe->size > 0)
    memcpy(bytes.data, safe->data, safe->size);
  for (int i = 0; i < pending->count; i++) {
    const struct disk_record *record = &disk.log->records[pending->list[i]];
    if (how == DISK_MIXED)
      apply_by_chance(&bytes, record);
    else if (how == DISK_LAST_TORN && i == pending->count - 1 && record->call == DISK_WRITE)
      bytes_tear(&bytes, record);
    else if (how != DISK_ALL_LOST && how != DISK_BYTES_LOST)
      bytes_apply(&bytes, record);
  }
  return bytes;
}

/* Adds what can be reached from a folder. */
static void image_add(const struct names *names, int folder, const char *path, enum disk_how how) {
  for (int i = 0; i < names->count; i++) {
    if (names->list[i].folder != folder)
      continue;
    const int file = names->list[i].file;
    struct image_file *added = &disk.image[disk.image_count++];
    *added = (struct image_file){.number = file, .folder = disk.is_folder[file]};
    ck_assert_int_ge(asprintf(&added->path, "%s/%s", path, names->list[i].name), 0);
    if (added->folder)
      image_add(names, file, added->path, how);
    else
      added->bytes = bytes_left(file, how);
  }
}

static int by_path(const void *a, const void *b) {
  return strcmp(((const struct image_file *)a)->path, ((const struct image_file *)b)->path);
}

uint64_t disk_lose(enum disk_how how, uint64_t seed) {
  uint64_t hash = 0;
  chance_seed(seed);
  const struct names names = names_left(how);
  image_clear();
  image_add(&names, 0, "", how);
  qsort(disk.image, (size_t)disk.image_count, sizeof *disk.image, by_path);
  for (int i = 0; i < disk.image_count; i++) {
    const struct image_file *file = &disk.image[i];
    hash = XXH3_64bits_withSeed(file->path, strlen(file->path), hash + file->folder);
    if (!file->folder)
      hash = XXH3_64bits_withSeed(file->bytes.data, file->bytes.size, hash);
  }
  return hash;
}

static int remove_below(const char *path, const struct stat *st, int type, struct FTW *where) {
  (void)st, (void)type;
  return where->level > 0 ? remove(path) : 0;
}

void disk_image_write(const char *folder) {
  disk.image_folder = folder;
  nftw(folder, remove_below, 16, FTW_DEPTH | FTW_PHYS);
  for (int i = 0; i < disk.image_count; i++) {
    const struct image_file *file = &disk.image[i];
    char path[4096];
    snprintf(path, sizeof path, "%s%s", folder, file->path);
    if (file->folder) {
      ck_assert_int_eq(mkdir(path, 0755), 0);
      continue;
    }
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, file->bytes.data, file->bytes.size), (ssize_t)file->bytes.size);
    close(fd);
  }
}

const char *disk_image_path(int file) {
  static char path[4096];
  if (file == 0)
    return disk.image_folder;
  for (int i = 0; i < disk.image_count; i++) {
    if (disk.image[i].number != file)
      continue;
    snprintf(path, sizeof path, "%s%s", disk.image_folder, disk.image[i].path);
    return path;
  }
  return NULL;
}

void disk_image_compare(const char *folder, const char *text) {
  for (int i = 0; i < disk.image_count; i++) {
    const struct image_file *file = &disk.image[i];
    char path[4096];
    struct bytes there = {0};
    struct stat st;
    if (file->folder || strstr(file->path, text) == NULL)
      continue;
    snprintf(path, sizeof path, "%s%s", folder, file->path);
    ck_assert_msg(stat(path, &st) == 0, "%s is not there", path);
    bytes_resize(&there, (size_t)st.st_size);
    const int fd = open(path, O_RDONLY);
    ck_assert_int_eq(read(fd, there.data, there.size), st.st_size);
    close(fd);
    ck_assert_msg(there.size == file->bytes.size && memcmp(there.data, file->bytes.data, there.size) == 0,
                  "%s has other bytes than it had", path);
    free(there.data);
  }
}
