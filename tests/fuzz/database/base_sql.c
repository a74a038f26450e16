#include "base_sql.h"

/* clang-format off */
#define UP_TO(n) "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < " #n ")"

/* Partitions, unique=, deleted and pruned rows, an added column, and sinks in all states. */
static const char *const everything[] = {
    "CREATE TABLE twin.logs(since INTEGER PRIMARY KEY, part, live DEFAULT 1, source, n, r, t, x, ok, j, at,"
    "  trace DEFAULT 'before')",
    UP_TO(60) "INSERT INTO twin.logs(part, source, n, r, t, x, ok, j, at)"
    "  SELECT 'source=' || s, s, i * 7, i / 4.0, printf('GET /page/%%d took %%d ms', i, i * i %% 97),"
    "    CASE i %% 5 WHEN 0 THEN NULL WHEN 1 THEN i WHEN 2 THEN i / 3.0 WHEN 3 THEN 'x' || i ELSE CAST(i AS BLOB) END,"
    "    i %% 2, json_object('i', i), 1767225600000 + i * 1000"
    "  FROM (SELECT i, CASE i %% 3 WHEN 0 THEN 'a' WHEN 1 THEN 'b' ELSE 'c' END AS s FROM c)",
    "CREATE VIRTUAL TABLE main.logs USING tidemark(source TEXT, n INTEGER NOT NULL, r REAL, t TEXT, x ANY,"
    "  ok BOOLEAN, j JSON, at TIMESTAMP_MS, partition_by=source, segment_rows=16, autoflush=0, unique=n)",
    "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('s', 'logs', 'file://%s/away', 'ndjson')",
    "INSERT INTO tidemark_sink(sink, dataset, target, format, filter, columns, options) VALUES"
    "  ('p', 'logs', 'file://%s/lake', 'parquet', 'n > 20', '[\"since\", \"n\", \"t\"]', '{\"zstd_level\": 4}')",
    "INSERT INTO tidemark_sink(sink, dataset, start, hold, hold_rows, max_rows) VALUES ('t', 'logs', 3, 0, 100, 5)",
    "INSERT INTO main.logs SELECT source, n, r, t, x, ok, j, at FROM twin.logs WHERE since <= 24 ORDER BY since",
    "SELECT tidemark_flush('logs')",
    "INSERT INTO main.logs SELECT source, n, r, t, x, ok, j, at FROM twin.logs"
    "  WHERE since BETWEEN 25 AND 40 ORDER BY since",
    "SELECT tidemark_flush('logs')",
    "DELETE FROM main.logs WHERE since IN (2, 11, 31)",
    "SELECT tidemark_export('p', 'max_batches=2')",
    "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
    "  SELECT 't', 'logs', 'source=a', 3, 18, 5",
    "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
    "  SELECT 't', 'logs', 'source=a', 18, 30, 4",
    "SELECT tidemark_rewind('t', 'logs', 'source=a', 18, 'again')",
    "SELECT tidemark_claim('t', 'logs')",
    "SELECT tidemark_export('s')", /* its folder is missing: the batches stay */
    "INSERT INTO tidemark_dead(sink, dataset, partition, since, payload, reason, at) VALUES"
    "  ('p', 'logs', 'source=b', 1, '{\"n\":7}', 'refused', 1767225600000)",
    "SELECT tidemark_add_column('logs', 'trace TEXT DEFAULT ''before''')",
    "UPDATE twin.logs SET trace = 'at ' || since WHERE since > 40",
    "INSERT INTO main.logs SELECT source, n, r, t, x, ok, j, at, trace FROM twin.logs"
    "  WHERE since BETWEEN 41 AND 55 ORDER BY since",
    "INSERT INTO main.logs SELECT source, n, r, t, x, ok, j, at, trace FROM twin.logs"
    "  WHERE since BETWEEN 56 AND 60 ORDER BY since",
    "DELETE FROM main.logs WHERE since IN (44, 57)",
    "UPDATE twin.logs SET live = 0 WHERE since IN (2, 11, 31, 44, 57)",
    "CREATE VIRTUAL TABLE main.web USING tidemark_partition(logs, source='b')",
    /* a second dataset, of which retention took rows and compaction the rest anew */
    "CREATE TABLE twin.days(since INTEGER PRIMARY KEY, part, live DEFAULT 1, k, d, v)",
    UP_TO(40) "INSERT INTO twin.days(part, k, d, v)"
    "  SELECT 'k=' || (i %% 2) || '/d=' || (i > 20), i %% 2, i > 20, 'v' || i FROM c",
    "CREATE VIRTUAL TABLE main.days USING tidemark(k INTEGER, d BOOLEAN, v, partition_by=(k, d), segment_rows=16)",
    "INSERT INTO main.days SELECT k, d, v FROM twin.days WHERE since <= 12 ORDER BY since",
    "SELECT tidemark_flush('days')",
    "INSERT INTO main.days SELECT k, d, v FROM twin.days WHERE since BETWEEN 13 AND 30 ORDER BY since",
    "SELECT tidemark_flush('days')",
    "DELETE FROM main.days WHERE since IN (14, 21)",
    "SELECT tidemark_compact('days')",
    "INSERT INTO main.days SELECT k, d, v FROM twin.days WHERE since > 30 ORDER BY since",
    "SELECT tidemark_set('days', 'retention_rows', 6)",
    "SELECT tidemark_prune('days')",
    "UPDATE twin.days SET live = since NOT IN (14, 21) AND since IN"
    "  (SELECT since FROM (SELECT since, row_number() OVER (PARTITION BY part ORDER BY since DESC) AS place"
    "    FROM twin.days WHERE since NOT IN (14, 21)) WHERE place <= 6)",
    0};

