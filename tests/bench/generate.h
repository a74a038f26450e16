/* Rows like those of the sample, any number of them, the same ones for the same seed.
 *
 * 16 partitions: web-00 to web-05 take records of a web server, broker-00 to broker-09 those of Kafka's brokers. Each
 * row is of a partition and a record that are drawn at random; every place of the record (sample.h) is drawn anew, so
 * that long stretches never come again: 275 bytes of NDJSON on average. A text without such a place is the record's.
 * Timestamps ascend, by 10 ms on average. In about one of ten stretches of 8,192 rows one of the web servers is down:
 * its rows have status 503, which comes to some 0.5 % of all rows, in bursts as outages are. */
#ifndef TIDE_BENCH_GENERATE_H
#define TIDE_BENCH_GENERATE_H

#include <stddef.h>
#include <stdint.h>

#include "prng.h"
#include "sample.h"

enum { PARTITIONS = 16, WEB_PARTITIONS = 6 };

extern const char *const partition_names[PARTITIONS];

/* Texts end with NUL. */
struct row {
  const char *source;
  int64_t ts; /* milliseconds since 1970 */
  const char *level;
  const char *component;
  int64_t status; /* -1: NULL; also in bytes, and in duration, which is in milliseconds */
  int64_t bytes;
  double duration;
  const char *body;
  int body_length;
  const char *attrs; /* NULL: NULL */
  int attrs_length;
};

struct block {
  struct row *rows;
  size_t count;
  size_t capacity;
  char *text; /* of the rows */
};

struct generator {
  const char *sample_path;
  struct sample sample; /* read with the first row that is asked for */
  struct prng prng;
  uint64_t seed;
  uint64_t rows; /* made so far */
  int64_t ts;    /* of the last one */
};

/* Keeps the path. */
void generator_init(struct generator *generator, const char *sample_path, uint64_t seed);
/* From the first row on again. */
void generator_restart(struct generator *generator);
/* The next rows into a block that is all zero or was filled before; its memory is bounded by count. */
void generator_fill(struct generator *generator, struct block *block, size_t count);
void generator_clear(struct generator *generator);
void block_clear(struct block *block);

#endif
