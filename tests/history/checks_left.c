#include "checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objects.h"

void check_copied(struct world *world) {
  const struct model *model = &world->model;
  int64_t total = 0;
  for (size_t i = 0; i < model->nlog; i++) {
    const struct entry *entry = &model->log[i];
    if (sink_kinds[entry->sink] != BY_SQL || entry->kind != BATCH)
      continue;
    const int64_t rows = ask(world,
                             "SELECT count(DISTINCT since) FROM copied WHERE generation = %lld AND part = %Q"
                             " AND since > %lld AND since <= %lld",
                             (long long)entry->generation, part_text(world, entry->part), (long long)entry->since,
                             (long long)entry->until);
    if (rows != entry->rows)
      fail(world, "log row %lld copied %lld rows, %lld are there", (long long)entry->id, (long long)entry->rows,
           (long long)rows);
    total += rows;
  }
  if (ask(world, "SELECT count(*) FROM copied") != total)
    fail(world, "rows were copied twice: %lld, expected %lld", (long long)ask(world, "SELECT count(*) FROM copied"),
         (long long)total);
  sqlite3_stmt *stmt = query(world, "SELECT since, v FROM copied");
  while (next(world, stmt)) {
    const struct row *row = model_find(model, sqlite3_column_int64(stmt, 0));
    if (row == NULL || row->value != sqlite3_column_int64(stmt, 1))
      fail(world, "row %lld was copied wrongly", (long long)sqlite3_column_int64(stmt, 0));
  }
}

/* Folder and range of an object: "<folder>/<since>-<until>.<log id>.ndjson". */
struct place {
  size_t folder_size;
  long long since;
  long long until;
};

static struct place place_of(const char *path) {
  const char *slash = strrchr(path, '/');
  struct place place = {slash != NULL ? (size_t)(slash - path) : 0, 0, 0};
  sscanf(path + place.folder_size + (slash != NULL), "%20lld-%20lld", &place.since, &place.until);
  return place;
}

/* What a batch left that was never acked, for a gap came over it, must not have been delivered again. */
static void judge_orphan(struct world *world, int sink, const char *path) {
  const struct place orphan = place_of(path);
  for (size_t i = 0; i < world->model.nlog; i++) {
    const char *object = world->model.log[i].object;
    const struct place other = place_of(object);
    if (world->model.log[i].sink == sink && object[0] != '\0' && other.folder_size == orphan.folder_size &&
        strncmp(object, path, orphan.folder_size) == 0 && other.since < orphan.until && orphan.since < other.until)
      fail(world, "sink %s: rows of %s, which was never acked, are in %s as well", sink_names[sink], path, object);
  }
}

struct looking {
  struct world *world;
  int sink;
  int64_t found;
};

static void judge_file(void *data, const char *path) {
  struct looking *looking = data;
  struct world *world = looking->world;
  char full[320], line[220];
  size_t size = 0;
  for (size_t i = 0; i < world->model.nlog; i++) {
    const struct entry *entry = &world->model.log[i];
    if (entry->sink != looking->sink || entry->target != path[0] || strcmp(entry->object, path + 2) != 0)
      continue;
    snprintf(full, sizeof full, "%s/%s", folder_of(world, looking->sink, '\0'), path);
    char *bytes = machine_read(full, &size);
    if (bytes == NULL || hash_of(bytes, size) != entry->hash)
      fail(world, "%s has changed since it was delivered", full);
    free(bytes);
    looking->found++;
    return;
  }
  snprintf(line, sizeof line, "\n%s/%s\n", sink_names[looking->sink], path);
  const bool temporary = strncmp(path + 2, "_tidemark/tmp/", 14) == 0;
  if (!temporary && strncmp(path + 2, "_tidemark/", 10) == 0) /* the mark of the last tick */
    return;
  if (!temporary)
    judge_orphan(world, looking->sink, path + 2);
  if (strstr(world->seen, line) == NULL && !(temporary && world->killed))
    fail(world, "%s/%s is there, and no batch ever had it", folder_of(world, looking->sink, '\0'), path);
}

void check_files(struct world *world) {
  for (int sink = 0; sink < SINKS; sink++) {
    struct looking looking = {world, sink, 0};
    int64_t expected = 0;
    if (sink_kinds[sink] != BY_FILE)
      continue;
    machine_each_file(folder_of(world, sink, '\0'), judge_file, &looking);
    for (size_t i = 0; i < world->model.nlog; i++)
      expected += world->model.log[i].sink == sink && world->model.log[i].object[0] != '\0';
    if (looking.found != expected)
      fail(world, "sink %s has %lld objects, delivered were %lld", sink_names[sink], (long long)looking.found,
           (long long)expected);
  }
}
