/* An encoder turns rows into the bytes of one object: begin, rows any number of times, finish. The same rows in the
 * same order, however they are cut into calls, give the same bytes under the same library versions. A new format is one
 * new file and a row in registry.c.
 *
 * `encoded` counts the bytes of the rows as the format writes them before compression: batches are bounded by it, and
 * the log's hash is of them. */
#ifndef TIDE_SINK_ENCODER_H
#define TIDE_SINK_ENCODER_H

#include "base/buf.h"
#include "model/batch.h"
#include "model/spec.h"

/* What one object holds besides its rows' columns. Everything here is frozen with the batch. */
struct tide_encoder_config {
  const struct tide_spec *spec; /* outlives the encoder */
  const int *columns; /* what to write, in order: an index into spec's columns, or TIDE_ENCODER_SINCE and so on */
  size_t ncolumns;
  const char *partition;                   /* the partition's text; for TIDE_ENCODER_PARTITION */
  const struct tide_val *partition_values; /* spec->npartition values: batches do not hold the partition columns */
  int zstd_level;                          /* for compressed formats */
  bool iso;                                /* timestamps as ISO 8601 text, for formats that write integers otherwise */
  bool table;                              /* timestamps as a Delta table has them: microseconds, or integers */
  const char *dataset;                     /* its name outside; this and the next four for formats that describe */
  const char *log_id;                      /* what they hold */
  int64_t since;                           /* rows have since in (since, until] */
  int64_t until;
  int64_t layout;         /* of the format: its version, 0 the newest */
  int64_t schema_version; /* how many columns the dataset had at the claim: it grows with each that is added */
};
enum { TIDE_ENCODER_SINCE = -1, TIDE_ENCODER_PARTITION = -2, TIDE_ENCODER_INGESTED_AT = -3 };

/* The name of one of those columns. */
const char *tide_encoder_column_name(const struct tide_spec *spec, int column);

enum { TIDE_ENCODER_HASH_SIZE = 33 }; /* 32 hexadecimal digits and a NUL: XXH3, 128 bits, of the encoded bytes */

struct tide_encoder {
  const struct tide_encoder_methods *methods;
  uint64_t encoded; /* bytes of rows so far, before compression */
  uint64_t altered; /* rows so far with a value that the format cannot hold exactly; each format's file states what it
                       writes instead */
};

struct tide_encoder_methods {
  /* After a failure only destroy is left. Appends `count` rows of the batch from `first` on to `out` (perhaps later: a
   * compressor keeps some back). keep: one byte a row of the batch, 0 leaves the row out; NULL: all. The caller takes
   * bytes out of `out` between calls as it likes. */
  int (*rows)(struct tide_encoder *encoder, const struct tide_batch *batch, size_t first, size_t count,
              const uint8_t *keep, struct tide_buf *out, struct tide_err *err);
  /* Counts and writes nothing: adds to `encoded` what rows from `first` on will come to, and stops at the first row
   * with which it is above `most`: gives that row, or first + count when there is none, and on error. An encoder that
   * has measured is of no other use. */
  size_t (*measure)(struct tide_encoder *encoder, const struct tide_batch *batch, size_t first, size_t count,
                    const uint8_t *keep, uint64_t most, struct tide_err *err);
  /* Appends what is left and gives the hash. No rows after it. */
  int (*finish)(struct tide_encoder *encoder, struct tide_buf *out, char ret_hash[TIDE_ENCODER_HASH_SIZE],
                struct tide_err *err);
  /* After finish: appends the object's statistics as a JSON object {"numRecords":..,"minValues":{..},"maxValues":{..},
   * "nullCount":{..}}, in the form of a Delta Lake add action. NULL: the format keeps none. */
  int (*put_stats)(const struct tide_encoder *encoder, struct tide_buf *out, struct tide_err *err);
  void (*destroy)(struct tide_encoder *encoder);
};

/* A format by its name in tidemark_sink. */
struct tide_format {
  const char *name;             /* "ndjson.zst" */
  const char *extension;        /* of the object's name: "ndjson.zst" */
  const char *media_type;       /* for HTTP: "application/x-ndjson" */
  const char *content_encoding; /* likewise: "zstd"; NULL: none */
  bool compressed;              /* takes the option zstd_level */
  bool takes_iso;               /* takes the option iso */
  int layout; /* the newest version of how it lays out bytes: a batch keeps the one it was claimed with; 0: there is one */
  struct tide_encoder *(*create)(const struct tide_encoder_config *config, struct tide_err *err);
  /* The hash of an object's encoded rows from its stored bytes, which `read` gives (fills up to size bytes, 0 at the
   * end, -1 with err), so that an object that is already there can be known again. */
  int (*hash_object)(long (*read)(void *context, void *into, size_t size, struct tide_err *err), void *context,
                     char ret_hash[TIDE_ENCODER_HASH_SIZE], struct tide_err *err);
};

/* Each in the file of its format. */
extern const struct tide_format tide_format_ndjson;
extern const struct tide_format tide_format_ndjson_zst;
extern const struct tide_format tide_format_csv;
extern const struct tide_format tide_format_csv_zst;
extern const struct tide_format tide_format_parquet;

/* NULL when there is no such format; tide_format_names lists those there are, for the message. */
const struct tide_format *tide_format_find(const char *name);
const struct tide_format *tide_format_of_object(const char *name); /* by its name's extension */
const char *tide_format_names(void);                               /* "ndjson, ndjson.zst, ..." */

static inline void tide_encoder_destroy(struct tide_encoder *encoder) {
  if (encoder != NULL)
    encoder->methods->destroy(encoder);
}

#endif
