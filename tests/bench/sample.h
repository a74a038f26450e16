/* The sample records of tests/data as what the generator stretches: texts, and the places in them that change from row
 * to row. A place is a run of digits or a word of hexadecimal digits. The versions of HTTP and Mozilla, the network
 * part of the clients' addresses and the digits of escapes stay as they are. */
#ifndef TIDE_BENCH_SAMPLE_H
#define TIDE_BENCH_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

enum sample_family { SAMPLE_WEB, SAMPLE_BROKER, SAMPLE_FAMILIES };

enum sample_kind {
  SAMPLE_DIGITS, /* the first is not 0 unless it stands alone */
  SAMPLE_OCTET,  /* of an address: at most 255 */
  SAMPLE_HEX,
};

struct sample_place {
  uint16_t at;
  uint8_t length;
  uint8_t kind;
};

struct sample_text {
  char *bytes; /* NULL: the record has none */
  size_t length;
  struct sample_place *places;
  size_t place_count;
};

struct sample_record {
  char *level;
  char *component;
  int64_t status; /* -1: none; also in bytes */
  int64_t bytes;
  struct sample_text body;
  struct sample_text attrs; /* without status and bytes */
};

struct sample {
  struct sample_record *records[SAMPLE_FAMILIES];
  size_t count[SAMPLE_FAMILIES];
  size_t longest; /* of body and attrs together, in bytes */
};

/* Reads the records whose body and attrs have at most max_length bytes together. */
void sample_load(struct sample *sample, const char *path, size_t max_length);
void sample_clear(struct sample *sample);

#endif
