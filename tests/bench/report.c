#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "die.h"

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct spent clock_now(void) {
  return (struct spent){.wall = seconds_of(CLOCK_MONOTONIC), .cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID)};
}

struct spent clock_since(struct spent start) {
  const struct spent now = clock_now();
  return (struct spent){.wall = now.wall - start.wall, .cpu = now.cpu - start.cpu};
}

void spent_add(struct spent *sum, struct spent more) {
  sum->wall += more.wall;
  sum->cpu += more.cpu;
}

void report_add(struct report *report, enum side_kind side, struct spent spent, int times) {
  if (report->counts[side] == REPORT_ROUNDS)
    die("%s: more than %d rounds", report->name, REPORT_ROUNDS);
  report->values[side][report->counts[side]] = spent.wall / times;
  report->cpu[side][report->counts[side]++] = spent.cpu / times;
}

void report_add_value(struct report *report, enum side_kind side, double value) {
  report_add(report, side, (struct spent){.wall = value}, 1);
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a;
  const double y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(const double *values, int count) {
  double sorted[REPORT_ROUNDS];
  memcpy(sorted, values, (size_t)count * sizeof *values);
  qsort(sorted, (size_t)count, sizeof *sorted, compare);
  return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static void print_side(const struct report *report, enum side_kind side) {
  const int count = report->counts[side];
  printf("{\"name\":\"%s\",\"side\":\"%s\",", report->name, side_names[side]);
  if (report->rows > 0)
    printf("\"rows\":%llu,", (unsigned long long)report->rows);
  printf("\"unit\":\"%s\",\"median\":%.9g,", report->unit != NULL ? report->unit : "s",
         median(report->values[side], count));
  if (report->cpu[side][0] > 0)
    printf("\"cpu\":%.9g,", median(report->cpu[side], count));
  printf("\"values\":[");
  for (int i = 0; i < count; i++)
    printf("%s%.9g", i > 0 ? "," : "", report->values[side][i]);
  printf("]}\n");
}

void report_print(struct report *report) {
  for (int side = 0; side < SIDES; side++)
    if (report->counts[side] > 0)
      print_side(report, (enum side_kind)side);
  fflush(stdout);
}
