-- Batches of the tail that are large enough are packed. A dataset of format 1 is marked as one of format 2 before.
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, n INTEGER, body TEXT, partition_by=source, autoflush=0);
UPDATE logs_config SET value = 1 WHERE key = 'format';
INSERT INTO logs VALUES ('web', 1, 'small');
SELECT value FROM logs_config WHERE key = 'format';
BEGIN;
INSERT INTO logs SELECT 'web', value, printf('GET /page/%d took %d ms', value, value % 7) FROM generate_series(2, 501);
SELECT count(*), max(n) FROM logs;
SELECT value FROM logs_config WHERE key = 'format';
ROLLBACK;
SELECT value FROM logs_config WHERE key = 'format';
INSERT INTO logs SELECT 'web', value, printf('GET /page/%d took %d ms', value, value % 7) FROM generate_series(2, 501);
INSERT INTO logs SELECT 'db', value, printf('query %d took %d ms', value, value % 7) FROM generate_series(502, 601);
INSERT INTO logs SELECT 'noise', value, randomblob(3000) || 'x' FROM generate_series(602, 603);
SELECT value FROM logs_config WHERE key = 'format';
SELECT last_since, rows, hex(substr(data, 1, 1)) AS version FROM logs_tail;
-- stored as they are there, raw as the rows would be
SELECT partition, tail_rows, raw_bytes > 2 * stored_bytes AS packed,
    stored_bytes = (SELECT sum(length(data)) FROM logs_tail t JOIN logs_partition p ON p.id = t.partition
      WHERE p.name = s.partition) AS stored
  FROM tidemark_stat s;
SELECT count(*), sum(n), sum(body = printf('GET /page/%d took %d ms', n, n % 7)) FROM logs WHERE source = 'web';
SELECT since, n, body FROM logs WHERE source = 'db' AND since > 599;
SELECT since, body FROM logs WHERE since IN (3, 501) ORDER BY since DESC;
SELECT tidemark_check('logs');
DELETE FROM logs WHERE n % 100 = 0;
SELECT tidemark_check('logs');
INSERT INTO tidemark_sink(sink, dataset) VALUES ('mine', 'logs');
SELECT partition, rows, bytes > 20 * rows AS raw FROM tidemark_lag WHERE max_rows = 50;
SELECT tidemark_set('logs', 'retention_rows', 300);
SELECT tidemark_prune('logs') ->> 'rows';
UPDATE tidemark_sink SET state = 'disabled';
SELECT tidemark_prune('logs') ->> 'rows';
SELECT partition, rows, tail_rows, deleted FROM tidemark_stat;
SELECT tidemark_flush('logs') ->> 'rows';
SELECT tidemark_check('logs');
SELECT count(*), sum(n), sum(body = printf('GET /page/%d took %d ms', n, n % 7)) FROM logs WHERE source = 'web';
-- one that is damaged
INSERT INTO logs SELECT 'db', value, printf('query %d took %d ms', value, value % 7) FROM generate_series(502, 601);
UPDATE logs_tail SET data = CAST(substr(data, 1, 100) || X'ff' || substr(data, 102) AS BLOB);
SELECT count(body) FROM logs WHERE source = 'db';
SELECT tidemark_check('logs');
-- what a trigger on the table reads of another dataset does not disturb a batch that is being written
CREATE VIRTUAL TABLE read_by_trigger USING tidemark(n INTEGER, body TEXT, autoflush=0);
CREATE VIRTUAL TABLE written USING tidemark(n INTEGER, body TEXT, autoflush=0);
INSERT INTO read_by_trigger SELECT value, printf('GET /page/%d took %d ms', value, value % 7) FROM generate_series(1, 20000);
CREATE TRIGGER disturbs BEFORE INSERT ON written_tail BEGIN SELECT count(body) FROM read_by_trigger; END;
INSERT INTO written SELECT value, printf('POST /form/%d took %d ms', value, value % 7) FROM generate_series(1, 30000);
SELECT count(*), sum(n), sum(body = printf('POST /form/%d took %d ms', n, n % 7)) FROM written;
SELECT tidemark_check('written');
-- nor can it read the dataset itself, whose rows it would write again and again
CREATE VIRTUAL TABLE itself USING tidemark(n INTEGER, autoflush=0);
CREATE TRIGGER again BEFORE INSERT ON itself_tail BEGIN SELECT count(*) FROM itself; END;
INSERT INTO itself VALUES (1);
DROP TRIGGER again;
INSERT INTO itself VALUES (2);
SELECT since, n FROM itself;
