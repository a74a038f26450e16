#include "sink/dir_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/target.h"

/* How many names of a folder are kept: of twice as many the lower half. */
#ifdef TIDE_TEST_HOOKS
enum { PAGE_NAMES = 8 };
#else
enum { PAGE_NAMES = 8192 };
#endif

struct listing {
  const struct tide_dir_root *root;
  const char *after;
  const char *hidden;
  bool (*each)(void *context, const char *name, int64_t size, struct tide_err *err);
  void *context;
  struct tide_buf path; /* of the folder that is read: "", or parts that each end with '/' */
  bool stopped;
};

struct entry {
  char *name;
  bool is_folder;
  bool is_object;
  int64_t size;
};

/* The lowest names of a folder above another one. */
struct page {
  struct entry *entries;
  size_t count;
  size_t cap;
  bool more; /* there are others above them */
};

static void cut_page(struct page *page, size_t count) {
  while (page->count > count)
    tide_free(page->entries[--page->count].name);
}

static void clear_page(struct page *page) {
  cut_page(page, 0);
  tide_free(page->entries);
  *page = (struct page){0};
}

static int compare_entries(const void *one, const void *other) {
  return strcmp(((const struct entry *)one)->name, ((const struct entry *)other)->name);
}

static void sort_page(struct page *page) {
  if (page->count > 1)
    qsort(page->entries, page->count, sizeof *page->entries, compare_entries);
}

static void add_name(struct page *page, const char *name, struct tide_err *err) {
  if (page->count == 2 * PAGE_NAMES) {
    sort_page(page);
    cut_page(page, PAGE_NAMES);
    page->more = true;
  }
  void *entries = page->entries;
  if (tide_grow(&entries, &page->cap, page->count + 1, sizeof *page->entries, err) != 0)
    return;
  page->entries = entries;
  char *copy = tide_copy_string(name, err);
  if (copy != NULL)
    page->entries[page->count++] = (struct entry){.name = copy};
}

/* ---- paths ---- */

/* As a string, which the next change of it ends. */
static const char *path_of(struct listing *listing, struct tide_err *err) {
  if (tide_buf_reserve(&listing->path, 1, err) != 0)
    return NULL;
  listing->path.data[listing->path.len] = '\0';
  return (const char *)listing->path.data;
}

/* Whether all that a name of the folder at hand stands for, as an object or as a folder of some, is not above `after`:
 * what begins with "<path><name>/" sorts as that does, unless `after` begins so as well. */
static bool is_passed(const struct listing *listing, const char *name) {
  if (listing->after == NULL)
    return false;
  const size_t path_size = listing->path.len;
  const size_t size = strlen(name);
  int order = strncmp((const char *)listing->path.data, listing->after, path_size);
  if (order != 0)
    return order < 0;
  const char *rest = listing->after + path_size;
  order = strncmp(name, rest, size);
  return order < 0 || (order == 0 && '/' < (unsigned char)rest[size]);
}

/* ---- a folder ---- */

static void read_names(struct listing *listing, int folder, const char *above, struct page *page,
                       struct tide_err *err) {
  DIR *names = tide_dir_read_names(folder);
  const struct dirent *entry;
  while (names != NULL && !tide_err_is_set(err) && (errno = 0, entry = readdir(names)) != NULL) {
    struct tide_err unfit = {0};
    if (tide_target_name_check(entry->d_name, &unfit) && (above == NULL || strcmp(entry->d_name, above) > 0) &&
        !is_passed(listing, entry->d_name))
      add_name(page, entry->d_name, err);
  }
  if (errno != 0 && !tide_err_is_set(err))
    tide_dir_fail(listing->root, "listing", (const char *)listing->path.data, errno, err);
  if (names != NULL)
    closedir(names);
}

/* What goes while it is looked at is no object. */
static void look_at(struct listing *listing, int folder, struct entry *entry, struct tide_err *err) {
  struct stat st;
  if (fstatat(folder, entry->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
    entry->is_folder = S_ISDIR(st.st_mode);
    entry->is_object = S_ISREG(st.st_mode);
    entry->size = st.st_size;
  } else if (errno != ENOENT) {
    tide_dir_fail(listing->root, "looking at a file of", (const char *)listing->path.data, errno, err);
  }
}

/* The descriptor is closed before anything is made of the names, so that depth does not cost any. */
static void read_page(struct listing *listing, const char *above, struct page *page, struct tide_err *err) {
  struct tide_err missing = {0};
  const char *path = path_of(listing, err);
  const int folder = path != NULL ? tide_dir_open_folder(listing->root, path, TIDE_DIR_MISSING_FAILS, &missing) : -1;
  if (missing.rc != SQLITE_CANTOPEN && tide_err_is_set(&missing))
    tide_err_set(err, missing.rc, "%s", missing.msg);
  if (folder < 0)
    return;
  read_names(listing, folder, above, page, err);
  sort_page(page);
  if (page->count > PAGE_NAMES) {
    cut_page(page, PAGE_NAMES);
    page->more = true;
  }
  for (size_t i = 0; i < page->count && !tide_err_is_set(err); i++)
    look_at(listing, folder, &page->entries[i], err);
  close(folder);
}

static void list_folder(struct listing *listing, struct tide_err *err);

static void list_entry(struct listing *listing, const struct entry *entry, struct tide_err *err) {
  const size_t size = listing->path.len;
  tide_buf_put_string(&listing->path, entry->name, err);
  const char *path = path_of(listing, err);
  if (tide_err_is_set(err))
    return;
  if (entry->is_object && (listing->after == NULL || strcmp(path, listing->after) > 0)) {
    listing->stopped = !listing->each(listing->context, path, entry->size, err);
  } else if (entry->is_folder && strcmp(path, listing->hidden) != 0) {
    tide_buf_put_u8(&listing->path, '/', err);
    list_folder(listing, err);
  }
  listing->path.len = size;
}

static void list_folder(struct listing *listing, struct tide_err *err) {
  char *above = NULL;
  for (bool more = true; more && !listing->stopped && !tide_err_is_set(err);) {
    struct page page = {0};
    read_page(listing, above, &page, err);
    for (size_t i = 0; i < page.count && !listing->stopped && !tide_err_is_set(err); i++)
      list_entry(listing, &page.entries[i], err);
    more = page.more;
    tide_free(above);
    above = more ? tide_copy_string(page.entries[page.count - 1].name, err) : NULL;
    clear_page(&page);
  }
  tide_free(above);
}

void tide_dir_list(const struct tide_dir_root *root, const char *folder, const char *after, const char *hidden,
                   bool (*each)(void *context, const char *name, int64_t size, struct tide_err *err), void *context,
                   struct tide_err *err) {
  struct listing listing = {.root = root, .after = after, .hidden = hidden, .each = each, .context = context};
  if (folder[0] != '\0') {
    if (!tide_target_name_check(folder, err))
      return;
    tide_buf_printf(&listing.path, err, "%s/", folder);
  }
  if (strcmp(folder, hidden) != 0)
    list_folder(&listing, err);
  tide_buf_clear(&listing.path);
}
