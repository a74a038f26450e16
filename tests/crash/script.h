/* The life of a database with all that Tidemark writes, in small: steps that a child takes on a recorded disk, and the
 * same steps on ordinary tables (the twin), which say what the database holds after each. */
#ifndef TIDE_TESTS_SCRIPT_H
#define TIDE_TESTS_SCRIPT_H

#include <stdbool.h>

#include "base/sqlite.h"

struct script_mode {
  const char *name;
  const char *journal;
  const char *synchronous;
  int cache_pages; /* so few that a transaction writes before it commits */
};

/* Makes the folder's database as it is before the first step. */
void script_make(const char *folder, const struct script_mode *mode);

/* Takes all steps, and tells the recorder when each of them begins (its number, from 0) and when all is done. */
void script_run(const char *folder, const struct script_mode *mode);
int script_steps(void);
const char *script_step(int step);

/* Works out what there is after each step, and after some more rows then (script_go_on); the twin that has those is a
 * file. */
void script_learn(const char *twins);
/* All datasets with columns and rows, as text; for free. */
char *script_state(sqlite3 *db);
const char *script_expected(int steps_done);
const char *script_expected_gone_on(int steps_done);
const char *script_twin(const char *twins, int steps_done); /* the file's path; good until the next call */

/* A producer goes on, in one transaction: what may have been lost once more, and new rows in every partition. Done
 * again it changes nothing. */
void script_go_on(sqlite3 *db);
/* The last rows, in every partition, so that each sink has something to ship, and with it clears away what was left. The
 * twin has them too. */
void script_end(sqlite3 *db);

#endif
