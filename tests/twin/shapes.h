/* Which shapes of queries a run has made. A generator that stops making one of them must not look like a run in which all
 * went well, so the run fails. */
#ifndef TIDE_TESTS_SHAPES_H
#define TIDE_TESTS_SHAPES_H

#include <stdbool.h>
#include <stddef.h>

/* Notes a query that gave so many rows. Most shapes count only when there was a row to compare. */
void shapes_note(const char *sql, size_t rows);
/* Notes a place, or a kind of value, where rows are. */
void shapes_note_place(const char *place);
/* Whether each shape was there; names those that were not. */
bool shapes_complete(void);

#endif
