-- What a host may set or how it may open the file: DEFENSIVE, trusted_schema, query_only, read-only, immutable.
.system mkdir archive
.echo off
.dbconfig defensive on
.dbconfig trusted_schema off
.echo on
PRAGMA journal_mode = wal;
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source, retention_rows=3);
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('archive', 'logs', 'file://@DIR@/archive', 'ndjson');
INSERT INTO tidemark_sink(sink, dataset) VALUES ('own', 'logs');
INSERT INTO logs VALUES ('web', '1'), ('db', '2'), ('web', '3'), ('web', '4'), ('web', '5');
SELECT json_extract(tidemark_export('archive'), '$.rows'), tidemark_claim('own', 'logs');
SELECT json_extract(tidemark_flush('logs'), '$.rows');
UPDATE tidemark_sink SET hold = 0 WHERE sink = 'own'; DELETE FROM tidemark_batch;
SELECT json_extract(tidemark_prune('logs'), '$.rows', '$.gap_rows');
DELETE FROM logs WHERE since = 3;
SELECT json_extract(tidemark_compact('logs'), '$.dropped');
SELECT tidemark_set('logs', 'retention_rows', NULL) IS NOT NULL;
SELECT json_extract(tidemark_rewind('archive', 'logs', 'source=web', 1, 'again'), '$.rows');
ALTER TABLE logs RENAME TO renamed; ALTER TABLE renamed RENAME TO logs;
CREATE VIRTUAL TABLE other USING tidemark(a); INSERT INTO other VALUES (1); DROP TABLE other;
SELECT since, body FROM logs ORDER BY since; SELECT tidemark_check('logs');
-- the host itself cannot write a dataset's own tables
DELETE FROM logs_tail;
DROP TABLE logs_config;
UPDATE logs_config SET value = 1;
INSERT INTO tidemark_stat VALUES (1);

-- trusted_schema off: triggers and views append and read, and reach nothing outside
CREATE TABLE src(a);
CREATE TRIGGER src_logged AFTER INSERT ON src BEGIN INSERT INTO logs VALUES ('src', NEW.a); END;
CREATE VIEW reading AS SELECT l.body, s.rows FROM logs l JOIN tidemark_stat s ON s.partition = l.partition WHERE l.source = 'src';
CREATE VIEW exporting AS SELECT tidemark_export('archive') AS e;
CREATE VIEW pruning AS SELECT tidemark_prune('logs') AS e;
CREATE TRIGGER src_exported AFTER DELETE ON src BEGIN SELECT tidemark_export('archive'); END;
INSERT INTO src VALUES ('by trigger');
SELECT * FROM reading;
SELECT * FROM exporting;
SELECT * FROM pruning;
DELETE FROM src;
PRAGMA trusted_schema = on;
SELECT * FROM exporting;
DELETE FROM src;
DROP TRIGGER src_exported;

-- query_only
PRAGMA query_only = on;
SELECT since, body FROM logs ORDER BY since;
SELECT sink, partition, rows FROM tidemark_lag ORDER BY 1, 2;
SELECT partition, rows, tail_rows FROM tidemark_stat;
SELECT tidemark_check('logs');
SELECT json_extract(tidemark_prune('logs', 'dry-run'), '$.rows');
INSERT INTO logs VALUES ('web', 'no');
DELETE FROM logs;
SELECT tidemark_export('archive');
SELECT tidemark_claim('own', 'logs');
SELECT tidemark_flush('logs');
SELECT json_extract(tidemark_maintain(), '$.datasets[0].error');
SELECT tidemark_set('logs', 'zstd_level', 5);
SELECT tidemark_rewind('archive', 'logs', 'source=db', 0, 'again');
ALTER TABLE logs RENAME TO renamed;
DROP TABLE logs;
CREATE VIRTUAL TABLE other USING tidemark(a);
PRAGMA query_only = off;
SELECT json_extract(tidemark_export('archive'), '$.rows');

-- read-only, beside a connection that writes: what is new is seen
INSERT INTO logs VALUES ('web', '7');
ATTACH 'file:test.db?mode=ro' AS ro;
SELECT since, body FROM ro.logs ORDER BY since;
SELECT sink, partition, rows FROM ro.tidemark_lag ORDER BY 1, 2;
INSERT INTO main.logs VALUES ('web', '8');
SELECT max(since) FROM ro.logs;
SELECT last_since FROM ro.tidemark_dataset;
DETACH ro;
.open 'file:test.db?mode=ro'
.load @MODULE@
SELECT since, body FROM logs ORDER BY since;
SELECT dataset, last_since, rows FROM tidemark_dataset;
SELECT sink, partition, rows FROM tidemark_lag ORDER BY 1, 2;
SELECT partition, rows, held_by FROM tidemark_stat;
SELECT partition, first_since, last_since FROM tidemark_segment ORDER BY 1, 2;
SELECT sink, partition, since FROM tidemark_watermark ORDER BY 1, 2;
SELECT tidemark_check('logs');
INSERT INTO logs VALUES ('web', 'no');
DELETE FROM logs;
SELECT tidemark_export('archive');
SELECT json_extract(tidemark_export(), '$.sinks[0].failures');
SELECT tidemark_claim('own', 'logs');
SELECT tidemark_flush('logs');
SELECT tidemark_compact('logs') IS NOT NULL;
DROP TABLE logs;
ALTER TABLE logs RENAME TO renamed;

-- immutable: a copy on a medium that nobody writes to
.open test.db
PRAGMA wal_checkpoint(truncate);
.system cp test.db copy.db && chmod a-w copy.db
.open 'file:copy.db?immutable=1'
.load @MODULE@
SELECT since, body FROM logs ORDER BY since;
SELECT sink, partition, rows FROM tidemark_lag ORDER BY 1, 2;
SELECT tidemark_check('logs');
SELECT tidemark_export('archive');
INSERT INTO logs VALUES ('web', 'no');
.system ls
-- a tick of all sinks goes on with those of other schemas
ATTACH 'aux.db' AS aux;
CREATE VIRTUAL TABLE aux.also USING tidemark(body TEXT);
INSERT INTO aux.tidemark_sink(sink, dataset, target, format) VALUES ('also', 'also', 'file://@DIR@/archive', 'ndjson');
INSERT INTO aux.also VALUES ('one');
SELECT json_extract(tidemark_export(), '$.failed', '$.rows');
