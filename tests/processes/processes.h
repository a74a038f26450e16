/* Several processes at work on one file: what they share, and the roles that they have. A role is a life's work in
 * steps; who is killed begins another life of the same role, on what the last one left. */
#ifndef TIDE_TESTS_PROCESSES_H
#define TIDE_TESTS_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sqlite.h"

enum { WRITERS = 3, PARTITIONS = 4, JUNK_WRITER = 99 };

/* In memory that all processes see, and that outlives them. */
struct shared {
  /* What the writer knows to be committed, its numbers from 1 on, and how far a COMMIT that was not answered goes. */
  struct {
    int64_t committed;
    int64_t pending;
  } writers[WRITERS];
  long busy; /* calls that another process was in the way of */
};

extern struct shared *shared;
extern char archive_folder[256];

/* A step of each role; number tells those of one role apart. */
typedef void role_step(sqlite3 *db, int number);
role_step step_write, step_read, step_tick, step_copy, step_upkeep;

/* Until it works: another process may be in the way any number of times. */
void insist(sqlite3 *db, const char *format, ...);

#endif
