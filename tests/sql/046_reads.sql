-- What a query reads. Chunks are taken away to show it: what is not read is not missed. Plans: "list", what and op.
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, level TEXT, n INTEGER, r REAL, body TEXT, partition_by=source,
  segment_rows=16, autoflush=0);
WITH RECURSIVE i(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM i LIMIT 64)
  INSERT INTO logs SELECT iif(i % 2, 'a', 'b'), iif(i = 33, 'error', 'info'), i, i / 2.0, 'body ' || i FROM i;
SELECT tidemark_flush('logs') IS NOT NULL;
CREATE TABLE plain AS SELECT since, * FROM logs;
SELECT partition, first_since, last_since, rows FROM tidemark_segment ORDER BY 1, 2;

-- The newest rows first: no sorting, in one partition and in all; since IN a list goes upwards only.
EXPLAIN QUERY PLAN SELECT body FROM logs WHERE source = 'a' ORDER BY since DESC LIMIT 2;
EXPLAIN QUERY PLAN SELECT max(since) FROM logs;
EXPLAIN QUERY PLAN SELECT body FROM logs WHERE since IN (5, 7) ORDER BY since DESC;
SELECT since, body FROM logs WHERE source = 'a' ORDER BY since DESC LIMIT 2;
SELECT since, body FROM logs WHERE since <= 40 ORDER BY since DESC LIMIT 3;
SELECT since, body FROM logs WHERE since BETWEEN 30 AND 33 ORDER BY since DESC;
SELECT group_concat(since) FROM (SELECT since FROM logs WHERE since IN (5, 64, 7) ORDER BY since DESC);
DELETE FROM logs WHERE since IN (63, 62);
INSERT INTO logs(source, level, n) VALUES ('a', 'info', 65), ('b', 'info', 66);
SELECT since, n FROM logs ORDER BY since DESC LIMIT 4;
SELECT min(since), max(since) FROM logs WHERE source = 'b';
SELECT (SELECT group_concat(since) FROM (SELECT since FROM logs ORDER BY since DESC)) =
       (SELECT group_concat(since) FROM (SELECT since FROM plain WHERE since NOT IN (62, 63)
                                      UNION SELECT 65
                                      UNION SELECT 66 ORDER BY since DESC));

-- What predicates leave of the rows is what an ordinary table gives.
SELECT count(*) FROM logs WHERE level = 'error' AND n > 32.5 AND n <= 33 AND r >= 16.5 AND body IS NOT NULL;
SELECT count(*) FROM logs WHERE n < '10';
SELECT count(*) FROM logs WHERE r > 31.25;
SELECT count(*) FROM logs WHERE body IS NULL;
SELECT count(*) FROM logs WHERE level COLLATE NOCASE = 'ERROR';
SELECT count(*) FROM logs WHERE level < 'f';

-- Chunks by id, from that of since: ingested_at, source, level, n, r, body. Without since rows are counted all the
-- same, and read.
DELETE FROM logs WHERE since > 64;
CREATE TEMP TABLE first AS SELECT chunk AS c FROM logs_segment WHERE first_since = 1;
DELETE FROM logs_chunk WHERE id = (SELECT c FROM first);
SELECT count(*), sum(n) FROM logs WHERE source = 'a' AND n < 40;
SELECT max(since) FROM logs WHERE source = 'a' AND n < 40;
-- A column not asked for is not read, and of a frame of which a predicate leaves no row, none but the predicate's.
DELETE FROM logs_chunk WHERE id = (SELECT c + 6 FROM first);
SELECT count(*) FROM logs WHERE source = 'a' AND r > 3;
SELECT since, body FROM logs WHERE source = 'a' AND level = 'error';
SELECT body FROM logs WHERE source = 'a' AND n = 20;
SELECT body FROM logs WHERE source = 'a' AND n = 19;
-- From above, what lies below the rows that are asked for is not read.
SELECT since, body FROM logs WHERE source = 'a' ORDER BY since DESC LIMIT 1;

-- A number is one row's: when it was found in one partition, those behind it are not read.
CREATE VIRTUAL TABLE numbers USING tidemark(source TEXT, n INTEGER, partition_by=source);
INSERT INTO numbers VALUES ('a', 1), ('b', 2), ('a', 3), ('b', 4);
SELECT tidemark_flush('numbers') IS NOT NULL;
DELETE FROM numbers_chunk WHERE id = (SELECT max(chunk) FROM numbers_segment);
SELECT n FROM numbers WHERE since = 3;
SELECT n FROM numbers WHERE since = 2;
SELECT n FROM numbers WHERE since BETWEEN 2 AND 3;

-- Frames are of 4,096 rows. The second one's n is damaged: who asks for n that only the first has does not read it.
CREATE VIRTUAL TABLE more USING tidemark(n INTEGER, r REAL);
WITH RECURSIVE i(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM i LIMIT 5000)
  INSERT INTO more SELECT i * 7 % 4000 + i / 4097 * 10000, i FROM i;
SELECT tidemark_flush('more') IS NOT NULL;
UPDATE more_chunk SET data = CAST(substr(data, 1, length(data) - 1) || x'55' AS BLOB)
  WHERE id = (SELECT chunk + 2 FROM more_segment);
SELECT count(*), min(r), max(r) FROM more WHERE n < 100;
SELECT count(*) FROM more WHERE n BETWEEN 4000 AND 9999;
SELECT count(*) FROM more WHERE n > 10000;

-- Integers beyond 2^53 beside reals: no real is left out because an integer was rounded.
CREATE VIRTUAL TABLE far USING tidemark(v REAL);
CREATE TABLE far_twin(v REAL);
INSERT INTO far_twin VALUES (9007199254740990.0), (9007199254740991.0), (9007199254740992.0), (9007199254740994.0),
  (9007199254740996.0), (-9007199254740990.0), (-9007199254740992.0), (-9007199254740994.0), (-9007199254740996.0);
INSERT INTO far SELECT v FROM far_twin;
SELECT tidemark_flush('far') ->> 'rows';
CREATE TABLE asked(x INTEGER);
INSERT INTO asked VALUES (9007199254740991), (9007199254740992), (9007199254740993), (9007199254740995),
  (9007199254740997), (9223372036854775807);
INSERT INTO asked SELECT -x FROM asked;
SELECT count(*) FROM far WHERE v > 9007199254740995;
SELECT x FROM asked WHERE (SELECT count(*) FROM far WHERE v > x) <> (SELECT count(*) FROM far_twin WHERE v > x)
  OR (SELECT count(*) FROM far WHERE v >= x) <> (SELECT count(*) FROM far_twin WHERE v >= x)
  OR (SELECT count(*) FROM far WHERE v < x) <> (SELECT count(*) FROM far_twin WHERE v < x)
  OR (SELECT count(*) FROM far WHERE v <= x) <> (SELECT count(*) FROM far_twin WHERE v <= x)
  OR (SELECT count(*) FROM far WHERE v = x) <> (SELECT count(*) FROM far_twin WHERE v = x);
