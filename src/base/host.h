/* What we ask of the machine: the time and random bytes, both of the connection's VFS, so that a test's VFS decides
 * them. */
#ifndef TIDE_BASE_HOST_H
#define TIDE_BASE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sqlite.h"

/* Milliseconds since 1970 UTC by the clock of the VFS of the schema's file; db NULL: of the default VFS, for who is
 * told of no connection. */
int64_t tide_host_now_ms(sqlite3 *db, const char *schema);
/* The same in two steps, for who asks again and again while the schema stays. */
sqlite3_vfs *tide_host_vfs(sqlite3 *db, const char *schema); /* NULL: there is none at all */
int64_t tide_host_vfs_now_ms(sqlite3_vfs *vfs);              /* NULL: 0 */

/* A random identity: 32 lower-case hexadecimal digits and a NUL. */
enum { TIDE_HOST_ID_SIZE = 33 };
void tide_host_random_id(char ret_id[TIDE_HOST_ID_SIZE]);
/* Whether a text read from a file is one: it becomes part of names outside. */
bool tide_host_is_id(const char *text, size_t size);

/* Who this process is: boot id, process number and start time, as "boot:pid:start"; cut at size. Two processes of one
 * machine that ever ran since it booted never share one. */
void tide_host_owner(char *ret_owner, size_t size);

/* Whether the process behind an owner is known to be gone: true when the owner is of this boot of this machine and
 * no such process lives; false when it lives or cannot be known (another machine, an earlier boot). */
int tide_host_owner_is_dead(const char *owner);

/* Where progress is told: stderr, when that is a terminal. Tests put functions of their own here. */
struct tide_host_terminal {
  bool (*is_there)(void);
  int (*width)(void); /* in columns; 80 when it does not say */
  void (*write)(const char *text, size_t size);
};
extern struct tide_host_terminal tide_host_terminal;

#endif
