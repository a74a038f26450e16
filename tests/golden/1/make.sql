-- How tests/golden/1/tidemark.db came to be, written by the first Tidemark of format 1 on SQLite 3.40:
--   sqlite3 -cmd ".load build/ext/tidemark" tidemark.db < make.sql
-- The file stays as it is: a later Tidemark has to read what this one wrote.
PRAGMA page_size = 1024;
PRAGMA application_id = 77;
PRAGMA user_version = 5;

-- Every type, extremes among the values, in segments of both levels, in the tail, deleted, pruned, with columns added.
CREATE VIRTUAL TABLE logs USING tidemark(
  source TEXT, ok BOOLEAN, id INTEGER NOT NULL, r REAL, t TEXT, b BLOB, a ANY, j JSON, s TIMESTAMP_S, ms TIMESTAMP_MS,
  us TIMESTAMP_US, ns TIMESTAMP_NS,
  partition_by=(source, ok), segment_rows=16, retention_rows=20, retention_by=ms, zstd_level=5, unique=id);
INSERT INTO logs
  WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 300)
  SELECT CASE n % 4 WHEN 0 THEN 'web' WHEN 1 THEN 'a/b=c %' WHEN 2 THEN '' END, iif(n % 3, n % 2, NULL), n * n - 500,
    CASE n % 7 WHEN 0 THEN -0.0 WHEN 1 THEN 1e999 WHEN 2 THEN -1e999 WHEN 3 THEN 5e-324 WHEN 4 THEN NULL ELSE n / 8.0 END,
    CASE n % 6 WHEN 0 THEN '' WHEN 1 THEN 'GET /index.html?page=' || n WHEN 2 THEN 'Grüße 🌊' WHEN 3 THEN char(97, 0, 98)
      WHEN 4 THEN CAST(x'ff80' AS TEXT) ELSE 'info' END,
    CASE n % 3 WHEN 0 THEN x'' WHEN 1 THEN NULL ELSE CAST('blob ' || n AS BLOB) END,
    CASE n % 5 WHEN 0 THEN n WHEN 1 THEN n / 2.0 WHEN 2 THEN 'text ' || n WHEN 3 THEN CAST(n AS BLOB) END,
    json_object('n', n, 'list', json_array(n % 3, NULL)),
    CASE n % 9 WHEN 0 THEN -9223372036854775808 WHEN 1 THEN 9223372036854775807 ELSE n * 60 END,
    1767225600000 + n * 1000, (1767225600 - n) * 1000000, n % 2
  FROM c;
SELECT tidemark_flush('logs') ->> 'segments';
DELETE FROM logs WHERE id % 10 = 4;
SELECT tidemark_compact('logs') ->> 'segments_out';
SELECT tidemark_add_column('logs', 'trace TEXT DEFAULT ''before''') ->> 'added',
  tidemark_add_column('logs', 'weight REAL NOT NULL DEFAULT 1') ->> 'added';
INSERT INTO logs(source, ok, id, t, ms, trace, weight) VALUES ('web', 1, -1, 'sealed later', 1767225999000, NULL, 2.5);
SELECT tidemark_flush('logs') ->> 'segments';
INSERT INTO logs(source, ok, id, t) VALUES ('web', 1, -2, 'in the tail'), ('db', NULL, -3, 'in the tail too');
INSERT INTO logs(source, ok, id, t) VALUES ('web', 1, -4, 'deleted in the tail'), ('web', 1, -5, 'the last one');
DELETE FROM logs WHERE id = -4;

-- Sinks of all states, with a log of batches, a rewind, a gap, and a batch in flight.
INSERT INTO tidemark_sink(sink, dataset) VALUES ('daily', 'logs'), ('hand', 'logs'), ('late', 'logs'), ('gone', 'logs');
UPDATE tidemark_sink SET hold = 0 WHERE sink IN ('late', 'hand');
INSERT INTO tidemark_sink(sink, dataset, filter, columns, start, max_rows, hold_rows)
  VALUES ('narrow', 'logs', 'id > 0', '["since","id","t"]', 10, 20, 10);
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)
  SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag WHERE sink = 'daily' AND rows > 0;
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)
  SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag
  WHERE sink IN ('late', 'gone') AND max_rows = 7 AND rows > 0;
DELETE FROM tidemark_sink WHERE sink = 'gone';
SELECT tidemark_claim('hand', 'logs'), tidemark_claim('narrow', 'logs');
SELECT tidemark_ack(2, 'an object', 1234) ->> 'rows';
SELECT tidemark_rewind('daily', 'logs', 'source=web/ok=1', 100, 'to keep') IS NOT NULL;
DELETE FROM tidemark_batch WHERE sink = 'hand';
SELECT tidemark_prune('logs') ->> 'rows';

-- A table of one partition, an unpartitioned dataset of a difficult name, one that was renamed, one that is empty.
CREATE VIRTUAL TABLE web USING tidemark_partition(logs, source='web', ok=1);
CREATE VIRTUAL TABLE "weather ""data"" – Ö" USING tidemark("a b", "select" INTEGER, autoflush=0);
INSERT INTO "weather ""data"" – Ö" VALUES ('x', 1), (2.5, 2), (NULL, NULL);
CREATE VIRTUAL TABLE before USING tidemark(x);
INSERT INTO before VALUES (1), (2);
INSERT INTO tidemark_sink(sink, dataset) VALUES ('daily', 'before');
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) VALUES ('daily', 'before', '', 0, 1, 1);
ALTER TABLE before RENAME TO after;
CREATE VIRTUAL TABLE empty USING tidemark(x TEXT NOT NULL, retention_age='90 days', retention_bytes=1000000);
