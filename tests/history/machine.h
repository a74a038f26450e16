/* The machine that worlds run on: its clock, its folders, and the death of processes. */
#ifndef TIDE_TESTS_HISTORY_MACHINE_H
#define TIDE_TESTS_HISTORY_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidemark.h"

#define MACHINE_VFS "shim" /* whose clock is machine_now */

void machine_open(void); /* once */

int64_t machine_now(void); /* ms since 1970 */
void machine_set_now(int64_t ms);
int machine_process(void);  /* this one's number */
long machine_changes(void); /* of the databases' files, since the process started */

/* Called after each step of a target's file; NULL: not. */
void machine_on_step(void (*step)(const char *step));

/* Runs the work in a process that dies at its at-th change of a file; with power_loss, what was not synced is gone
 * then. No connection may be open here: SQLite's locks do not survive a fork. Whether it died. */
bool machine_run_killed(void (*work)(void *data), void *data, int at, bool power_loss);

/* A new folder in memory, when that is possible; and all of it removed. */
bool machine_new_folder(char *path, size_t size);
void machine_remove(const char *path);

/* A file's bytes with a NUL behind them, for free(); NULL when there is none. */
char *machine_read(const char *path, size_t *ret_size);

/* Calls found with the path of each file below a folder, from the folder on. */
void machine_each_file(const char *folder, void (*found)(void *data, const char *path), void *data);

#endif
