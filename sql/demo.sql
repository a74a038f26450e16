-- A log, and sinks that read only what is new. sql/demo.sh runs this on demo.db in a folder that holds tidemark.so,
-- demo_tick.sql, logs.ndjson (one JSON object a line) and the empty folders archive, alarms and lake.
.bail on
.headers on
.mode column
.load ./tidemark

.print == 1. A log in partitions, and four sinks
CREATE VIRTUAL TABLE logs USING tidemark(
  source TEXT NOT NULL, ts TIMESTAMP_MS, level TEXT, component TEXT, body TEXT, attrs JSON,
  partition_by=source, segment_rows=4096);

-- Three write files: all of the log, compressed; its warnings and errors as plain lines; and all of it as Parquet, which
-- is a Delta Lake table too. A target is an absolute URL, here made from the place of this database; since goes along so
-- that the files can be held against the records at the end.
INSERT INTO tidemark_sink(sink, dataset, target, format, columns, filter, options)
  WITH here(url) AS (
    SELECT 'file://' || replace(replace(rtrim(file, replace(file, '/', '')), '%', '%25'), ' ', '%20')
      FROM pragma_database_list WHERE name = 'main')
  SELECT 'archive', 'logs', url || 'archive', 'ndjson.zst',
         '["since", "source", "ts", "level", "component", "body", "attrs"]', NULL, NULL FROM here
  UNION ALL
  SELECT 'alarms', 'logs', url || 'alarms', 'ndjson',
         '["since", "source", "ts", "level", "body"]', 'level IN (''warn'', ''error'')', NULL FROM here
  UNION ALL
  SELECT 'lake', 'logs', url || 'lake', 'parquet', NULL, NULL, '{"table": "delta"}' FROM here;

-- The fourth stays in the database: a count by hour and source.
CREATE TABLE hourly(hour INTEGER, source TEXT, n INTEGER, PRIMARY KEY(hour, source));
INSERT INTO tidemark_sink(sink, dataset) VALUES ('hourly', 'logs');
SELECT sink, dataset, coalesce(format, 'plain SQL') AS format, coalesce(filter, '') AS filter FROM tidemark_sink;

.print
.print == 2. The first 20,000 records, in two batches, and a tick
CREATE TEMP TABLE raw(line TEXT);
-- ASCII mode takes quotes and tabs as they are: one line is one value.
.mode ascii
.separator "\037" "\n"
.import logs.ndjson raw
.mode column
INSERT INTO logs
  SELECT line ->> 'source', line ->> 'ts', line ->> 'level', line ->> 'component', line ->> 'body', line -> 'attrs'
    FROM raw WHERE rowid <= 10000 ORDER BY rowid;
INSERT INTO logs
  SELECT line ->> 'source', line ->> 'ts', line ->> 'level', line ->> 'component', line ->> 'body', line -> 'attrs'
    FROM raw WHERE rowid > 10000 AND rowid <= 20000 ORDER BY rowid;
SELECT partition, sum(rows) FILTER (WHERE sink = 'archive') AS "archive lacks", sum(rows) FILTER (WHERE sink = 'hourly')
  AS "hourly lacks" FROM tidemark_lag GROUP BY partition;
-- The newest 1,000 rows of each source are to be kept here. Rows that a sink has not had yet stay all the same.
SELECT tidemark_set('logs', 'retention_rows', 1000) ->> 'retention_rows' AS "rows kept of each source";
WITH prune(did) AS MATERIALIZED (SELECT tidemark_prune('logs'))
SELECT did ->> 'rows' AS pruned, did ->> 'held_rows' AS held,
       (SELECT group_concat(value ->> 'sink', ' ') FROM json_each(did, '$.held')) AS by FROM prune;
.read demo_tick.sql

.print
.print == 3. Retention and compaction: what all sinks have may go, what stays is packed tighter
WITH prune(did) AS MATERIALIZED (SELECT tidemark_prune('logs'))
SELECT did ->> 'rows' AS pruned, did ->> 'segments' AS "segments dropped", did ->> 'held_rows' AS held,
       did ->> '$.now.rows' AS "rows left" FROM prune;
WITH compact(did) AS MATERIALIZED (SELECT tidemark_compact('logs'))
SELECT did ->> 'segments_in' AS "segments read", did ->> 'segments_out' AS written, did ->> 'dropped' AS "rows dropped",
       did ->> 'stored_in' AS "bytes before", did ->> 'stored_out' AS "and after" FROM compact;

.print
.print == 4. The other 8,935 records and a tick: only they leave
INSERT INTO logs
  SELECT line ->> 'source', line ->> 'ts', line ->> 'level', line ->> 'component', line ->> 'body', line -> 'attrs'
    FROM raw WHERE rowid > 20000 ORDER BY rowid;
.read demo_tick.sql

.print
.print == 5. What a timer calls: seal, prune, compact, trim, a bounded amount of each
WITH done(d) AS MATERIALIZED (SELECT tidemark_maintain('logs') -> '$.datasets[0]')
SELECT d ->> '$.sealed.rows' AS sealed, d ->> '$.pruned.rows' AS pruned, d ->> '$.compacted.rows' AS compacted,
       d ->> '$.now.rows' AS "rows left", d ->> 'more' AS more FROM done;

.print
.print == 6. An idle tick writes nothing: checksums and sizes before and after
.system cksum demo.db && cat $(find archive alarms lake -type f | sort) | cksum
.read demo_tick.sql
.system cksum demo.db && cat $(find archive alarms lake -type f | sort) | cksum
.print A thousand more of the file sinks at once:
.timer on
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
  SELECT count(tidemark_export()) AS ticks FROM n;
