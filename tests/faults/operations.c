#include "operations.h"

/* clang-format off */
#define ROWS(n) "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < " #n ") "

/* logs: segments of two partitions, a tail of plain and packed batches, rows deleted in both, marked as of the older
 * format. keys: values that are there once. jobs: every type, no partitions. visits: with a partition as a table, and
 * rows that a receiver refused. aux: a dataset in an attached file. inbox: a trigger that appends. */
const char operations_database[] =
    "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT NOT NULL, n INTEGER, x ANY, partition_by=source,"
    "  segment_rows=16);"
    ROWS(40) "INSERT INTO logs SELECT 's' || (i % 2), i, 'text ' || i FROM c;"
    "SELECT tidemark_flush('logs');"
    "INSERT INTO logs VALUES('s0', 100, 1.5), ('s2', 101, x'00ff'), ('s0', 102, printf('%.*c', 3000, 'y')),"
    "  ('s2', 103, printf('%.*c', 3000, 'z'));"
    "UPDATE logs_config SET value = 1 WHERE key = 'format';"
    "DELETE FROM logs WHERE since IN (3, 41);"
    "CREATE VIRTUAL TABLE keys USING tidemark(source TEXT, id, partition_by=source, unique=id, segment_rows=16);"
    ROWS(20) "INSERT INTO keys SELECT 's' || (i % 2), 'k' || i FROM c;"
    "CREATE VIRTUAL TABLE jobs USING tidemark(at TIMESTAMP_MS, ok BOOLEAN, r REAL, b BLOB, body JSON, retention_by=at);"
    ROWS(30) "INSERT INTO jobs SELECT i, i % 2, i / 4.0, CAST('b' || i AS BLOB), json_object('i', i) FROM c;"
    "INSERT INTO jobs(body) VALUES (NULL), ('no json'), (char(10) || '\"');"
    "CREATE VIRTUAL TABLE visits USING tidemark(site TEXT, body TEXT, partition_by=site);"
    "CREATE VIRTUAL TABLE web USING tidemark_partition(visits, site='web');"
    "INSERT INTO visits VALUES('web', 'one'), ('web', 'poison two'), ('db', 'three'), ('db', 'poison four');"
    "CREATE TABLE inbox(n INTEGER PRIMARY KEY, x);"
    "CREATE TRIGGER inbox_insert AFTER INSERT ON inbox BEGIN INSERT INTO logs VALUES('inbox', NEW.n, NEW.x); END;"
    "CREATE TRIGGER inbox_delete AFTER DELETE ON inbox BEGIN"
    "  DELETE FROM logs WHERE source = 'inbox' AND n = OLD.n; END;"
    "CREATE VIEW recent AS SELECT since, source, x FROM logs WHERE since > 30;"
    "INSERT INTO tidemark_sink(sink, dataset, target, format, filter)"
    "  VALUES('a', 'logs', 'file://@DIR@/a', 'ndjson.zst', 'n <> 7');"
    "INSERT INTO tidemark_sink(sink, dataset) VALUES('b', 'logs');"
    "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
    "  VALUES('b', 'logs', 'source=s0', 0, 20, 10);"
    "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES('hook', 'visits', 'test://x', 'ndjson');"
    "SELECT tidemark_export('hook');"
    "INSERT INTO visits VALUES('web', 'five'), ('db', 'six');"
    "CREATE VIRTUAL TABLE aux.remote USING tidemark(body TEXT, segment_rows=16);"
    ROWS(20) "INSERT INTO aux.remote SELECT 'row ' || i FROM c;"
    "INSERT INTO aux.tidemark_sink(sink, dataset, target, format) VALUES('far', 'remote', 'file://@DIR@/far', 'csv');";

#define SINK(name, dataset, format, options) \
  "INSERT INTO tidemark_sink(sink, dataset, target, format, options)" \
  " VALUES('" name "', '" dataset "', 'file://@DIR@/" name "', '" format "', " options ");"
#define READ_ALL "SELECT count(*) FROM logs; SELECT count(*) FROM keys; SELECT count(*) FROM jobs"
#define SHIPPED_A "SELECT tidemark_export('a'); INSERT INTO logs VALUES('s0', 200, NULL), ('s1', 201, 'later')"

