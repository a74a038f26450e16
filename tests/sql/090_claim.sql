-- Claim, ship by hand, ack.
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source);
INSERT INTO logs VALUES ('web', 'one'), ('db', 'two'), ('web', 'three');
INSERT INTO tidemark_sink(sink, dataset) VALUES ('hand', 'logs');
SELECT tidemark_claim('hand', 'logs');
SELECT sink, dataset, partition, generation, since, until, rows, attempts FROM tidemark_batch ORDER BY partition;
-- a second claim finds the same batches, whatever came since
INSERT INTO logs VALUES ('web', 'four');
SELECT tidemark_claim('hand', 'logs');
SELECT partition, since, until, rows FROM tidemark_batch ORDER BY partition;
SELECT l.since, l.body FROM tidemark_batch b JOIN logs l ON l.partition = b.partition AND l.since > b.since AND l.since <= b.until ORDER BY 1;
-- a row that crosses an open batch is refused, so is deleting what it covers
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) VALUES ('hand', 'logs', 'source=web', 0, 1, 1);
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) VALUES ('hand', 'logs', 'source=web', 0, 4, 3);
DELETE FROM logs WHERE since = 1;
-- ack ends it, in a statement of its own (a script that is written, then read); a second ack of the same batch changes nothing, one of an unknown batch is refused
.echo off
.once ack.sql
SELECT format('SELECT tidemark_ack(%d, ''by hand'', 17) IS NOT NULL;', batch) FROM tidemark_batch WHERE partition = 'source=web';
.echo on
.read ack.sql
SELECT partition, since, until, rows FROM tidemark_batch ORDER BY partition;
.read ack.sql
SELECT tidemark_ack(1000000);
SELECT partition, kind, since, until, rows, bytes, object FROM tidemark_export_log ORDER BY id;
SELECT partition, since, until, rows FROM tidemark_lag ORDER BY partition;
-- a row that equals the open batch ends it
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) SELECT sink, dataset, partition, since, until, rows FROM tidemark_batch;
SELECT count(*) FROM tidemark_batch;
SELECT partition, since FROM tidemark_watermark ORDER BY partition;
-- a batch given up is claimed again, from the same watermark to what is newest then
SELECT tidemark_claim('hand', 'logs');
INSERT INTO logs VALUES ('web', 'five');
DELETE FROM tidemark_batch;
SELECT tidemark_claim('hand', 'logs');
SELECT partition, since, until, rows FROM tidemark_batch;
-- deleting the sink takes its batches along and keeps its log; registered again it goes on
DELETE FROM tidemark_sink WHERE sink = 'hand';
SELECT count(*) FROM tidemark_batch;
SELECT count(*) FROM tidemark_export_log;
INSERT INTO tidemark_sink(sink, dataset) VALUES ('hand', 'logs');
SELECT partition, since, until, rows FROM tidemark_lag WHERE rows > 0;
-- nothing to claim is no batch
DELETE FROM tidemark_sink;
INSERT INTO tidemark_sink(sink, dataset, start) VALUES ('late', 'logs', 'latest');
SELECT tidemark_claim('late', 'logs');
SELECT count(*) FROM tidemark_batch;
-- inside a transaction, or in a statement that reads a table, a claim would not be durable
BEGIN;
SELECT tidemark_claim('late', 'logs');
SELECT count(*) FROM logs;
SELECT tidemark_claim('late', 'logs');
SELECT tidemark_ack(1);
COMMIT;
SELECT tidemark_claim(sink, dataset) FROM tidemark_sink;
SELECT tidemark_ack(batch) FROM (SELECT 1 AS batch FROM tidemark_sink);
-- neither for a sink that has a target, nor for one that is paused, nor without names
.system mkdir away
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('shipped', 'logs', 'file://@DIR@/away', 'ndjson');
SELECT tidemark_claim('shipped', 'logs');
UPDATE tidemark_sink SET state = 'paused' WHERE sink = 'late';
SELECT tidemark_claim('late', 'logs');
SELECT tidemark_claim('late', NULL);
SELECT tidemark_claim(NULL, 'logs');
-- what an ack tells is looked at before anything is written
UPDATE tidemark_sink SET state = 'active' WHERE sink = 'late';
INSERT INTO logs VALUES ('web', 'six');
SELECT tidemark_claim('late', 'logs') > 0;
SELECT tidemark_ack((SELECT max(batch) FROM tidemark_batch), 'object', -1);
SELECT tidemark_ack((SELECT max(batch) FROM tidemark_batch), 'object', 'many');
SELECT count(*) FROM tidemark_batch;
-- the bounds that a query gave are in the lag's hidden columns
SELECT rows, max_rows, max_until FROM tidemark_lag WHERE sink = 'late' AND partition = 'source=web' AND max_rows = 5;
SELECT rows, max_rows, max_until > 0 FROM tidemark_lag WHERE sink = 'late' AND partition = 'source=web' AND max_until = 9223372036854775807;
-- an ack by a number that two attached files have open
ATTACH '@DIR@/twin.db' AS twin;
CREATE VIRTUAL TABLE twin.logs USING tidemark(source TEXT, body TEXT, partition_by=source);
INSERT INTO twin.tidemark_sink(sink, dataset) VALUES ('elsewhere', 'logs');
INSERT INTO twin.logs VALUES ('web', 'one');
SELECT tidemark_claim('elsewhere', 'logs') > 0;
UPDATE main.tidemark_batch SET batch = 99;
UPDATE twin.tidemark_batch SET batch = 99;
SELECT tidemark_ack(99);
SELECT (SELECT count(*) FROM main.tidemark_batch), (SELECT count(*) FROM twin.tidemark_batch);
