/* What a measurement gave, for both sides or one, as lines of JSON:
 *   {"name":"scan","side":"table","rows":1000000,"unit":"s","median":0.55,"cpu":0.54,"values":[...]}
 * Time on the processor ("cpu", a median too) is what to look at on a machine that others work on, too; it leaves out
 * waiting for the disk. */
#ifndef TIDE_BENCH_REPORT_H
#define TIDE_BENCH_REPORT_H

#include <stdint.h>

#include "side.h"

enum { REPORT_ROUNDS = 64 };

/* Seconds. */
struct spent {
  double wall;
  double cpu;
};

struct spent clock_now(void);
struct spent clock_since(struct spent start);
void spent_add(struct spent *sum, struct spent more);

struct report {
  const char *name;
  const char *unit; /* NULL: "s" */
  uint64_t rows;    /* that one value stands for; 0: not said */
  double values[SIDES][REPORT_ROUNDS];
  double cpu[SIDES][REPORT_ROUNDS]; /* 0: not a time */
  int counts[SIDES];
};

/* Of `times` equal pieces of work: what one took. */
void report_add(struct report *report, enum side_kind side, struct spent spent, int times);
/* What is not a time. */
void report_add_value(struct report *report, enum side_kind side, double value);
void report_print(struct report *report);

#endif
