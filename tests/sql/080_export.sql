-- Ticks to a folder; what left is read back from the files by other programs: cat, zstd, the shell's JSON.
.system mkdir archive packed
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT NOT NULL, ts TIMESTAMP_MS, ok BOOLEAN, x REAL, body TEXT, attrs JSON, raw BLOB, any, partition_by=source);
INSERT INTO logs VALUES ('web', 1767225600000, 1, 1.5, 'GET /', '{"a":[1,2]}', x'00ff10', 'text'), ('web', -1, 0, -0.0, 'line' || char(10) || 'tab' || char(9) || '"q"\é', 'not json', x'', 9223372036854775807), ('a/b', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('archive', 'logs', 'file://@DIR@/archive', 'ndjson');
INSERT INTO tidemark_sink(sink, dataset, target, format, columns, filter) VALUES ('packed', 'logs', 'file://@DIR@/packed', 'ndjson.zst', '["since", "partition", "body"]', 'ok IS NOT 0');
SELECT json_extract(tidemark_export('archive'), '$.more');
.system find archive packed -not -path *_tidemark* -type f | sort | sed -E 's/[0-9a-f]{32}/LOGID/'
.system cat $(find archive/logs -type f | sort)
SELECT json_extract(tidemark_export('packed'), '$.more');
.system find packed/logs -type f | sort | sed -E 's/[0-9a-f]{32}/LOGID/'
.system zstd -dcq $(find packed/logs -type f | sort)
SELECT sink, partition, kind, since, until, rows, skipped, dead, typeof(hash) FROM tidemark_export_log ORDER BY sink, partition;
-- bytes and object are those of the files
SELECT e.sink, count(*) FROM tidemark_export_log e JOIN fsdir('archive') f ON f.name LIKE '%' || e.object AND length(f.data) = e.bytes GROUP BY 1;
SELECT e.sink, count(*) FROM tidemark_export_log e JOIN fsdir('packed') f ON f.name LIKE '%' || e.object AND length(f.data) = e.bytes GROUP BY 1;
SELECT count(*) FROM tidemark_batch;
SELECT sum(rows) FROM tidemark_lag;
-- only what is new leaves the next time, all active sinks at once
INSERT INTO logs(source, body) VALUES ('web', 'new'), ('web', 'newer');
SELECT json_extract(tidemark_export(), '$.more');
.system find archive packed -not -path *_tidemark* -type f | sort | sed -E 's/[0-9a-f]{32}/LOGID/'
SELECT sink, partition, since, until, rows, skipped FROM tidemark_export_log WHERE since > 0 ORDER BY sink, partition;
-- since, partition and ingested_at only when columns names them
.system cat $(find archive -name '*0005.*')
.system zstd -dcq $(find packed -name '*0005.*')
-- batches of max_rows; max_batches stops early and says so
UPDATE tidemark_sink SET max_rows = 2 WHERE sink = 'archive';
INSERT INTO logs(source, body) VALUES ('web', '6'), ('web', '7'), ('db', '8'), ('web', '9'), ('web', '10'), ('web', '11');
SELECT json_extract(tidemark_export('archive', 'max_batches=1'), '$.more');
SELECT json_extract(tidemark_export('archive'), '$.more');
SELECT partition, since, until, rows FROM tidemark_export_log WHERE sink = 'archive' AND until > 5 ORDER BY partition, since;
-- max_bytes too; a single row above it is a batch of its own
UPDATE tidemark_sink SET max_rows = NULL, max_bytes = 300 WHERE sink = 'archive';
INSERT INTO logs(source, body) VALUES ('web', printf('%.*c', 500, 'x')), ('web', printf('%.*c', 20, 'y')), ('web', printf('%.*c', 20, 'y')), ('web', printf('%.*c', 20, 'y')), ('web', printf('%.*c', 500, 'z'));
SELECT json_extract(tidemark_export('archive'), '$.more');
SELECT since, until, rows FROM tidemark_export_log WHERE sink = 'archive' AND partition = 'source=web' AND until > 11 ORDER BY since;
UPDATE tidemark_sink SET max_bytes = NULL WHERE sink = 'archive';
-- paused and disabled do nothing
UPDATE tidemark_sink SET state = 'paused' WHERE sink = 'archive';
UPDATE tidemark_sink SET state = 'disabled' WHERE sink = 'packed';
INSERT INTO logs(source, body) VALUES ('web', 'waits');
SELECT count(*) FROM (SELECT tidemark_export());
SELECT sink, state, sum(rows) FROM tidemark_lag GROUP BY 1 ORDER BY 1;
UPDATE tidemark_sink SET state = 'active';
SELECT json_extract(tidemark_export(), '$.more');
SELECT sink, state, sum(rows) FROM tidemark_lag GROUP BY 1 ORDER BY 1;
-- min_rows waits for company, unless max_delay is over or it is told 'now'
UPDATE tidemark_sink SET min_rows = 3, max_delay = '1 hour';
INSERT INTO logs(source, body) VALUES ('web', 'alone');
SELECT json_extract(tidemark_export(), '$.more') IS NOT NULL;
SELECT sink, sum(rows) FROM tidemark_lag GROUP BY 1 ORDER BY 1;
INSERT INTO logs(source, body) VALUES ('web', 'two'), ('web', 'three');
SELECT json_extract(tidemark_export(), '$.more') IS NOT NULL;
SELECT sink, sum(rows) FROM tidemark_lag GROUP BY 1 ORDER BY 1;
INSERT INTO logs(source, body) VALUES ('web', 'alone again');
SELECT json_extract(tidemark_export('archive', 'now'), '$.more') IS NOT NULL;
UPDATE tidemark_sink SET max_delay = 0 WHERE sink = 'packed';
SELECT json_extract(tidemark_export('packed'), '$.more') IS NOT NULL;
SELECT sink, sum(rows) FROM tidemark_lag GROUP BY 1 ORDER BY 1;
-- refused inside a transaction or a statement that writes
BEGIN;
INSERT INTO logs(source, body) VALUES ('web', 'in a transaction');
SELECT tidemark_export('archive');
SELECT tidemark_claim('archive', 'logs');
COMMIT;
CREATE TABLE result(x);
INSERT INTO result SELECT tidemark_export('archive');
SELECT tidemark_export('archive') FROM sqlite_schema;
SELECT count(*) FROM result;
SELECT count(*) FROM tidemark_batch;
-- a folder that is gone: the batch stays with what to do, and the next tick ends it
.system mv archive elsewhere
SELECT json_valid(tidemark_export('archive', 'now'));
SELECT sink, partition, since, until, rows, attempts, error FROM tidemark_batch;
SELECT sink, sum(rows) FROM tidemark_lag GROUP BY 1 ORDER BY 1;
.system touch archive
SELECT json_valid(tidemark_export('archive', 'now'));
SELECT partition, since, until, attempts, error FROM tidemark_batch;
-- 'now' alone tries again before not_before
UPDATE tidemark_batch SET not_before = not_before + 3600000;
SELECT json_valid(tidemark_export('archive'));
SELECT attempts, not_before > claimed_at FROM tidemark_batch;
.system rm archive; mv elsewhere archive
SELECT json_extract(tidemark_export('archive', 'now'), '$.more');
SELECT count(*) FROM tidemark_batch;
-- every row is in the files once: the log's bodies against the files' lines, both ways
SELECT count(*) FROM (SELECT source, body FROM logs EXCEPT SELECT json_extract(l.value, '$.source'), json_extract(l.value, '$.body') FROM fsdir('archive') f, json_each('[' || replace(rtrim(CAST(f.data AS TEXT), char(10)), char(10), ',') || ']') l WHERE f.name LIKE '%.ndjson');
SELECT count(*) FROM (SELECT json_extract(l.value, '$.source'), json_extract(l.value, '$.body') FROM fsdir('archive') f, json_each('[' || replace(rtrim(CAST(f.data AS TEXT), char(10)), char(10), ',') || ']') l WHERE f.name LIKE '%.ndjson' EXCEPT SELECT source, body FROM logs);
SELECT (SELECT count(*) FROM logs) = (SELECT sum(json_array_length('[' || replace(rtrim(CAST(f.data AS TEXT), char(10)), char(10), ',') || ']')) FROM fsdir('archive') f WHERE f.name LIKE '%.ndjson');
-- nothing half written lies about
.system find archive packed -type f -not -name *.ndjson -not -name *.ndjson.zst | sed -E 's/[0-9a-f]{32}/LOGID/'
