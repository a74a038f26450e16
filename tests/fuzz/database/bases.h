/* Databases to be damaged, made at first use and the same in every process: what each holds is known from an ordinary
 * table that was filled beside it; of the golden databases, from what they read undamaged.
 *
 * Of each there are two images: one that is whole, and a loose one whose tables take any value in any column, so that
 * a connection without the extension can write into it what no Tidemark would. Its schema's texts are put back then. */
#ifndef TIDE_TESTS_FUZZ_BASES_H
#define TIDE_TESTS_FUZZ_BASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sqlite.h"

enum { BASES = 4, BASE_DATASETS_MAX = 8, BASE_TABLES_MAX = 80 };

struct base_row {
  char *text;      /* all values, quoted; NULL: there is no such row */
  char *partition; /* its text */
  bool live;       /* not deleted or pruned */
};

struct base_dataset {
  char *name;
  char *columns;         /* an expression that gives a row's text */
  struct base_row *rows; /* by since, from 1 */
  int64_t last_since;
};

struct base_image {
  unsigned char *bytes;
  int64_t size;
};

/* An ordinary table of the file. */
struct base_table {
  char *name;
  char *sql;    /* as it is in the whole image */
  char *key;    /* the columns of its primary key, or rowid */
  int dataset;  /* whose shadow table it is; -1: nobody's */
  char *suffix; /* of a shadow table: "tail" and so on; of another, its name */
  int columns;
  char *names[24];
};

struct base {
  bool knows_gone; /* its rows that are deleted or pruned are known, too */
  struct base_image whole;
  struct base_image loose;
  size_t ndatasets;
  struct base_dataset datasets[BASE_DATASETS_MAX];
  size_t ntables;
  struct base_table tables[BASE_TABLES_MAX];
};

/* The folder below which sinks of the bases ship, and the folder around it, in which nothing else is. */
const char *bases_folder(void);
const char *bases_scratch(void);
void bases_clean_folder(void); /* takes away what they wrote */

/* A connection to a copy of the image, with the extension or without. Its clock stands still. */
sqlite3 *bases_open(const struct base_image *image, bool with_extension);
/* A copy of what such a connection holds; the caller frees the bytes with sqlite3_free. */
struct base_image bases_serialize(sqlite3 *db);

const struct base *bases_get(size_t which);
void bases_free(void);

#endif