.timer off

.print
.print == 7. How things stand
SELECT written AS "rows written", pruned, rows AS "rows left", (SELECT sum(segments) FROM tidemark_stat) AS segments,
       tail_rows AS "in the tail", (SELECT sum(stored_bytes) FROM tidemark_stat) AS "bytes here", tidemark_check('logs') AS "check"
  FROM tidemark_dataset;
.print
SELECT s.sink, sum(e.rows) AS exported, sum(e.skipped) AS filtered, count(e.object) AS files, sum(e.bytes) AS bytes,
       (SELECT sum(rows) FROM tidemark_lag WHERE sink = s.sink) AS lag
  FROM tidemark_sink s JOIN tidemark_export_log e USING (sink, dataset) GROUP BY 1;

.print
.print == 8. The proof, from the files: each record left exactly once
.system zstd -dqr --output-dir-mirror readback archive/logs
-- A file is lines of JSON: with commas for the line ends and brackets around, it is one array.
CREATE TEMP TABLE gone AS
  SELECT f.name, l.value AS line, l.value ->> 'since' AS since FROM fsdir('readback') f,
    json_each('[' || replace(rtrim(CAST(f.data AS TEXT), char(10)), char(10), ',') || ']') l
   WHERE f.name LIKE '%.ndjson'
  UNION ALL
  SELECT f.name, l.value, l.value ->> 'since' FROM fsdir('alarms') f,
    json_each('[' || replace(rtrim(CAST(f.data AS TEXT), char(10)), char(10), ',') || ']') l
   WHERE f.name LIKE '%.ndjson';
CREATE TEMP VIEW sent AS
  SELECT rowid AS since, line ->> 'source', line ->> 'ts', line ->> 'level', line ->> 'component', line ->> 'body',
         json(line -> 'attrs') FROM raw;
CREATE TEMP VIEW archived AS
  SELECT since, line ->> 'source', line ->> 'ts', line ->> 'level', line ->> 'component', line ->> 'body',
         json(line -> 'attrs') FROM gone WHERE name LIKE 'readback/%';
CREATE TEMP VIEW alarmed AS
  SELECT since, line ->> 'source', line ->> 'ts', line ->> 'level', line ->> 'body' FROM gone WHERE name LIKE 'alarms/%';
CREATE TEMP VIEW alarming AS
  SELECT rowid, line ->> 'source', line ->> 'ts', line ->> 'level', line ->> 'body' FROM raw
   WHERE line ->> 'level' IN ('warn', 'error');
CREATE TEMP TABLE proof(what TEXT, found INTEGER, expected INTEGER);
INSERT INTO proof VALUES
  ('records loaded', (SELECT count(*) FROM raw), 28935),
  ('rows written to the log', (SELECT written FROM tidemark_dataset), 28935),
  ('rows left in it', (SELECT count(*) FROM logs), (SELECT written - pruned FROM tidemark_dataset)),
  ('newest rows of each source', (SELECT count(*) FROM logs), (SELECT sum(min(n, 1000)) FROM
    (SELECT count(*) AS n FROM raw GROUP BY line ->> 'source'))),
  ('records that are not what is left', (SELECT count(*) FROM (
    SELECT since, source, ts, level, component, body, json(attrs) FROM logs EXCEPT SELECT * FROM sent)), 0),
  ('lines in the archive', (SELECT count(*) FROM archived), 28935),
  ('different since among them', (SELECT count(DISTINCT since) FROM archived), 28935),
  ('records that are not in the archive', (SELECT count(*) FROM (SELECT * FROM sent EXCEPT SELECT * FROM archived)), 0),
  ('archived lines that were no record', (SELECT count(*) FROM (SELECT * FROM archived EXCEPT SELECT * FROM sent)), 0),
  ('lines in alarms', (SELECT count(*) FROM alarmed), (SELECT count(*) FROM alarming)),
  ('alarms missing', (SELECT count(*) FROM (SELECT * FROM alarming EXCEPT SELECT * FROM alarmed)), 0),
  ('alarms invented', (SELECT count(*) FROM (SELECT * FROM alarmed EXCEPT SELECT * FROM alarming)), 0),
  ('rows counted by the hour', (SELECT sum(n) FROM hourly), 28935),
  ('hours counted wrong', (SELECT count(*) FROM (
    SELECT * FROM hourly EXCEPT
    SELECT (line ->> 'ts') / 3600000, line ->> 'source', count(*) FROM raw GROUP BY 1, 2)), 0);
INSERT INTO proof SELECT 'rows in the lake', sum(rows), 28935 FROM tidemark_export_log WHERE sink = 'lake';
SELECT what, found, expected, CASE WHEN found IS expected THEN 'ok' ELSE 'WRONG' END AS "" FROM proof;
-- A failed CHECK ends the shell with an error.
CREATE TEMP TABLE verdict(every_row_left_exactly_once CHECK (every_row_left_exactly_once));
INSERT INTO verdict SELECT min(found IS expected) FROM proof;
.system rm -r readback

-- Each file is held against the export log: is it there, has it the logged size and rows that hash as logged?
WITH verify(did) AS MATERIALIZED (
  SELECT tidemark_verify('archive') UNION ALL SELECT tidemark_verify('alarms') UNION ALL SELECT tidemark_verify('lake'))
SELECT did ->> 'sink' AS sink, did ->> 'objects' AS files, did ->> '$.counts.missing' AS missing,
       did ->> '$.counts.damaged' AS damaged, iif(did ->> 'ok', 'ok', json('WRONG')) AS "" FROM verify;
