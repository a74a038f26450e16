/* One random world: a database with a dataset and its sinks, two connections to it, and the model that it must agree
 * with. */
#ifndef TIDE_TESTS_HISTORY_WORLD_H
#define TIDE_TESTS_HISTORY_WORLD_H

#include "../unit/chance.h"
#include "machine.h"
#include "model.h"

enum { CONNECTIONS = 2, DEPTH = 4, HISTORY = 60 };

/* Where an open transaction can go back to. */
struct saved {
  char name[16]; /* of the savepoint; "": of BEGIN */
  struct model model;
};

/* What is being done, which decides what the export log may say of it. */
enum doing { DOING_OTHER, DOING_TICK, DOING_PRUNE, DOING_REWIND, DOING_COPY, DOING_ACK };

/* A log row that a prune has to write. */
struct gap {
  int sink;
  int part;
  int64_t since;
  int64_t until;
  int64_t rows;
  bool found;
};

/* What a rewind was asked for. */
struct rewind {
  int sink;
  int part;
  int64_t to;
};

struct world {
  uint64_t seed;
  char dir[64];
  bool wal;
  bool partitioned;
  int nparts;
  char *create;
  char log_id[40];
  sqlite3 *dbs[CONNECTIONS];
  int acting; /* which of them */
  struct model model;
  struct saved saved[DEPTH]; /* of the acting connection's transaction, which is open when there are any */
  int nsaved;
  enum doing doing;
  struct sink claiming[SINKS]; /* as they were when the tick at work began */
  struct gap gaps[SINKS * PARTS];
  int ngaps;
  struct rewind rewind;
  int interrupt_at; /* the next statement is interrupted at that moment; 0: not */
  bool killed;      /* a process has died: temporary files may lie about */
  bool unique;      /* v is unique= */
  int64_t value;    /* the last new row's */
  size_t steps;
  char *seen; /* objects of batches that were open when a process died, each behind a newline */
  char *history[HISTORY];
  size_t nhistory;
};

/* ---- life ---- */

void world_open(struct world *world, uint64_t seed);
void world_connect(struct world *world); /* both connections */
void world_disconnect(struct world *world);
void world_close(struct world *world);

/* ---- saying and failing ---- */

/* Keeps a line for the report of a failure. */
void note(struct world *world, const char *format, ...);
/* Prints seed, dataset and the last statements, and ends the process. */
_Noreturn void fail(struct world *world, const char *format, ...);

/* ---- statements on the acting connection; sqlite3_mprintf formats ---- */

/* Gives the extended code. When it rolled the transaction back, the model follows. */
int run(struct world *world, const char *format, ...);
/* Fails unless it succeeds. */
void must(struct world *world, const char *format, ...);
/* Fails unless it is refused with that primary code. */
void must_refuse(struct world *world, int code, const char *format, ...);
int64_t ask(struct world *world, const char *format, ...);
/* The text of one value, for sqlite3_free; NULL with the code on failure. */
char *ask_text(struct world *world, int *ret_rc, const char *format, ...);
sqlite3_stmt *query(struct world *world, const char *format, ...);
/* The next row; at the end the statement is finalized. */
bool next(struct world *world, sqlite3_stmt *stmt);

/* ---- transactions ---- */

static inline bool in_transaction(const struct world *world) {
  return world->nsaved > 0;
}
/* The model as other connections see it. */
static inline const struct model *world_committed(const struct world *world) {
  return world->nsaved > 0 ? &world->saved[0].model : &world->model;
}
void save(struct world *world, const char *name);
void go_back(struct world *world, int to); /* to saved[to], which stays */
void forget_saved(struct world *world, int from);

/* ---- names ---- */

/* The partition's text; and its value as SQL writes it. */
const char *part_text(const struct world *world, int part);
const char *part_value(int part);
int part_of(struct world *world, const char *text);
int sink_of(struct world *world, const char *name);
/* One of a sink's two folders, 'a' or 'b', or what holds both ('\0'); good until the fourth call after it. */
const char *folder_of(const struct world *world, int sink, char target);

#endif
