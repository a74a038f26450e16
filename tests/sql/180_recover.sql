-- What .recover may leave: tables without their dataset, a dataset without its tables, sinks' tables in part. The shell
-- that runs this may have no .recover, so things are taken away by hand.
.system mkdir archive
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT NOT NULL, ts TIMESTAMP_MS, body TEXT, partition_by=source, retention_by=ts, segment_rows=1000);
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('archive', 'logs', 'file://@DIR@/archive', 'ndjson');
INSERT INTO tidemark_sink(sink, dataset) VALUES ('own', 'logs');
INSERT INTO logs VALUES ('web', 1, 'one'), ('db', 2, 'two'), ('web', 3, 'three');
SELECT json_extract(tidemark_flush('logs'), '$.rows'), json_extract(tidemark_export('archive'), '$.rows');
INSERT INTO logs VALUES ('web', 4, 'four');
CREATE TABLE origin AS SELECT log_id FROM tidemark_dataset;

-- the dataset is lost, its tables are there
PRAGMA writable_schema = on;
DELETE FROM sqlite_schema WHERE name = 'logs';
PRAGMA writable_schema = reset;
SELECT * FROM logs;
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT);
SELECT name FROM sqlite_schema WHERE name = 'logs';
-- adopt=1 stands alone
CREATE VIRTUAL TABLE logs USING tidemark(adopt=1, body TEXT);
CREATE VIRTUAL TABLE logs USING tidemark(retention_rows=1, adopt=1);
CREATE VIRTUAL TABLE logs USING tidemark(adopt=0);
CREATE VIRTUAL TABLE logs USING tidemark(adopt='yes');
CREATE VIRTUAL TABLE logs USING tidemark(adopt);
CREATE VIRTUAL TABLE nix USING tidemark(adopt=1);
SELECT count(*) FROM sqlite_schema WHERE name LIKE 'nix%' OR name = 'logs';
-- part of the sinks' tables went as well
DROP TRIGGER tidemark_export_log_insert; DROP TRIGGER tidemark_sink_insert; DROP VIEW tidemark_watermark; DROP TABLE tidemark_lag; DROP TABLE tidemark_export_total;
CREATE VIRTUAL TABLE logs USING tidemark(adopt=1);
SELECT since, source, ts, body FROM logs ORDER BY since;
SELECT log_id = (SELECT log_id FROM origin), last_since, rows, retention_by, segment_rows FROM tidemark_dataset;
SELECT sink, partition, since FROM tidemark_watermark ORDER BY 1, 2;
SELECT sink, partition, since, until, rows FROM tidemark_lag ORDER BY 1, 2;
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until) VALUES ('own', 'logs', 'source=web', 1, 3);
INSERT INTO tidemark_sink(sink, dataset) VALUES ('x', 'nowhere');
SELECT tidemark_check('logs');
INSERT INTO logs VALUES (NULL, 5, 'five');
INSERT INTO logs VALUES ('web', 5, 'five');
SELECT json_extract(tidemark_export('archive'), '$.rows');
SELECT sql FROM sqlite_schema WHERE name = 'logs';
ALTER TABLE logs RENAME TO other; ALTER TABLE other RENAME TO logs;
SELECT name, count(*) FROM sqlite_schema WHERE name LIKE 'tidemark%' AND type <> 'index' GROUP BY 1 HAVING count(*) <> 1;
SELECT tidemark_check('logs');

-- the newest rows are lost, and they had left: their numbers are not given again
DELETE FROM logs_tail WHERE last_since > 3;
PRAGMA writable_schema = on;
DELETE FROM sqlite_schema WHERE name = 'logs';
PRAGMA writable_schema = reset;
CREATE VIRTUAL TABLE LOGS USING tidemark(adopt=1);
INSERT INTO logs VALUES ('web', 6, 'six');
SELECT since, body FROM logs ORDER BY since;
SELECT json_extract(tidemark_export('archive'), '$.rows');
-- found in other letters: what the sinks' tables have of it follows
SELECT DISTINCT dataset FROM tidemark_registry UNION ALL SELECT DISTINCT dataset FROM tidemark_sink
  UNION ALL SELECT DISTINCT dataset FROM tidemark_export_log;
