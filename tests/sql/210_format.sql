-- A dataset of a newer format is refused in words, wherever it is met, and left as it is; others beside it work.
CREATE VIRTUAL TABLE logs USING tidemark(x);
CREATE VIRTUAL TABLE other USING tidemark(x);
INSERT INTO logs VALUES (1);
INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'logs'), ('s', 'other');
SELECT value FROM logs_config WHERE key = 'format';
UPDATE logs_config SET value = 3 WHERE key = 'format';
SELECT * FROM logs;
.open test.db
.load @MODULE@
SELECT * FROM logs;
INSERT INTO logs VALUES (2);
DELETE FROM logs;
DROP TABLE logs;
ALTER TABLE logs RENAME TO events;
SELECT tidemark_flush('logs');
SELECT tidemark_check('logs');
SELECT tidemark_add_column('logs', 'y');
SELECT tidemark_claim('s', 'logs');
SELECT count(*) FROM tidemark_lag WHERE dataset = 'logs';
SELECT count(*) FROM tidemark_stat;
UPDATE tidemark_sink SET max_rows = 5 WHERE dataset = 'logs';
INSERT INTO other VALUES (1);
SELECT x FROM other;
SELECT tidemark_flush('other') ->> 'rows', tidemark_claim('s', 'other');
SELECT count(*) FROM logs_tail;
UPDATE logs_config SET value = 2 WHERE key = 'format';
.open test.db
.load @MODULE@
SELECT * FROM logs;
SELECT tidemark_check('logs');

-- A dataset of format 1 becomes one of format 2 with its first segment of that format, and in the same transaction.
UPDATE logs_config SET value = 1 WHERE key = 'format';
.open test.db
.load @MODULE@
INSERT INTO logs VALUES (2);
SELECT value FROM logs_config WHERE key = 'format';
BEGIN;
SELECT tidemark_flush('logs') ->> 'segments';
SELECT value FROM logs_config WHERE key = 'format';
ROLLBACK;
SELECT value FROM logs_config WHERE key = 'format';
SELECT tidemark_flush('logs') ->> 'segments';
SELECT value FROM logs_config WHERE key = 'format';
SELECT * FROM logs;
