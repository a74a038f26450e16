/* Values as the text that exported formats share: integers, reals, base64 and well-formed UTF-8. Nothing here depends
 * on the locale. */
#ifndef TIDE_SINK_TEXT_H
#define TIDE_SINK_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum { TIDE_TEXT_INT_SIZE = 20, TIDE_TEXT_REAL_SIZE = 32 };

/* Writes the decimal digits of value, without a NUL, and gives their number. */
size_t tide_text_int(int64_t value, char ret_text[TIDE_TEXT_INT_SIZE]);

/* Writes the shortest of 15, 16 and 17 significant digits that reads back as the same double, as SQLite renders a REAL:
 * always with a point and a digit behind it ("1.0", "-0.0", "1.0e+300", "0.1"). value is finite. No NUL; gives the
 * number of bytes. */
size_t tide_text_real(double value, char ret_text[TIDE_TEXT_REAL_SIZE]);

/* Appends those. An infinity has no such text: "Infinity" or "-Infinity", which is not for the functions above. */
void tide_text_put_int(struct tide_buf *out, int64_t value, struct tide_err *err);
void tide_text_put_real(struct tide_buf *out, double value, struct tide_err *err);

/* Writes a code point (at most U+10FFFF) as UTF-8, and gives the number of bytes. */
enum { TIDE_TEXT_UTF8_SIZE = 4 };
size_t tide_text_utf8(uint32_t code, unsigned char ret_bytes[TIDE_TEXT_UTF8_SIZE]);

/* Appends base64 (RFC 4648 section 4, padded). */
void tide_text_put_base64(struct tide_buf *out, const void *bytes, size_t size, struct tide_err *err);

/* Appends a text in which each maximal subpart of an ill-formed UTF-8 sequence becomes U+FFFD; then *altered is set,
 * which is otherwise left as it was. */
void tide_text_put_utf8(struct tide_buf *out, const void *text, size_t size, bool *altered, struct tide_err *err);

/* The UTF-8 sequence at `at`, which is below end: its size, 1 to 4, when it is well formed (Unicode 15, table 3-7);
 * otherwise minus the size of the ill-formed sequence's maximal subpart, 1 to 3, which by convention becomes one
 * U+FFFD. */
int tide_text_sequence(const unsigned char *at, const unsigned char *end);

#endif
