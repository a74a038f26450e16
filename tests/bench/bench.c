/* Measures Tidemark beside an ordinary SQLite table on the same rows, in turns, and prints lines of JSON (report.h):
 *   bench --module MODULE --sample SAMPLE --folder FOLDER [--rows N] [--rounds N] [--seed N] [--only NAME,...]
 *         [--keep]
 * The folder is where the files go, and is what the cost of a sync depends on; they are left there, and with --keep
 * the tables that are measured are those that an earlier run of as many rows left. run.py runs it beside others. */
#include <getopt.h>
#include <string.h>

#include "die.h"
#include "measure.h"

struct measurement {
  const char *name;
  void (*run)(struct world *world);
};

/* In this order: the ones below may leave the sides changed for those behind them. */
static const struct measurement measurements[] = {
    {"insert_big", measure_insert_big},
    {"insert_1000", measure_insert_1000},
    {"commit_full", measure_commit_full},
    {"commit_normal", measure_commit_normal},
    {"size_flushed", measure_size_flushed},
    {"scan", measure_scan},
    {"sum", measure_sum},
    {"count", measure_count},
    {"filter", measure_filter},
    {"filter_scattered", measure_filter_scattered},
    {"time_range", measure_time_range},
    {"last_sealed", measure_last_sealed},
    {"idle_read", measure_idle_read},
    {"prune", measure_prune},
    {"export_parquet", measure_export_parquet},
    {"export_ndjson", measure_export_ndjson},
    {"memory", measure_memory},
    {"last_tail", measure_last_tail},
    {"tick", measure_tick},
    {"size_compacted", measure_size_compacted},
};
enum { MEASUREMENTS = sizeof measurements / sizeof *measurements };

struct settings {
  const char *sample;
  const char *only;   /* names with commas between, or NULL */
  const char *memory; /* of a process that memory_child is all of, or NULL */
  uint64_t seed;
};

static bool is_wanted(const char *name, const char *only) {
  const size_t length = strlen(name);
  for (const char *at = only; at != NULL; at = strchr(at, ',')) {
    at += *at == ',';
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
      return true;
  }
  return only == NULL;
}

static bool is_known(const char *name, size_t length) {
  for (int i = 0; i < MEASUREMENTS; i++)
    if (strlen(measurements[i].name) == length && memcmp(measurements[i].name, name, length) == 0)
      return true;
  return false;
}

static void check_names(const char *only) {
  for (const char *at = only; at != NULL && *at != '\0';) {
    const size_t length = strcspn(at, ",");
    if (!is_known(at, length))
      die("there is no measurement %.*s", (int)length, at);
    at += length + (at[length] == ',');
  }
}

static void read_options(int argc, char **argv, struct world *world, struct settings *settings) {
  static const struct option options[] = {
      {"module", required_argument, NULL, 'm'}, {"sample", required_argument, NULL, 's'},
      {"folder", required_argument, NULL, 'f'}, {"rows", required_argument, NULL, 'n'},
      {"rounds", required_argument, NULL, 'r'}, {"seed", required_argument, NULL, 'd'},
      {"only", required_argument, NULL, 'o'},   {"memory", required_argument, NULL, 'y'},
      {"keep", no_argument, NULL, 'k'},         {0},
  };
  const char *module = NULL;
  for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    switch (option) {
    case 'm':
      module = optarg;
      break;
    case 's':
      settings->sample = optarg;
      break;
    case 'f':
      world->folder = optarg;
      break;
    case 'n':
      world->rows = strtoull(optarg, NULL, 10);
      break;
    case 'r':
      world->rounds = atoi(optarg);
      break;
    case 'd':
      settings->seed = strtoull(optarg, NULL, 10);
      break;
    case 'o':
      settings->only = optarg;
      break;
    case 'k':
      world->keep = true;
      break;
    case 'y':
      settings->memory = optarg;
      break;
    default:
      exit(2);
    }
  }
  if (module == NULL || settings->sample == NULL || world->folder == NULL)
    die("--module, --sample and --folder are needed");
  if (world->rounds < 1 || world->rounds > 20 || world->rows < 1000)
    die("--rounds is 1 to 20, --rows at least 1000");
  side_use_module(module);
}

int main(int argc, char **argv) {
  struct world world = {.rows = 1000000, .rounds = 5, .argc = argc, .argv = argv};
  struct settings settings = {.seed = 1};
  read_options(argc, argv, &world, &settings);
  check_names(settings.only);
  generator_init(&world.generator, settings.sample, settings.seed);
  if (settings.memory != NULL)
    memory_child(&world, settings.memory);
  for (int i = 0; i < MEASUREMENTS && settings.memory == NULL; i++)
    if (is_wanted(measurements[i].name, settings.only))
      measurements[i].run(&world);
  world_close(&world);
  return 0;
}
