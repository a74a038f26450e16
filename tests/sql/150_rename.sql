-- Names of every kind, and ALTER TABLE ... RENAME with everything that follows it.
.system mkdir archive
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source);
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('archive', 'logs', 'file://@DIR@/archive', 'ndjson');
INSERT INTO tidemark_sink(sink, dataset) VALUES ('own', 'logs');
INSERT INTO logs VALUES ('web', '1'), ('db', '2'), ('web', '3');
SELECT json_extract(tidemark_export('archive'), '$.rows'), tidemark_claim('own', 'logs');
CREATE TEMP TABLE before AS SELECT log_id FROM tidemark_dataset;

-- the sinks, their batches, log and rules follow; the archive's folder does not move
ALTER TABLE logs RENAME TO "a ""b'c.d; -- é %s select";
SELECT dataset, log_id = (SELECT log_id FROM before), rows FROM tidemark_dataset;
SELECT sink, dataset FROM tidemark_sink UNION ALL SELECT sink, dataset FROM tidemark_watermark UNION ALL
  SELECT sink, dataset FROM tidemark_batch UNION ALL SELECT sink, dataset FROM tidemark_sink_state ORDER BY 1, 2;
SELECT name FROM sqlite_schema WHERE name LIKE 'logs%';
INSERT INTO "a ""b'c.d; -- é %s select" VALUES ('web', '4');
SELECT json_extract(tidemark_export('archive'), '$.rows');
SELECT DISTINCT substr(object, 1, 16) FROM tidemark_export_log;
SELECT json_extract(tidemark_flush('a "b''c.d; -- é %s select'), '$.rows') AS flushed;
DELETE FROM "a ""b'c.d; -- é %s select" WHERE since = 2;
DELETE FROM tidemark_batch WHERE partition = 'source=db';
DELETE FROM "a ""b'c.d; -- é %s select" WHERE since = 2;
SELECT json_extract(tidemark_compact('main.a "b''c.d; -- é %s select'), '$.dropped') AS dropped;
SELECT since, body FROM "a ""b'c.d; -- é %s select" ORDER BY since;
SELECT tidemark_check('a "b''c.d; -- é %s select');

-- and back, over keywords, other scripts and 200 characters
ALTER TABLE "a ""b'c.d; -- é %s select" RENAME TO "select";
ALTER TABLE "select" RENAME TO [журнал 日誌];
SELECT count(*) FROM [журнал 日誌];
ALTER TABLE [журнал 日誌] RENAME TO nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn;
SELECT length(dataset), rows FROM tidemark_dataset;
ALTER TABLE nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn RENAME TO logs;
INSERT INTO logs VALUES ('web', '5');
SELECT json_extract(tidemark_export('archive'), '$.rows');
SELECT tidemark_check('logs');

-- names that are taken
CREATE TABLE n_chunk(mine); CREATE VIEW v_tail AS SELECT 1; CREATE VIRTUAL TABLE x_tail USING tidemark(a);
ALTER TABLE logs RENAME TO n;
ALTER TABLE logs RENAME TO v;
ALTER TABLE logs RENAME TO x;
ALTER TABLE logs RENAME TO n_chunk;
ALTER TABLE logs RENAME TO logs_tail;
ALTER TABLE logs RENAME TO LOGS;
ALTER TABLE logs RENAME TO tidemark_logs;
CREATE VIRTUAL TABLE Logs USING tidemark(a);
CREATE VIRTUAL TABLE x USING tidemark(a);
CREATE VIRTUAL TABLE logs_segment USING tidemark(a);
-- in a transaction such a refusal leaves nothing behind either
BEGIN; INSERT INTO logs VALUES ('web', '6');
ALTER TABLE logs RENAME TO n;
INSERT INTO logs VALUES ('web', '7'); COMMIT;
SELECT dataset, last_since, rows FROM tidemark_dataset;
SELECT name FROM sqlite_schema WHERE name LIKE 'n\_%' ESCAPE '\';
DROP TABLE n_chunk; DROP VIEW v_tail; DROP TABLE x_tail;

-- with rows in memory, rolled back and committed
BEGIN; INSERT INTO logs VALUES ('db', '8'); ALTER TABLE logs RENAME TO other; INSERT INTO other VALUES ('db', '9');
SELECT group_concat(body) FROM other;
SELECT json_extract(tidemark_flush('other'), '$.rows');
ROLLBACK;
SELECT group_concat(body) FROM logs;
SELECT * FROM other;
SAVEPOINT a; INSERT INTO logs VALUES ('db', 'a'); SAVEPOINT b; ALTER TABLE logs RENAME TO other;
INSERT INTO other VALUES ('db', 'b'); ROLLBACK TO b; INSERT INTO logs VALUES ('db', 'c'); RELEASE a;
BEGIN; INSERT INTO logs VALUES ('db', 'd'); ALTER TABLE logs RENAME TO other; INSERT INTO other VALUES ('db', 'e');
ALTER TABLE other RENAME TO logs; INSERT INTO logs VALUES ('db', 'f'); COMMIT;
SELECT since, body FROM logs WHERE source = 'db' ORDER BY since;
SELECT json_extract(tidemark_export('archive'), '$.rows');
SELECT tidemark_check('logs');

-- triggers and views of the user's
CREATE TABLE src(a);
CREATE TRIGGER src_logged AFTER INSERT ON src BEGIN INSERT INTO logs VALUES ('src', NEW.a); END;
CREATE VIEW bodies AS SELECT body FROM logs WHERE source = 'src';
ALTER TABLE logs RENAME TO "new logs";
INSERT INTO src VALUES ('by trigger');
SELECT * FROM bodies;
SELECT sql FROM sqlite_schema WHERE name IN ('bodies', 'src_logged');
ALTER TABLE "new logs" RENAME TO logs;

-- DROP takes everything along, also with batches open; rolled back, nothing
SELECT tidemark_claim('own', 'logs');
BEGIN; INSERT INTO logs VALUES ('web', 'gone'); DROP TABLE logs; CREATE VIRTUAL TABLE logs USING tidemark(z);
INSERT INTO logs VALUES ('another'); SELECT * FROM logs; ROLLBACK;
SELECT log_id = (SELECT log_id FROM before), last_since FROM tidemark_dataset;
SELECT count(*) FROM tidemark_batch;
SELECT tidemark_check('logs');
DROP VIEW bodies; DROP TRIGGER src_logged;
DROP TABLE logs;
SELECT (SELECT count(*) FROM tidemark_sink) + (SELECT count(*) FROM tidemark_batch) + (SELECT count(*) FROM
  tidemark_export_log) + (SELECT count(*) FROM tidemark_sink_state) + (SELECT count(*) FROM tidemark_registry);
SELECT name FROM sqlite_schema WHERE name LIKE 'logs%';
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source);
INSERT INTO logs VALUES ('web', 'first');
SELECT since, body FROM logs;
SELECT log_id = (SELECT log_id FROM before) FROM tidemark_dataset;
SELECT * FROM tidemark_sink;
