/* Every public operation of Tidemark as SQL, and what may be there after one that failed: the table that tests of
 * faults go through. database.h makes the database that it works on. */
#ifndef TIDE_TESTS_OPERATIONS_H
#define TIDE_TESTS_OPERATIONS_H

#include <stddef.h>

enum operation_failed {
  OPERATION_WHOLE, /* the database is as before, to the byte of each row */
  OPERATION_STEPS, /* pieces of it are done, each whole; repeated, it comes to the end that it has without failure */
  OPERATION_ONCE   /* the same, but it may also be done, when it was the answer that failed; then it is not repeated */
};

/* In all SQL "@DIR@" stands for the folder of the sinks. */
struct operation {
  const char *sql;
  enum operation_failed failed;
  const char *before;  /* what the database has beside what all have; NULL: nothing */
  const char *session; /* what the connection has done before; NULL: nothing but reading the schema */
};

extern const struct operation operations[];
extern const size_t operations_count;

/* The database that all of them begin with, main and an attached "aux"; the connection knows the target "test://x". */
extern const char operations_database[];

#endif
