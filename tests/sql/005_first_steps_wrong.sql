-- The README's first five minutes, gotten wrong. @MODULE@ is loaded already, which is not the first mistake.
.load @MODULE@
.load ./no_such_extension

-- ---- a dataset ----
CREATE VIRTUAL TABLE logs USING tidemrk(source TEXT);
CREATE VIRTUAL TABLE logs USING tidemark;
CREATE VIRTUAL TABLE logs USING tidemark(source STRING, partition_by=source);
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, ts TIMESTAMP, partition_by=source);
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, partiton_by=source);
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, partition_by=sorce);
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, retention_age='90 dayz');
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, retention_by=source);
CREATE VIRTUAL TABLE logs USING tidemark(id INTEGER PRIMARY KEY, source TEXT);
CREATE VIRTUAL TABLE logs USING tidemark(id TEXT UNIQUE);
CREATE TABLE logs_tail(x);
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT);
DROP TABLE logs_tail;
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT NOT NULL, ts TIMESTAMP_MS, body TEXT, partition_by=source);
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT);

-- ---- rows ----
INSERT INTO logs(source, ts, body) VALUES ('web', '2026-01-01 00:00:00', 'GET /');
INSERT INTO logs(ts, body) VALUES (1767225600000, 'GET /');
INSERT INTO logs(since, source) VALUES (1, 'web');
INSERT INTO logs(source, level) VALUES ('web', 'info');
INSERT INTO logs(source, ts, body) VALUES ('web', 1767225600000, 'GET /');
UPDATE logs SET body = 'POST /' WHERE since = 1;
REPLACE INTO logs(rowid, source) VALUES (1, 'web');
ALTER TABLE logs ADD COLUMN trace TEXT;
CREATE INDEX by_ts ON logs(ts);
CREATE TRIGGER r AFTER INSERT ON logs BEGIN SELECT 1; END;
SELECT * FROM logs WHERE source = "web" AND sinse > 0;
CREATE VIRTUAL TABLE web USING tidemark_partition(logz, source='web');
CREATE VIRTUAL TABLE web USING tidemark_partition(logs, sorce='web');
CREATE VIRTUAL TABLE web USING tidemark_partition(logs);

-- ---- a sink ----
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('archive', 'log', 'file://@DIR@/archive', 'ndjson');
INSERT INTO tidemark_sink(sink, dataset, target) VALUES ('archive', 'logs', 'file://@DIR@/archive');
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('archive', 'logs', 'file://@DIR@/archive', 'json');
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('archive', 'logs', '/archive', 'ndjson');
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('archive', 'logs', 'file://archive', 'ndjson');
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('archive', 'logs', 's3://bucket/prefix', 'parquet');
INSERT INTO tidemark_sink(sink, dataset, target, format, options)
  VALUES ('archive', 'logs', 'file://@DIR@/archive', 'ndjson.zst', '{"zstdlevel": 9}');
INSERT INTO tidemark_sink(sink, dataset, target, format, filter)
  VALUES ('archive', 'logs', 'file://@DIR@/archive', 'ndjson', 'level = 1');
INSERT INTO tidemark_sink(sink, dataset, target, format, columns)
  VALUES ('archive', 'logs', 'file://@DIR@/archive', 'ndjson', 'since, body');
INSERT INTO tidemark_sink(sink, dataset, target, format, start)
  VALUES ('archive', 'logs', 'file://@DIR@/archive', 'ndjson', 'first');
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('archive', 'logs', 'file://@DIR@/archive', 'ndjson');
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('archive', 'logs', 'file://@DIR@/archive', 'ndjson');
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('second', 'logs', 'file://@DIR@/archive', 'ndjson');

-- ---- a tick ----
SELECT tidemark_exprt('archive');
SELECT tidemark_export('arhive');
SELECT tidemark_export(archive);
SELECT tidemark_export('archive', 'nwo');
SELECT json_extract(tidemark_export('archive'), '$.sinks[0].failures[0].error');
BEGIN;
INSERT INTO logs(source, body) VALUES ('web', 'not committed yet');
SELECT tidemark_export('archive', 'now');
ROLLBACK;
SELECT tidemark_export('archive', 'now') FROM logs;
SELECT error FROM tidemark_batch;
.system mkdir archive
SELECT tidemark_export('archive', 'now') ->> 'rows';
.system mv archive elsewhere
INSERT INTO logs(source, body) VALUES ('web', 'GET /later');
SELECT json_extract(tidemark_export('archive'), '$.sinks[0].failures[0].error');
.system mkdir archive
SELECT json_extract(tidemark_export('archive', 'now'), '$.sinks[0].failures[0].error');
.system rmdir archive; mv elsewhere archive
SELECT tidemark_export('archive', 'now') ->> 'rows';
SELECT tidemark_flush('log');
SELECT tidemark_flush(logs);
SELECT tidemark_prune('logs', 'dryrun');
SELECT tidemark_set('logs', 'retention', '30 days');
SELECT tidemark_ack(99);
SELECT tidemark_rewind('archive', 'logs', 'web', 0, 'again');
DELETE FROM tidemark_export_log;
SELECT tidemark_check('logs');
DROP TABLE logs_tail;
SELECT tidemark_check('logs');
SELECT * FROM logs;
