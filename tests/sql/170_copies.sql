-- A copy is the same log: the rows, their numbers, the log id, the sinks and where they stand, and the rules.
.system mkdir archive
PRAGMA application_id = 4711; PRAGMA user_version = 42;
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, blob BLOB, partition_by=source, segment_rows=16);
CREATE TABLE daily(source TEXT PRIMARY KEY, n INTEGER);
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('archive', 'logs', 'file://@DIR@/archive', 'ndjson');
INSERT INTO tidemark_sink(sink, dataset) VALUES ('daily', 'logs'), ('own', 'logs');
INSERT INTO logs VALUES ('web', 'one', x'00ff'), ('db', 'it''s "two"', NULL), ('web', char(10, 233, 128512), x'');
SELECT json_extract(tidemark_flush('logs'), '$.segments'), json_extract(tidemark_export('archive'), '$.rows');
INSERT INTO logs VALUES ('web', 'four', NULL), ('db', 'five', NULL), ('web', 'six', NULL);
DELETE FROM logs WHERE since IN (2, 6);
SELECT tidemark_claim('own', 'logs');
SELECT tidemark_rewind('archive', 'logs', 'source=web', 1, 'again') IS NOT NULL;
CREATE TABLE origin AS SELECT log_id FROM tidemark_dataset;
-- what is asked of every copy
.echo off
.once check.sql
SELECT 'SELECT since, source, quote(body), quote(blob) FROM logs ORDER BY since;
SELECT log_id = (SELECT log_id FROM origin), last_since FROM tidemark_dataset;
SELECT tidemark_check(''logs'');
SELECT sink, partition, generation, since FROM tidemark_watermark ORDER BY 1, 2;
SELECT sink, partition, since, until, rows FROM tidemark_batch ORDER BY partition;
SELECT sink, partition, since, until, rows FROM tidemark_lag ORDER BY 1, 2;
-- the rules
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until) VALUES (''daily'', ''logs'', ''source=web'', 1, 3);
UPDATE tidemark_export_log SET rows = 9;
DELETE FROM tidemark_export_log;
INSERT INTO tidemark_sink(sink, dataset) VALUES (''x'', ''nowhere'');
DELETE FROM logs WHERE since = 1;
-- and it goes on
INSERT INTO logs VALUES (''web'', ''new'', NULL);
SELECT last_insert_rowid();
-- the first of several that live at once may write to their folder; the others are told so, and fork
SELECT json_extract(tidemark_export(''archive''), ''$.rows'');
SELECT state FROM tidemark_sink WHERE sink = ''archive'';
SELECT json_extract(tidemark_fork(''archive''), ''$.sinks[0].sink'');
SELECT json_extract(tidemark_export(''archive''), ''$.failed'');
BEGIN IMMEDIATE;
INSERT INTO daily SELECT l.source, count(*) FROM tidemark_lag w CROSS JOIN logs l
  ON l.partition = w.partition AND l.since > w.since AND l.since <= w.until
  WHERE w.sink = ''daily'' AND w.rows > 0 GROUP BY 1 ON CONFLICT(source) DO UPDATE SET n = n + excluded.n;
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)
  SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag WHERE sink = ''daily'' AND rows > 0;
COMMIT;
SELECT * FROM daily ORDER BY 1;
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)
  SELECT sink, dataset, partition, since, until, rows FROM tidemark_batch;
SELECT count(*) FROM tidemark_batch;
SELECT json_extract(tidemark_flush(''logs''), ''$.rows''), json_extract(tidemark_compact(''logs''), ''$.dropped'');
SELECT json_array_length(tidemark_maintain(), ''$.datasets'');
SELECT sum(rows) FROM tidemark_lag WHERE sink <> ''own'';
SELECT tidemark_check(''logs'');
ALTER TABLE logs RENAME TO renamed;
SELECT count(*), max(since) FROM renamed;
PRAGMA application_id; PRAGMA user_version;';
.echo on

-- VACUUM INTO
VACUUM;
SELECT tidemark_check('logs');
VACUUM INTO 'into.db';
.open into.db
.load @MODULE@
.read check.sql

-- .backup
.open test.db
.load @MODULE@
.backup backup.db
.open backup.db
.load @MODULE@
.read check.sql

-- .dump and reload: the tables are there for the next connection
.open test.db
.load @MODULE@
.echo off
.output dump.sql
.dump
.output stdout
.open dump.db
.load @MODULE@
.read dump.sql
.echo on
SELECT * FROM logs;
.open dump.db
.load @MODULE@
.read check.sql

-- .dump without the extension is the same
.open test.db
.echo off
.output plain.sql
.dump
.output stdout
.echo on
.system sqlite3 plain.db < plain.sql
.open plain.db
.load @MODULE@
.read check.sql

-- the files hold each row once for each generation, whoever wrote them
.system cat archive/*/*/* | sort | cat

-- a part of a dump is no copy: rows can be read, the sinks' tables are not there
.open test.db
.load @MODULE@
.echo off
.output part.sql
.dump logs%
.output stdout
.echo on
.system sqlite3 part.db < part.sql
.open part.db
.load @MODULE@
SELECT since, body FROM logs WHERE source = 'db';
SELECT tidemark_check('logs');
SELECT * FROM tidemark_lag;
INSERT INTO logs VALUES ('db', 'more', NULL);
SELECT max(since) FROM logs;
DELETE FROM logs WHERE since = 5;
ALTER TABLE logs RENAME TO other;
DROP TABLE other;
SELECT name FROM sqlite_schema;
