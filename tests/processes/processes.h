/* Several processes at work on one file: what they share, and the roles that they have. A role is a life's work in
 * steps; who is killed begins another life of the same role, on what the last one left.
 *
 * The dataset logs has three writers and partition tables, is pruned, deleted from and gets new columns; its sinks are
 * archive (NDJSON), sheet (CSV) and copy (plain SQL). The other has two producers who send the same ids again and
 * again (unique=), and changes its name between events and happenings; its sinks are mail (NDJSON) and lake (a Delta
 * table). Outside sinks are rewound now and then: table again holds what each of those is to get once more. */
#ifndef TIDE_TESTS_PROCESSES_H
#define TIDE_TESTS_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sqlite.h"

enum { WRITERS = 3, PARTITIONS = 4, EVENT_PARTITIONS = 3, JUNK_WRITER = 99, COLUMNS_MAX = 8 };

/* In memory that all processes see, and that outlives them. */
struct shared {
  /* What the writer knows to be committed, its numbers from 1 on, and how far a COMMIT that was not answered goes. */
  struct {
    int64_t committed;
    int64_t pending;
  } writers[WRITERS];
  int64_t produced; /* ids up to it are committed: some producer was told so */
  int64_t sent;     /* no producer has sent a higher one */
  long moments;     /* that passed in all processes */
  int writing;      /* roles that are not done and append */
  int64_t clock_ms; /* the time for all; goes on by itself, and is set forward and back */
  long busy;        /* calls that another process was in the way of */
  long left_before; /* batches that outside sinks had before the end */
  long taken_over;  /* batches that their owner lost while it worked on them */
  long known;       /* ids that were there when they were sent */
  long rewinds;
  long renames;
};

extern struct shared *shared;

/* A step of each role; number tells those of one role apart. */
typedef void role_step(sqlite3 *db, int number);
role_step step_write, step_produce, step_read, step_tick, step_copy, step_upkeep, step_meddle;

/* ---- calls (attempt.c) ---- */

/* Tells whoever deals the fates that this process goes on; a signal handler's way too. */
void tell_moment(void);
void listen_to_moments(int write_end);

/* false when another process was in the way, which is the one thing that may be. */
bool attempt_text(sqlite3 *db, const char *sql, char **ret_text); /* the first value of the first row, to be freed */
bool attempt(sqlite3 *db, const char *format, ...);
/* Until it works: another process may be in the way any number of times. */
void insist(sqlite3 *db, const char *format, ...);
char *insist_text(sqlite3 *db, const char *sql);
/* COMMIT, tried again while readers are in its way, or given up after some tries. */
bool commit(sqlite3 *db, bool give_up);

/* What the second dataset is called at the moment: inside a transaction. */
const char *events_name(sqlite3 *db);

/* ---- lives (lives.c) ---- */

struct role {
  role_step *step;
  int number;
  int steps; /* 0: until none writes any more */
  bool writes;
  long pace; /* moments that are to pass before each step, so that there is something to do */
};

/* What befell the processes. */
struct fates {
  int killed_themselves;
  int killed;  /* by another, wherever they were */
  int stopped; /* and went on later */
};

/* Runs every role to its end, in a process each, and has them killed and stopped meanwhile. */
struct fates live_all(const struct role *roles, int nroles, unsigned seed);

/* Makes shared->clock_ms the time of this process. Registers the VFS "shim", whose clock it is. */
void show_time(void);

/* ---- the end (verdict.c) ---- */

extern char database_path[128];
/* archive, sheet, mail and lake are folders below it. */
void make_database(const char *journal);
void finish_and_check(void);

#endif
