-- tidemark_check holds what the tables say against the rows, and every sink's log against both: 'ok', or what is wrong.
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT NOT NULL, body TEXT, partition_by=source);
SELECT tidemark_check('logs');
INSERT INTO tidemark_sink(sink, dataset) VALUES ('mine', 'logs');
INSERT INTO logs VALUES ('web', 'one'), ('web', 'two'), ('db', 'three'), ('web', 'four');
SELECT json_valid(tidemark_flush('logs'));
INSERT INTO logs VALUES ('web', 'five'), ('mail', 'six');
DELETE FROM logs WHERE body IN ('two', 'five');
SELECT tidemark_check('logs'), tidemark_check('main.logs'), tidemark_check('LOGS');
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)
  SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag WHERE rows > 0;
SELECT tidemark_check('logs');
-- it writes nothing, and sees the transaction it is in
CREATE TEMP TABLE seen AS SELECT 0 AS n;
UPDATE seen SET n = total_changes() + 1;
SELECT tidemark_check('logs'), total_changes() - n FROM seen;
BEGIN;
INSERT INTO logs VALUES ('web', 'seven');
SELECT tidemark_check('logs');
UPDATE logs_partition SET written = 9 WHERE name = 'source=web';
SELECT tidemark_check('logs');
ROLLBACK;
SELECT tidemark_check('logs');
-- damage to what a row is made of
UPDATE logs_chunk SET data = zeroblob(length(data)) WHERE id = 4;
DELETE FROM logs_chunk WHERE id = 8;
SELECT tidemark_check('logs');
SELECT body FROM logs;
-- to what is counted, and to what a sink had
DROP TRIGGER tidemark_export_log_update;
UPDATE tidemark_export_log SET since = 1, rows = 17 WHERE partition = 'source=mail';
UPDATE logs_segment SET level = 99 WHERE partition = 2;
INSERT INTO logs_deleted VALUES (99, 3);
INSERT INTO logs_chunk VALUES (1000, x'00');
SELECT tidemark_check('logs');
UPDATE logs_config SET value = 'many' WHERE key = 'seals';
SELECT tidemark_check('logs');
SELECT tidemark_check('nothing');