#define WHOLE(statements, ...) {.sql = (statements), .failed = OPERATION_WHOLE, __VA_ARGS__}
#define STEPS(statements, ...) {.sql = (statements), .failed = OPERATION_STEPS, __VA_ARGS__}
#define ONCE(statements, ...) {.sql = (statements), .failed = OPERATION_ONCE, __VA_ARGS__}

const struct operation operations[] = {
    /* datasets made, renamed, dropped */
    WHOLE("CREATE VIRTUAL TABLE other USING tidemark(a INTEGER, b TEXT, partition_by=(a, b))"),
    WHOLE("CREATE VIRTUAL TABLE other USING tidemark(id TEXT, unique=id)"),
    WHOLE("CREATE VIRTUAL TABLE temp.other USING tidemark(a)"),
    ONCE("ATTACH '' AS fresh; CREATE VIRTUAL TABLE fresh.other USING tidemark(a);"
         " INSERT INTO fresh.other VALUES(1); DETACH fresh"),
    WHOLE("ALTER TABLE jobs RENAME TO renamed"),
    WHOLE("BEGIN; ALTER TABLE keys RENAME TO renamed; ALTER TABLE renamed RENAME TO keys; COMMIT"),
    WHOLE("ALTER TABLE logs RENAME TO renamed",
          .before = "DROP TRIGGER inbox_insert; DROP TRIGGER inbox_delete; DROP VIEW recent"),
    WHOLE("ALTER TABLE inbox RENAME TO outbox", .session = READ_ALL),
    WHOLE("DROP TABLE keys"),
    WHOLE("DROP TABLE logs"),
    WHOLE("BEGIN; DROP TABLE jobs; CREATE VIRTUAL TABLE jobs USING tidemark(x); INSERT INTO jobs VALUES(1); COMMIT"),
    WHOLE("CREATE VIRTUAL TABLE jobs USING tidemark(adopt=1)",
          .before = "PRAGMA writable_schema = on; DELETE FROM sqlite_schema WHERE name = 'jobs'"),
    ONCE("SELECT tidemark_add_column('logs', 'y TEXT DEFAULT ''then''')"),
    WHOLE("BEGIN; INSERT INTO logs VALUES('s0', 1, 'one');"
          " SELECT tidemark_add_column('logs', 'y NOT NULL DEFAULT x''00''');"
          " INSERT INTO logs VALUES('s0', 1, 'one', 2); COMMIT"),
    STEPS("SELECT tidemark_set('logs', 'retention_rows', 5)"),
    STEPS("SELECT tidemark_set('aux.remote', 'retention_age', '2 days')"),

    /* a partition as a table */
    WHOLE("BEGIN; CREATE VIRTUAL TABLE part USING tidemark_partition(logs, source='s0');"
          " INSERT INTO part(n) VALUES(7); SELECT * FROM part WHERE since > 5 ORDER BY since;"
          " ALTER TABLE part RENAME TO other; DELETE FROM other WHERE n = 2; DROP TABLE other; COMMIT"),
    ONCE("INSERT INTO web(body) VALUES('into a partition'); SELECT * FROM web"),
    WHOLE("DELETE FROM web WHERE body LIKE '%o%'"),
    WHOLE("BEGIN; CREATE VIRTUAL TABLE temp.part USING tidemark_partition(main.logs, source='s0');"
          " DROP TABLE logs; CREATE VIRTUAL TABLE logs USING tidemark(source TEXT NOT NULL, n INTEGER, x ANY,"
          " partition_by=source); INSERT INTO part(n) VALUES(7); COMMIT"),

    /* rows written */
    WHOLE("INSERT INTO logs VALUES('s0', 1, 'one'), ('s3', 2, printf('%.*c', 3000, 'q'))"),
    WHOLE("INSERT INTO logs VALUES('s0', 1, 'one'), ('s3', 2, printf('%.*c', 3000, 'q'))", .session = READ_ALL),
    WHOLE("INSERT INTO logs SELECT source, n, x FROM logs"),
    WHOLE(ROWS(300) "INSERT INTO logs SELECT 's' || (i % 3), i, 'row ' || i FROM c"),
    WHOLE("INSERT INTO jobs VALUES(1, 1, 2.5, x'0102', '{}') RETURNING body"),
    WHOLE("BEGIN; INSERT INTO logs VALUES('s0', 1, 'one'); SAVEPOINT s;"
          " INSERT INTO logs VALUES('s4', 2, printf('%.*c', 3000, 'q')); RELEASE s; COMMIT"),
    WHOLE("BEGIN; INSERT INTO logs VALUES('s0', 1, 'kept'); SAVEPOINT s; INSERT INTO logs VALUES('s4', 2, 'gone');"
          " DELETE FROM logs WHERE n = 100; ROLLBACK TO s; SELECT count(*) FROM logs;"
          " INSERT INTO logs VALUES('s4', 3, 'too'); COMMIT"),
    WHOLE("SAVEPOINT outermost; INSERT INTO logs VALUES('s0', 1, 'one'); SELECT count(*) FROM logs;"
          " RELEASE outermost"),
    WHOLE("BEGIN; INSERT INTO logs VALUES('s0', 1, 'one'); ROLLBACK"),
    WHOLE("INSERT INTO inbox VALUES(1, 'by a trigger'), (2, NULL)"),
    WHOLE("DELETE FROM inbox", .before = "INSERT INTO inbox VALUES(1, 'by a trigger'), (2, NULL)"),
    WHOLE("DELETE FROM logs WHERE n BETWEEN 5 AND 25 OR source = 's2'"),
    WHOLE("DELETE FROM logs", .session = READ_ALL),
    WHOLE("BEGIN; INSERT INTO main.logs VALUES('s0', 1, 'here'); INSERT INTO aux.remote VALUES('there'); COMMIT"),
    WHOLE("BEGIN; INSERT INTO aux.remote VALUES('there'); DELETE FROM aux.remote WHERE since < 4; COMMIT"),
    WHOLE("INSERT INTO temp.mine VALUES(2); DELETE FROM temp.mine WHERE x = 1; SELECT tidemark_flush('temp.mine')",
          .session = "CREATE VIRTUAL TABLE temp.mine USING tidemark(x); INSERT INTO temp.mine VALUES(1)"),
    WHOLE("INSERT INTO keys VALUES('s0', 'new'), ('s3', 2.5), ('s3', NULL)"),
    WHOLE("INSERT OR IGNORE INTO keys VALUES('s0', 'k1'), ('s0', 'new'), ('s0', 'new'), ('s3', 'k20')"),
    WHOLE("BEGIN; DELETE FROM keys WHERE since < 5; INSERT OR IGNORE INTO keys SELECT 's4', id FROM keys;"
          " INSERT INTO keys VALUES('s0', 'k1'); SAVEPOINT s; DELETE FROM keys; ROLLBACK TO s; COMMIT"),

    /* rows read */
    WHOLE("SELECT *, since, partition, ingested_at FROM logs ORDER BY since"),
    WHOLE("SELECT * FROM logs WHERE since > 5 AND source = 's1' AND x > 'text 2' ORDER BY since DESC"),
    WHOLE("SELECT * FROM logs WHERE since IN (2, 4, 44, 1000) OR partition = 'source=s2' AND n IN (101, 102)"),
    WHOLE("SELECT count(*), max(n), group_concat(DISTINCT source) FROM logs;"
          " SELECT x FROM logs WHERE since > 40 LIMIT 3 OFFSET 1", .session = READ_ALL),
    WHOLE("SELECT a.since, b.since FROM logs a JOIN logs b ON b.since = a.since + 1 WHERE a.source = 's0'"),
    WHOLE("SELECT * FROM jobs WHERE ok AND r BETWEEN 1 AND 5 AND body IS NOT NULL"),
    WHOLE("SELECT * FROM keys WHERE id = 'k7'; SELECT * FROM recent; SELECT * FROM aux.remote WHERE since > 18"),
    WHOLE("BEGIN; INSERT INTO logs VALUES('s0', 1, 'one'); SELECT * FROM logs WHERE since > 40 ORDER BY since;"
          " ROLLBACK"),
    WHOLE("SELECT * FROM tidemark_dataset; SELECT * FROM aux.tidemark_dataset"),
    WHOLE("SELECT * FROM tidemark_stat;"
          " SELECT * FROM tidemark_stat WHERE dataset = 'logs' AND partition = 'source=s1'"),
    WHOLE("SELECT * FROM tidemark_segment; SELECT * FROM tidemark_segment WHERE dataset = 'logs' AND rows > 3"),
    WHOLE("SELECT * FROM tidemark_lag; SELECT * FROM tidemark_lag WHERE sink = 'b' AND max_rows = 3 AND rows > 0"),
    WHOLE("SELECT * FROM tidemark_watermark; SELECT * FROM tidemark_export_log;"
          " SELECT * FROM tidemark_export_total; SELECT * FROM tidemark_batch; SELECT * FROM tidemark_dead;"
          " SELECT * FROM tidemark_sink"),

    /* upkeep */
    WHOLE("SELECT tidemark_version()"),
    STEPS("SELECT tidemark_flush('logs')"),
    WHOLE("BEGIN; INSERT INTO logs VALUES('s0', 1, 'one'); SELECT tidemark_flush('logs');"
          " DELETE FROM logs WHERE n = 1; COMMIT"),
    STEPS("SELECT tidemark_flush('aux.remote')"),
    STEPS("SELECT tidemark_compact('logs')"),
    STEPS("SELECT tidemark_compact('logs', 1000)", .before = "SELECT tidemark_flush('logs')"),
    WHOLE("BEGIN; DELETE FROM logs WHERE source = 's1'; SELECT tidemark_compact('logs'); COMMIT"),
    WHOLE("BEGIN; UPDATE tidemark_sink SET hold_rows = 9; SELECT tidemark_set('logs', 'retention_rows', 5);"
          " SELECT tidemark_prune('logs'); INSERT INTO logs VALUES('s1', 3, 'three');"
          " SELECT tidemark_prune('logs'); COMMIT"),
    STEPS("SELECT tidemark_prune('logs')",
          .before = "UPDATE tidemark_sink SET hold = 0; SELECT tidemark_set('logs', 'retention_bytes', 400)"),
    WHOLE("SELECT tidemark_prune('logs', 'dry-run')", .before = "SELECT tidemark_set('logs', 'retention_age', 0)"),
    STEPS("SELECT tidemark_prune('keys')", .before = "SELECT tidemark_set('keys', 'retention_rows', 3)"),
    STEPS("SELECT tidemark_prune('jobs')", .before = "SELECT tidemark_set('jobs', 'retention_age', '1 day')"),
    STEPS("SELECT tidemark_maintain('logs')",
          .before = "UPDATE tidemark_sink SET hold = 0; SELECT tidemark_set('logs', 'retention_rows', 7)"),
    STEPS("SELECT tidemark_maintain()", .before = "SELECT tidemark_set('jobs', 'retention_rows', 7)"),
    WHOLE("SELECT tidemark_check('logs'); SELECT tidemark_check('keys'); SELECT tidemark_check('aux.remote')"),
    WHOLE("PRAGMA integrity_check"),
    WHOLE("VACUUM", .session = READ_ALL),

    /* sinks registered, changed, taken away; the log by hand */
    WHOLE("INSERT INTO tidemark_sink(sink, dataset, filter, start) VALUES('c', 'logs', 'n > 3 AND x IS NOT NULL',"
          " 'latest')"),
    WHOLE("INSERT INTO tidemark_sink(sink, dataset, target, format, columns, filter, options, hold_age, max_delay,"
          " min_rows) VALUES('p', 'jobs', 'file://@DIR@/p', 'parquet', '[\"since\", \"at\", \"body\"]', 'ok',"
          " '{\"table\": \"delta\", \"zstd_level\": 5}', '7 days', '5 min', 3)"),
    WHOLE("UPDATE tidemark_sink SET filter = 'x IS NOT NULL', options = '{\"zstd_level\": 9}', columns ="
          " '[\"n\"]', max_rows = 5 WHERE sink = 'a'"),
    WHOLE("DELETE FROM tidemark_sink WHERE sink = 'b'", .before = "SELECT tidemark_claim('b', 'logs')"),
    WHOLE("INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) SELECT sink, dataset,"
          " partition, since, until, rows FROM tidemark_lag WHERE sink = 'b' AND rows > 0"),
    WHOLE("DELETE FROM tidemark_export_log WHERE id = (SELECT min(id) FROM tidemark_export_log WHERE sink = 'b')",
          .before = "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) VALUES('b',"
            " 'logs', 'source=s0', 20, 40, 10)"),
    WHOLE("DELETE FROM tidemark_batch", .before = "SELECT tidemark_claim('b', 'logs')"),
    WHOLE("SELECT * FROM tidemark_guard('n', 'logs', NULL, NULL, NULL, 'n > 1', NULL, 'earliest', NULL, NULL)"),

    /* sinks that are driven by hand */
    STEPS("SELECT tidemark_claim('b', 'logs')"),
    ONCE("SELECT tidemark_ack(7, 'there', 4096)", .before = "SELECT tidemark_claim('b', 'logs')"),
    ONCE("SELECT tidemark_rewind('b', 'logs', 'source=s0', 5, 'test')"),

    /* sinks that reach outside */
    STEPS("SELECT tidemark_export('a')"),
    STEPS("SELECT tidemark_export('a', 'now')", .before = SHIPPED_A, .session = "SELECT tidemark_export('hook')"),
    WHOLE("SELECT tidemark_export('a')", .before = "SELECT tidemark_export('a')"),
    WHOLE("SELECT tidemark_export('a'); SELECT tidemark_export('a')", .before = "SELECT tidemark_export('a')",
          .session = "SELECT tidemark_export('a')"),
    STEPS("SELECT tidemark_export()", .before = SINK("c", "jobs", "csv.zst", "NULL")),
    STEPS("SELECT tidemark_export('n', 'dataset=jobs', 'now', 'max_batches=2'); SELECT tidemark_export('n')",
          .before = SINK("n", "jobs", "ndjson", "'{\"iso\": true}'") "UPDATE tidemark_sink SET max_rows = 10 WHERE"
           " sink = 'n'"),
    STEPS("SELECT tidemark_export('c')", .before = SINK("c", "jobs", "csv", "'{\"iso\": true}'")),
    STEPS("SELECT tidemark_export('p')", .before = SINK("p", "jobs", "parquet", "NULL")),
    STEPS("SELECT tidemark_export('d')", .before = SINK("d", "logs", "parquet", "'{\"table\": \"delta\"}'")),
    STEPS("SELECT tidemark_export('d')",
          .before = SINK("d", "keys", "parquet", "'{\"table\": \"delta\"}'") "SELECT tidemark_export('d');"
            " INSERT INTO keys VALUES('s0', 'late')"),
    STEPS("SELECT tidemark_export('far')"),
    STEPS("SELECT tidemark_export('hook')"),
    STEPS("SELECT tidemark_export('hook', 'now')", .before = "INSERT INTO visits VALUES('web', 'poison seven')"),
    STEPS("SELECT tidemark_requeue('hook')"),
    STEPS("SELECT tidemark_requeue('hook', 'visits')"),
    STEPS("SELECT tidemark_export('a')", .before = "SELECT tidemark_export('a');"
            " SELECT tidemark_rewind('a', 'logs', 'source=s0', 0, 'a disk was lost')"),
    WHOLE("SELECT tidemark_peek('a'); SELECT tidemark_peek('hook', 'visits'); SELECT tidemark_columns('logs')"),
    WHOLE("SELECT tidemark_progress(1), tidemark_progress(), tidemark_progress(0)"),
    WHOLE("SELECT tidemark_metrics() IS NULL", .before = SHIPPED_A),
    ONCE("SELECT tidemark_fork('a')", .before = SHIPPED_A),
    WHOLE("SELECT tidemark_verify('a'); SELECT tidemark_verify('a', 'logs')", .before = SHIPPED_A),
    WHOLE("SELECT tidemark_verify('p')",
          .before = SINK("p", "jobs", "parquet", "NULL") "SELECT tidemark_export('p')"),
    WHOLE("SELECT tidemark_verify('d')",
          .before = SINK("d", "jobs", "parquet", "'{\"table\": \"delta\"}'") "SELECT tidemark_export('d')"),
};
/* clang-format on */

const size_t operations_count = sizeof operations / sizeof *operations;