/* No partitions; texts as templates, and a batch of the tail that is packed. */
static const char *const packed[] = {
    "CREATE TABLE twin.texts(since INTEGER PRIMARY KEY, part DEFAULT '', live DEFAULT 1, t, few, x, b)",
    UP_TO(200) "INSERT INTO twin.texts(t, few, x, b)"
    "  SELECT printf('10.0.%%d.%%d closed session %%08x after %%d ms', i %% 7, i * 31 %% 256,"
    "    i * 2654435761 %% 4294967296, i * i), CASE i %% 4 WHEN 0 THEN 'info' WHEN 1 THEN 'warn' ELSE NULL END,"
    "    CASE WHEN i %% 3 THEN i ELSE i / 7.0 END, zeroblob(i %% 9) FROM c",
    "CREATE VIRTUAL TABLE main.texts USING tidemark(t TEXT NOT NULL, few TEXT, x REAL, b BLOB, autoflush=0)",
    "UPDATE twin.texts SET x = CAST(x AS REAL)",
    "INSERT INTO main.texts SELECT t, few, x, b FROM twin.texts WHERE since <= 130 ORDER BY since",
    "SELECT tidemark_flush('texts')",
    "INSERT INTO main.texts SELECT t, few, x, b FROM twin.texts WHERE since BETWEEN 131 AND 195 ORDER BY since",
    "INSERT INTO main.texts SELECT t, few, x, b FROM twin.texts WHERE since > 195 ORDER BY since",
    "INSERT INTO tidemark_sink(sink, dataset, target, format, options, max_rows) VALUES"
    "  ('lake', 'texts', 'file://%s/later', 'parquet', '{\"table\": \"delta\"}', 100)",
    "DELETE FROM main.texts WHERE since IN (7, 8, 150)",
    "UPDATE twin.texts SET live = 0 WHERE since IN (7, 8, 150)",
    "SELECT tidemark_export('lake')", /* its folder is not there yet */
    0};
/* clang-format on */

static const char *const *const made[] = {everything, packed};
static const char *const golden[] = {TIDE_GOLDEN "/1/tidemark.db", TIDE_GOLDEN "/2/tidemark.db"};
enum { MADE = sizeof made / sizeof *made };

const char *const *base_sql(size_t which) {
  return which < MADE ? made[which] : NULL;
}

const char *base_golden(size_t which) {
  return which < MADE ? NULL : golden[which - MADE];
}
