/* What must be so of any image that a crash of a script's run may leave, once, or twice. */
#ifndef TIDE_TESTS_POWER_H
#define TIDE_TESTS_POWER_H

#include "disk.h"
#include "script.h"

extern const struct script_mode power_modes[];
extern const int power_mode_count;

/* Runs the script in a mode, and gives the log, which stays good until the next run. */
const struct disk_log *power_record(const struct script_mode *mode);

/* Runs what another process does that finds the database as the disk, at `at` of the log, is when a process is killed
 * there, and gives the log of both. Its sinks go on, rows are appended, its sinks go on again. */
const struct disk_log *power_record_second(const struct disk_log *log, int at);

/* disk_open and disk_next, which also keep in mind what the calls were for. */
void power_open(const struct disk_log *log);
void power_open_at(const struct disk_log *log, int at); /* after so many records */
bool power_next(void);
const char *power_step(void); /* of the script, that is under way */

/* Looks at what a crash here leaves, in one way. Returns 1, or 0 when it was seen before. */
int power_check(enum disk_how how, uint64_t seed);

#endif
