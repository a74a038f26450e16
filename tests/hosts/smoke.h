/* The features that a host is tried with. */
#ifndef TIDE_TESTS_SMOKE_H
#define TIDE_TESTS_SMOKE_H

#include "sql_db.h"

/* Runs the tests of features.c; a status for main(). */
int smoke_features(void);

#endif
