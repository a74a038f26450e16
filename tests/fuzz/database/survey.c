/* Every damage by itself: each value of each table of the bases becomes what it must not be, in each way; each row
 * goes, comes twice, is swapped. damaged.h says what holds. After one in four the dataset is also written to.
 *
 *   survey [step [offset]]   every step-th of them (default 997; TIDE_TEST_LONG: 7) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "damaged.h"

enum { BYTES_STEP = 29 };

static long step, offset, at, runs, findings;

/* Which of the ways to do it are tried. */
static unsigned ways(enum damage_kind kind) {
  static const unsigned counts[DAMAGE_KINDS] = {
      [DAMAGE_NUMBER] = 20, [DAMAGE_NEAR] = 6,   [DAMAGE_OTHER] = 3,  [DAMAGE_TYPE] = 12, [DAMAGE_FLIP] = 6,
      [DAMAGE_CUT] = 3,     [DAMAGE_EXTEND] = 2, [DAMAGE_SPLICE] = 2, [DAMAGE_SWAP] = 2};
  return counts[kind] > 0 ? counts[kind] : 1;
}

/* Bytes under checksums are looked at more often: theirs is the strongest promise. */
static long step_of(const struct base *base, const struct damage *damage) {
  const struct base_table *table = &base->tables[damage->table];
  const char *column = table->names[damage->column];
  const bool bytes = strcmp(column, "data") == 0 || strcmp(column, "meta") == 0;
  return bytes && step > BYTES_STEP ? BYTES_STEP : step;
}

static void run_one(const struct base *base, struct damage damage) {
  char text[300];
  if (at++ % step_of(base, &damage) != offset)
    return;
  damage_describe(base, &damage, text, sizeof text);
  fprintf(stderr, "%ld: %s\n", at - 1, text);
  runs++;
  findings += damaged_run(base, &damage, 1, runs % 4 == 0 ? (unsigned)runs : DAMAGED_ONLY_READ);
}

static void survey_column(const struct base *base, unsigned table, unsigned column, unsigned row) {
  for (unsigned kind = 0; kind < DAMAGE_SCHEMA_FLIP; kind++) {
    const bool of_row = kind == DAMAGE_DELETE || kind == DAMAGE_ROWS;
    for (unsigned way = 0; way < ways(kind) && !(of_row && column > 0); way++) {
      struct damage damage = {.kind = (uint8_t)kind,
                              .table = (uint8_t)table,
                              .column = (uint8_t)column,
                              .row = (uint16_t)row,
                              .with = (uint8_t)(way * 7 % 20),
                              .at = (uint16_t)(way * 11)};
      run_one(base, damage);
      damage.mended = true;
      if (kind >= DAMAGE_FLIP && kind <= DAMAGE_SPLICE)
        run_one(base, damage);
    }
  }
}

static void survey(const struct base *base) {
  enum { ROWS = 3 };
  if (damaged_run(base, NULL, 0, 0) > 0)
    findings++;
  for (unsigned table = 0; table < base->ntables; table++) {
    for (int column = 0; column < base->tables[table].columns; column++) {
      for (unsigned row = 0; row < ROWS; row++)
        survey_column(base, table, (unsigned)column, row);
    }
  }
}

int main(int argc, char **argv) {
  step = argc > 1 ? atol(argv[1]) : getenv("TIDE_TEST_LONG") != NULL ? 7 : 997;
  offset = argc > 2 ? atol(argv[2]) : 0;
  for (size_t i = 0; i < 2; i++)
    survey(bases_get(i));
  bases_free();
  printf("%ld damages of %ld, %ld findings\n", runs, at, findings);
  return findings == 0 && runs > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
