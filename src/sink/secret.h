/* A secret is the value of an environment variable that an option names: neither the database nor a message ever
 * holds it. It is read when a target opens, and wiped when that closes (what a network library copies of it is that
 * one's). */
#ifndef TIDE_SINK_SECRET_H
#define TIDE_SINK_SECRET_H

#include "sink/sink_option.h"

/* All zero is none. */
struct tide_secret {
  char *text; /* NULL: none; otherwise not empty, printable ASCII and blanks within, or UTF-8: fit for a header */
};

/* Takes an option that names a variable, without reading the variable: a sink may be registered where its secrets are
 * not. NULL: not given. SQLITE_ERROR when the value cannot be a variable's name (letters, digits and _, no digit
 * first), with a message that does not repeat it: it may be the secret itself. The text is the options' own. */
const char *tide_secret_take_variable(struct tide_sink_options *options, const char *option, struct tide_err *err);

/* Reads the variable. SQLITE_AUTH, naming it, when it is not set or empty, or holds a control character. */
void tide_secret_read(struct tide_secret *secret, const char *variable, struct tide_err *err);

/* Wipes and frees. */
void tide_secret_clear(struct tide_secret *secret);

/* Zero bytes that the compiler may not leave out: for copies. */
void tide_secret_wipe(void *bytes, size_t size);

#endif
