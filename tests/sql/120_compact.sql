-- Compaction: small segments become big ones, deleted rows go for good, rows stay what they were.
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, n INTEGER, body ANY, partition_by=source, segment_rows=64);
INSERT INTO logs VALUES ('web', 1, 'one'), ('db', 2, x'02');
SELECT json_valid(tidemark_flush('logs'));
INSERT INTO logs VALUES ('web', 3, 3.5), ('db', 4, NULL);
SELECT json_valid(tidemark_flush('logs'));
INSERT INTO logs VALUES ('web', 5, 5), ('db', 6, '');
SELECT json_valid(tidemark_flush('logs'));
INSERT INTO logs VALUES ('web', 7, 'in the tail');
DELETE FROM logs WHERE n IN (3, 6);
SELECT partition, first_since, last_since, rows, deleted, revision FROM tidemark_segment;
SELECT json_remove(tidemark_compact('logs'), '$.stored_in', '$.stored_out', '$.now');
SELECT partition, first_since, last_since, rows, deleted, revision FROM tidemark_segment;
SELECT partition, rows, written, deleted, segments, tail_rows FROM tidemark_stat;
SELECT since, partition, n, typeof(body), quote(body) FROM logs ORDER BY since;
SELECT count(*) FROM logs_deleted;
-- with nothing to do it writes nothing, however often it is asked
CREATE TEMP TABLE seen AS SELECT total_changes() AS n;
UPDATE seen SET n = total_changes() + 1;
SELECT json_remove(tidemark_compact('logs'), '$.now.stored_bytes');
SELECT tidemark_compact('main.logs', NULL) = tidemark_compact('logs', 1);
SELECT total_changes() - n FROM seen;
-- a bounded amount a call: one run in any case
INSERT INTO logs VALUES ('web', 8, ''), ('db', 9, '');
SELECT json_valid(tidemark_flush('logs'));
SELECT j ->> 'runs', j ->> 'segments_in', j ->> 'segments_out', j ->> 'more' FROM (SELECT tidemark_compact('logs', 1) AS j);
SELECT j ->> 'runs', j ->> 'segments_in', j ->> 'segments_out', j ->> 'more' FROM (SELECT tidemark_compact('logs', 1) AS j);
SELECT j ->> 'runs', j ->> 'more' FROM (SELECT tidemark_compact('logs', 1) AS j);
SELECT partition, first_since, last_since, rows, revision FROM tidemark_segment;
-- inside a transaction it follows it
BEGIN;
DELETE FROM logs WHERE source = 'web';
SELECT j ->> 'segments_in', j ->> 'segments_out', j ->> 'dropped' FROM (SELECT tidemark_compact('logs') AS j);
SELECT partition, segments FROM tidemark_stat;
ROLLBACK;
SELECT partition, segments FROM tidemark_stat;
SELECT group_concat(n) FROM (SELECT n FROM logs ORDER BY since);
-- refused
SELECT tidemark_compact();
SELECT tidemark_compact('nothing');
SELECT tidemark_compact(NULL);
SELECT tidemark_compact('logs', 0);
SELECT tidemark_compact('logs', -1);
SELECT tidemark_compact('logs', '64');
SELECT tidemark_compact('logs', 1.5);
SELECT tidemark_compact('logs', 1, 2);
-- under a cursor of the same connection
SELECT tidemark_compact('logs') FROM logs;
CREATE VIEW sly AS SELECT tidemark_compact('logs');
SELECT * FROM sly;
