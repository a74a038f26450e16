#include <inttypes.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "die.h"
#include "measure.h"

static const double mib = 1024 * 1024;

/* The most memory that was resident in the process, in MiB, since the mark was taken back. */
static double resident_peak(void) {
  FILE *file = fopen("/proc/self/status", "r");
  long kib = -1;
  for (char line[256]; file != NULL && fgets(line, sizeof line, file) != NULL;)
    if (sscanf(line, "VmHWM: %ld", &kib) == 1)
      break;
  if (file == NULL || kib < 0)
    die("/proc/self/status does not tell the peak of resident memory");
  fclose(file);
  return (double)kib / 1024;
}

static void resident_reset(void) {
  FILE *file = fopen("/proc/self/clear_refs", "w");
  if (file == NULL || fputs("5", file) == EOF || fclose(file) != 0)
    die("cannot take back the peak of resident memory in /proc/self/clear_refs");
}

struct peak {
  double resident;
  sqlite3_int64 sqlite;
};

static struct peak peak_begin(void) {
  resident_reset();
  sqlite3_memory_highwater(1);
  return (struct peak){resident_peak(), sqlite3_memory_used()};
}

static void peak_print(struct peak before, const char *what, enum side_kind kind) {
  struct report resident = {.unit = "MiB"};
  struct report sqlite = {.unit = "MiB"};
  char *names[] = {need(sqlite3_mprintf("memory_%s", what)), need(sqlite3_mprintf("memory_%s_sqlite", what))};
  resident.name = names[0];
  sqlite.name = names[1];
  report_add_value(&resident, kind, resident_peak() - before.resident);
  report_add_value(&sqlite, kind, (double)(sqlite3_memory_highwater(0) - before.sqlite) / mib);
  report_print(&resident);
  report_print(&sqlite);
  sqlite3_free(names[0]);
  sqlite3_free(names[1]);
}

static void peak_of_transaction(struct world *world, enum side_kind kind) {
  struct side side;
  side_create(&side, kind, world->folder, "memory");
  world_next(world, BLOCK_ROWS); /* the block has its memory before the count begins */
  generator_restart(&world->generator);
  const struct peak before = peak_begin();
  side_exec(&side, "BEGIN");
  for (uint64_t done = 0; done < world->rows; done += world->block.count) {
    const struct block *block = world_next(world, world->rows - done);
    side_insert(&side, block, 0, block->count);
  }
  side_exec(&side, "COMMIT");
  peak_print(before, "transaction", kind);
  side_close(&side);
}

static void peak_of_statement(struct world *world, const char *what, const char *sql) {
  struct side side;
  side_open(&side, SIDE_TIDEMARK, world->folder, "memory");
  side_int(&side, "SELECT count(*) FROM (SELECT 1 FROM logs LIMIT 1)"); /* the dataset is open */
  const struct peak before = peak_begin();
  side_exec(&side, "%s", sql);
  peak_print(before, what, SIDE_TIDEMARK);
  side_close(&side);
}

void memory_child(struct world *world, const char *what) {
  if (strcmp(what, "transaction") == 0)
    peak_of_transaction(world, SIDE_TIDEMARK);
  else if (strcmp(what, "table") == 0)
    peak_of_transaction(world, SIDE_TABLE);
  else if (strcmp(what, "compact") == 0)
    peak_of_statement(world, what, "SELECT tidemark_compact('logs')");
  else
    peak_of_statement(world, what, "SELECT tidemark_export()");
}

/* A process of its own, so that nothing that happened before counts. */
static void run_child(struct world *world, const char *what) {
  extern char **environ;
  char **argv = need(calloc((size_t)world->argc + 3, sizeof *argv));
  memcpy(argv, world->argv, (size_t)world->argc * sizeof *argv);
  argv[world->argc] = (char *)(uintptr_t) "--memory";
  argv[world->argc + 1] = (char *)(uintptr_t)what;
  pid_t child;
  int status;
  if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ) != 0 || waitpid(child, &status, 0) != child)
    die("cannot run a process for memory_%s", what);
  if (status != 0)
    die("memory_%s ended with status %d", what, status);
  free(argv);
}

void measure_memory(struct world *world) {
  static const char *const formats[] = {"parquet", "ndjson"};
  struct side *sides = world_sides(world);
  run_child(world, "table");
  run_child(world, "transaction");
  for (int i = 0; i < 2; i++) {
    char *what = need(sqlite3_mprintf("export_%s", formats[i]));
    struct side copy;
    world_copy(world, &sides[SIDE_TIDEMARK], &copy, "memory");
    sqlite3_free(sink_make(world, &copy, "memory", formats[i], "earliest"));
    side_close(&copy);
    run_child(world, what);
    sqlite3_free(what);
  }
  run_child(world, "compact");
}
