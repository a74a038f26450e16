/* What must be so at any time: what SQL says of the dataset, its sinks and their files, against the model. */
#ifndef TIDE_TESTS_HISTORY_CHECKS_H
#define TIDE_TESTS_HISTORY_CHECKS_H

#include "world.h"

/* ---- checks.c ---- */

void check_rows(struct world *world);
void check_added(struct world *world); /* columns that came later */
void check_stat(struct world *world);
void check_segments(struct world *world);
void check_lag(struct world *world);
void check_log(struct world *world);
void check_sums(struct world *world);   /* of rule 2 */
void check_damage(struct world *world); /* what tidemark_check and SQLite say */

/* ---- what left: checks_left.c ---- */

void check_copied(struct world *world);
void check_files(struct world *world);

#endif
