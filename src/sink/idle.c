#include "sink/idle.h"

#include <string.h>

#include "base/mem.h"
#include "store/durable.h"

/* The data version of a schema's file, read under its lock: outside one it would be that of the last look. */
static bool read_version(sqlite3 *db, const char *schema, uint32_t *ret_version, struct tide_err *err) {
  sqlite3_stmt *snapshot = tide_read_begin(db, schema, err);
  const bool known =
      snapshot != NULL && sqlite3_file_control(db, schema, SQLITE_FCNTL_DATA_VERSION, ret_version) == SQLITE_OK;
  sqlite3_finalize(snapshot);
  return known;
}

const char *tide_idle_answer(const struct tide_idle *idle, sqlite3 *db, const char *key, struct tide_err *err) {
  if (idle->key == NULL || strcmp(idle->key, key) != 0)
    return NULL;
  for (size_t i = 0; i < idle->nfiles; i++) {
    uint32_t version = 0;
    if (!read_version(db, idle->files[i].schema, &version, err) || version != idle->files[i].version)
      return NULL;
  }
  return idle->json;
}

void tide_idle_start(struct tide_idle *idle) {
  for (size_t i = 0; i < idle->nfiles; i++)
    tide_free(idle->files[i].schema);
  tide_free(idle->files);
  tide_free(idle->key);
  tide_free(idle->json);
  *idle = (struct tide_idle){0};
}

void tide_idle_note(struct tide_idle *idle, sqlite3 *db, const char *schema, struct tide_err *err) {
  struct tide_idle_file file = {0};
  void *files = idle->files;
  if (sqlite3_stricmp(schema, "main") != 0 && sqlite3_stricmp(schema, "temp") != 0)
    idle->useless = true;
  if (idle->useless || !read_version(db, schema, &file.version, err) ||
      tide_grow(&files, &idle->files_cap, idle->nfiles + 1, sizeof *idle->files, err) != 0)
    return;
  idle->files = files;
  file.schema = tide_copy_string(schema, err);
  if (file.schema != NULL)
    idle->files[idle->nfiles++] = file;
}

void tide_idle_remember(struct tide_idle *idle, const char *key, const char *json, size_t json_size,
                        struct tide_err *err) {
  if (idle->useless)
    return;
  idle->key = tide_copy_string(key, err);
  idle->json = tide_copy_text(json, json_size, err);
  if (tide_err_is_set(err))
    tide_idle_start(idle);
}
