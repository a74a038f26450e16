/* A damaged base in the hands of Tidemark: everything that SQL can ask of it is asked, and what comes back is held
 * against what was there.
 *
 * - No answer but rows, or a code that says what is wrong, with a sentence; one of damage names what is damaged.
 * - No more memory, no more steps and no more allocations than the sizes of the bases could explain.
 * - Rows are those that were put in, where a checksum covers what was damaged; what lies in other partitions and other
 *   datasets is all there.
 * - tidemark_check tells of the damage, or every read gives the rows of before.
 * - Nothing is written outside the folder of the sinks. */
#ifndef TIDE_TESTS_FUZZ_DAMAGED_H
#define TIDE_TESTS_FUZZ_DAMAGED_H

#include "damage.h"

/* Gives how many findings there are, each printed. first: with which of the writing questions it begins, DAMAGED_WRITES of
 * them; every so many it also renames, which costs as much as all else. DAMAGED_ONLY_READ: it does neither. */
enum { DAMAGED_ONLY_READ = 0xffff, DAMAGED_RENAMES_EACH = 8, DAMAGED_WRITES = 10 };
int damaged_run(const struct base *base, const struct damage *damages, size_t count, unsigned first);

#endif
