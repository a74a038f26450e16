/* The files that leave: their names and bytes as DESIGN section 5 has them. */
#ifndef TIDE_TESTS_HISTORY_OBJECTS_H
#define TIDE_TESTS_HISTORY_OBJECTS_H

#include "world.h"

/* The object of a batch, from the sink's folder on. */
void object_name(const struct world *world, const struct sink *by, int part, int64_t generation, int64_t since,
                 int64_t until, char *into, size_t size);

/* The lines of it, by the rows that are there now; for sqlite3_free. */
char *object_lines(const struct world *world, const struct entry *entry, const struct sink *by);

/* Whether an open batch has left its file already. */
bool batch_has_arrived(const struct world *world, int sink, int part);

uint64_t hash_of(const char *bytes, size_t size);

#endif
