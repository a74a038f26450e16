#include "objects.h"

#include <stdio.h>
#include <stdlib.h>

void object_name(const struct world *world, const struct sink *by, int part, int64_t generation, int64_t since,
                 int64_t until, char *into, size_t size) {
  char folder[32];
  snprintf(folder, sizeof folder, generation > 0 ? "%s.g%lld" : "%s", by->prefix, (long long)generation);
  snprintf(into, size, "%s/%s%s%020lld-%020lld.%s.ndjson", folder, part_text(world, part),
           world->partitioned ? "/" : "", (long long)since, (long long)until, world->log_id);
}

bool batch_has_arrived(const struct world *world, int sink, int part) {
  char object[160], path[320];
  size_t size;
  const struct batch *batch = &world->model.batches[sink][part];
  if (!batch->open || sink_kinds[sink] != BY_FILE)
    return false;
  object_name(world, &batch->by, part, batch->generation, batch->since, batch->until, object, sizeof object);
  snprintf(path, sizeof path, "%s/%s", folder_of(world, sink, batch->by.target), object);
  char *bytes = machine_read(path, &size);
  free(bytes);
  return bytes != NULL;
}

uint64_t hash_of(const char *bytes, size_t size) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
  return hash;
}

char *object_lines(const struct world *world, const struct entry *entry, const struct sink *by) {
  const struct model *model = &world->model;
  sqlite3_str *out = sqlite3_str_new(NULL);
  for (size_t i = model_above(model, entry->since); i < model->nrows && model->rows[i].since <= entry->until; i++) {
    const struct row *row = &model->rows[i];
    if (row->part != entry->part || row->fate != LIVE || !filter_keeps(by->filter, row))
      continue;
    sqlite3_str_appendf(out, "{\"since\":%lld,\"v\":%lld", (long long)row->since, (long long)row->value);
    if (!by->narrow)
      sqlite3_str_appendf(out, ",\"body\":\"row %lld\",\"partition\":\"%s\"", (long long)row->value,
                          part_text(world, row->part));
    sqlite3_str_appendall(out, "}\n");
  }
  return sqlite3_str_finish(out);
}
