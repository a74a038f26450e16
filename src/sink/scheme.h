/* What a target's URL may begin with. tidemark.so itself knows file:; a second extension adds schemes to a connection
 * through a pointer value (tidemark_add_schemes, ext/functions_schemes.c), so that this one never links a network
 * library. */
#ifndef TIDE_SINK_SCHEME_H
#define TIDE_SINK_SCHEME_H

#include "sink/sink_option.h"
#include "sink/target.h"

/* Asks, within a long wait, whether the user wants the call to end: it sets SQLITE_INTERRUPT. May be called often. */
struct tide_patience {
  bool (*is_over)(void *context, struct tide_err *err);
  void *context;
};

struct tide_scheme {
  const char *name;   /* "s3" */
  const char *expect; /* how its URLs look, for messages: "s3://bucket/prefix" */
  bool forwards;      /* its targets do: one request a batch, and smaller batches unless the sink says otherwise */
  bool remote;        /* its targets are on another machine, which may be down or slow as a whole */
  bool takes_tables;  /* its targets can hold a table (table.h) */
  /* Checks a URL, and takes its own out of the options. Gives the same text for the same place however it was written,
   * for tide_free: a sink is refused a place that another sink of the log writes to. SQLITE_ERROR with a sentence when
   * something is wrong. It reaches for nothing outside, and needs no secret. */
  char *(*check)(const char *url, struct tide_sink_options *options, struct tide_err *err);
  /* Opens the target of a URL and options that were checked. patience outlives it. */
  struct tide_target *(*open)(const char *url, struct tide_sink_options *options, const struct tide_patience *patience,
                              struct tide_err *err);
};

/* file:///folder, in target_dir.c. */
extern const struct tide_scheme tide_scheme_file;

/* The schemes that a connection knows: all zero but for file. */
enum { TIDE_SCHEMES_MAX = 8 };
struct tide_schemes {
  const struct tide_scheme *added[TIDE_SCHEMES_MAX];
  size_t nadded;
};

/* What a second extension brings, as a pointer value of type TIDE_SCHEMES_POINTER. The schemes live as long as the
 * connection. Both sides are built from the same sources: `build` says so, and another is refused. */
#define TIDE_SCHEMES_POINTER "tidemark-schemes"
struct tide_schemes_offer {
  const char *build; /* tide_scheme_build, scheme_build.h: the first field of every version, for it is all that is read
                        before the two agree */
  const struct tide_scheme *const *schemes;
  size_t count;
};

/* One that is there already under its name stays. SQLITE_ERROR when there are too many, or the build is another. */
void tide_schemes_add(struct tide_schemes *schemes, const struct tide_schemes_offer *offer, struct tide_err *err);

/* The scheme of a URL, or NULL with a sentence that says which there are, and which extension would bring it. */
const struct tide_scheme *tide_schemes_find(const struct tide_schemes *schemes, const char *url, struct tide_err *err);

#endif
