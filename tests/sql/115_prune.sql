-- Retention: what is past its limits goes, oldest first; sinks hold it back; whoever is overtaken gets a gap.
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, ts TIMESTAMP_MS, body TEXT, partition_by=source, segment_rows=16);
INSERT INTO tidemark_sink(sink, dataset) VALUES ('archive', 'logs'), ('search', 'logs'), ('old', 'logs');
WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 30) INSERT INTO logs SELECT iif(n % 3, 'web', 'db'), 1000 * n, 'row ' || n FROM c;
-- a dataset without limits keeps everything
SELECT json_remove(tidemark_prune('logs'), '$.now');
-- archive has had 12 rows of web and all of db; search is away; old had some and was deleted
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) VALUES ('archive', 'logs', 'source=web', 0, 17, 12), ('archive', 'logs', 'source=db', 0, 30, 10), ('old', 'logs', 'source=db', 0, 9, 3);
UPDATE tidemark_sink SET state = 'disabled' WHERE sink = 'search';
DELETE FROM tidemark_sink WHERE sink = 'old';
SELECT tidemark_set('logs', 'retention_rows', 4);
-- before: what each sink has had, lost and has still to do is what was written
CREATE VIEW account AS SELECT s.sink, p.partition, coalesce((SELECT sum(rows + skipped + dead) FROM tidemark_export_log l WHERE l.sink = s.sink AND l.partition = p.partition AND kind = 'batch'), 0) AS delivered, coalesce((SELECT sum(rows) FROM tidemark_export_log l WHERE l.sink = s.sink AND l.partition = p.partition AND kind = 'gap'), 0) AS lost, coalesce((SELECT rows FROM tidemark_lag l WHERE l.sink = s.sink AND l.partition = p.partition), 0) AS to_do, p.written, p.deleted FROM tidemark_sink s JOIN tidemark_stat p USING (dataset);
SELECT *, delivered + lost + to_do = written AS proven FROM account ORDER BY sink, partition;
SELECT json_remove(tidemark_prune('logs', 'dry-run'), '$.stored_bytes', '$.now');
SELECT json_remove(tidemark_prune('logs'), '$.stored_bytes', '$.now');
SELECT *, delivered + lost + to_do = written AS proven FROM account ORDER BY sink, partition;
SELECT sink, partition, kind, since, until, rows, reason FROM tidemark_export_log ORDER BY id;
SELECT partition, rows, written, deleted, segments, tail_rows, first_since, last_since FROM tidemark_stat ORDER BY partition;
SELECT partition, first_since, last_since FROM tidemark_segment;
-- once more: archive still holds
SELECT j ->> 'rows', j ->> 'held_rows', j -> 'held' FROM (SELECT tidemark_prune('logs') AS j);
-- a cap: archive may hold five rows of a partition
UPDATE tidemark_sink SET hold_rows = 5 WHERE sink = 'archive';
SELECT j ->> 'rows', j ->> 'gaps', j ->> 'gap_rows', j ->> 'held_rows' FROM (SELECT tidemark_prune('logs') AS j);
SELECT sink, partition, since, until, rows FROM tidemark_export_log WHERE kind = 'gap' AND sink = 'archive';
SELECT since, body FROM logs WHERE source = 'web' ORDER BY since;
-- an open batch stays, whatever the cap, as long as somebody works on it
SELECT tidemark_claim('archive', 'logs');
UPDATE tidemark_sink SET hold_rows = 0 WHERE sink = 'archive';
SELECT tidemark_set('logs', 'retention_rows', 0) ->> 'retention_rows';
SELECT j ->> 'rows', j ->> 'held_rows' FROM (SELECT tidemark_prune('logs') AS j);
UPDATE tidemark_batch SET owner = NULL, lease_until = NULL, error = 'the disk is full';
SELECT j ->> 'rows', j ->> 'gaps' FROM (SELECT tidemark_prune('logs') AS j);
SELECT count(*) FROM tidemark_batch;
SELECT tidemark_ack(1);
SELECT count(*) FROM logs;
-- numbers go on, and so does a sink that comes back
INSERT INTO tidemark_sink(sink, dataset) VALUES ('old', 'logs');
UPDATE tidemark_sink SET state = 'active';
INSERT INTO logs VALUES ('db', 1000, 'new'), ('web', 2000, 'new');
SELECT since, source, body FROM logs ORDER BY since;
SELECT sink, partition, since, until, rows FROM tidemark_lag ORDER BY sink, partition;
SELECT *, delivered + lost + to_do = written AS proven FROM account WHERE sink <> 'old' ORDER BY sink, partition;
-- by age of a column; a row of the future keeps what is behind it, the answer names it, DELETE is the remedy
UPDATE tidemark_sink SET hold = 0;
SELECT tidemark_set('logs', 'retention_rows', NULL) -> 'retention_rows', tidemark_set('logs', 'retention_by', 'ts') ->> 'retention_by', tidemark_set('logs', 'retention_age', '90 days') ->> 'retention_age';
INSERT INTO logs VALUES ('db', 95617584000000, 'in the year 5000'), ('db', 3000, 'behind it');
SELECT j ->> 'rows', j -> 'future' FROM (SELECT tidemark_prune('logs') AS j);
SELECT since, body FROM logs;
DELETE FROM logs WHERE ts > 4102444800000;
SELECT j ->> 'rows', j -> 'future' FROM (SELECT tidemark_prune('logs') AS j);
SELECT sink, partition, delivered + lost + to_do AS accounted, written - deleted AS least, written AS most FROM account WHERE sink <> 'old' ORDER BY sink, partition;
-- inside a transaction it follows it
INSERT INTO logs VALUES ('web', 1, 'x'), ('web', 2, 'y');
BEGIN;
SELECT tidemark_prune('logs') ->> 'rows';
SELECT count(*) FROM logs;
ROLLBACK;
SELECT count(*) FROM logs;
-- what is refused
SELECT tidemark_prune('nowhere');
SELECT tidemark_prune('logs', 'now');
SELECT since, tidemark_prune('logs') FROM logs;
SELECT tidemark_set('logs', 'retention_age', 'for ever');
SELECT tidemark_set('logs', 'retention_rows', -1);
SELECT tidemark_set('logs', 'retention_by', 'body');
SELECT tidemark_set('logs', 'partition_by', 'body');
SELECT tidemark_check('logs');
