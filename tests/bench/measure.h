/* The measurements, each a row of the benchmark's table. */
#ifndef TIDE_BENCH_MEASURE_H
#define TIDE_BENCH_MEASURE_H

#include "world.h"

/* measure_write.c: into files of their own */
void measure_insert_big(struct world *world);
void measure_insert_1000(struct world *world);
void measure_commit_full(struct world *world);
void measure_commit_normal(struct world *world);

/* measure_size.c */
void measure_size_flushed(struct world *world);
void measure_size_compacted(struct world *world); /* from here on the sides' segments are compacted */

/* measure_read.c */
void measure_scan(struct world *world);
void measure_sum(struct world *world);
void measure_count(struct world *world);
void measure_filter(struct world *world);
void measure_filter_scattered(struct world *world);
void measure_time_range(struct world *world);
void measure_last_sealed(struct world *world); /* and after_sealed */
void measure_idle_read(struct world *world);   /* and idle_read_after */
void measure_last_tail(struct world *world);   /* and after_tail; adds rows */

/* measure_upkeep.c: on copies of the sides */
void measure_prune(struct world *world); /* and VACUUM after it */

/* measure_export.c: Tidemark alone; run.py has the peers */
void measure_export_parquet(struct world *world);
void measure_export_ndjson(struct world *world);
void measure_tick(struct world *world); /* and idle_tick, idle_tick_after; adds rows */
/* The one sink, from now on, into a new folder of that name; its name is freed by sqlite3_free. */
char *sink_make(struct world *world, struct side *side, const char *name, const char *format, const char *start);

/* measure_memory.c: in processes of their own, which are this program with "--memory WHAT" added */
void measure_memory(struct world *world);
void memory_child(struct world *world, const char *what);

#endif