.system cat archive/logs/*/* | sort | cat

-- not all tables are there
PRAGMA writable_schema = on;
DELETE FROM sqlite_schema WHERE name = 'LOGS';
PRAGMA writable_schema = reset;
ALTER TABLE LOGS_chunk RENAME TO elsewhere;
CREATE VIRTUAL TABLE logs USING tidemark(adopt=1);
ALTER TABLE elsewhere RENAME TO logs_chunk;
CREATE TABLE config AS SELECT * FROM logs_config; DELETE FROM logs_config WHERE key = 'log_id';
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT);
CREATE VIRTUAL TABLE logs USING tidemark(adopt=1);
SELECT name FROM sqlite_schema WHERE name = 'logs';
INSERT INTO logs_config SELECT * FROM config WHERE key = 'log_id'; DROP TABLE config;
-- the way to drop them: adopt, then DROP TABLE
CREATE VIRTUAL TABLE logs USING tidemark(adopt=1);
DROP TABLE logs;
SELECT name FROM sqlite_schema WHERE name LIKE 'logs%';
SELECT sink FROM tidemark_sink;

-- the other way round: the dataset is there, a table of it is not
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source);
CREATE VIRTUAL TABLE well USING tidemark(body TEXT);
INSERT INTO tidemark_sink(sink, dataset) VALUES ('own', 'logs'), ('own', 'well');
INSERT INTO logs VALUES ('web', 'one'); INSERT INTO well VALUES ('one');
SELECT tidemark_flush('logs') IS NOT NULL;
DROP TABLE logs_chunk;
SELECT since FROM logs;
SELECT body FROM logs;
SELECT tidemark_check('logs');
DROP TABLE logs_config;
SELECT body FROM logs;
SELECT count(*) FROM logs WHERE since > 1;
INSERT INTO logs VALUES ('web', 'two');
DELETE FROM logs;
ALTER TABLE logs RENAME TO other;
SELECT tidemark_check('logs');
SELECT tidemark_flush('logs');
SELECT dataset, rows FROM tidemark_dataset WHERE dataset = 'well';
SELECT json_extract(tidemark_maintain(), '$.datasets[0].error'), json_extract(tidemark_maintain(), '$.datasets[1].dataset');
DROP TABLE logs;
SELECT name FROM sqlite_schema WHERE name LIKE 'logs%';
SELECT sink, dataset FROM tidemark_sink;
SELECT tidemark_check('well');
-- for a connection that never saw it whole, too; and one that is mended is used again
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source);
INSERT INTO logs VALUES ('web', 'one');
CREATE TABLE config AS SELECT * FROM logs_config; DELETE FROM logs_config WHERE key = 'seals';
.open test.db
.load @MODULE@
SELECT * FROM logs;
INSERT INTO logs VALUES ('web', 'two');
INSERT INTO logs_config SELECT * FROM config WHERE key = 'seals';
SELECT * FROM logs;
DELETE FROM logs_config WHERE key = 'seals';
.open test.db
.load @MODULE@
DROP TABLE logs;
SELECT name FROM sqlite_schema WHERE name LIKE 'logs%';

-- the sinks' tables have an earlier dataset of that name, whose own are gone: a new one is not that log
INSERT INTO tidemark_registry VALUES ('Again');
CREATE VIRTUAL TABLE again USING tidemark(body TEXT);
INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'again');
INSERT INTO again VALUES ('one');
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) VALUES ('s', 'again', '', 0, 1, 1);
PRAGMA writable_schema = on;
DELETE FROM sqlite_schema WHERE name = 'again';
PRAGMA writable_schema = reset;
DROP TABLE again_config; DROP TABLE again_column; DROP TABLE again_partition; DROP TABLE again_segment; DROP TABLE again_chunk; DROP TABLE again_deleted; DROP TABLE again_tail;
CREATE VIRTUAL TABLE again USING tidemark(body TEXT);
SELECT dataset FROM tidemark_registry;
SELECT count(*) FROM tidemark_export_log;
SELECT tidemark_check('again');

-- somebody else's table of such a name, where there are no datasets yet
.open other.db
.load @MODULE@
CREATE TABLE tidemark_batch(mine);
CREATE VIRTUAL TABLE logs USING tidemark(body TEXT);
SELECT name FROM sqlite_schema;
