-- A sink in plain SQL, as DESIGN 4 writes it: exact, because rows and watermark commit together.
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT NOT NULL, ts TIMESTAMP_MS, body TEXT, partition_by=source, segment_rows=16);
CREATE TABLE daily(day INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO tidemark_sink(sink, dataset) VALUES ('daily', 'logs');
WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < 99) INSERT INTO logs SELECT CASE n % 4 WHEN 0 THEN 'db' ELSE 'web' END, n / 50 * 86400000, 'row ' || n FROM c;
SELECT sink, dataset, partition, since, until, rows, state FROM tidemark_lag ORDER BY partition;
BEGIN IMMEDIATE;
INSERT INTO daily(day, n)
  SELECT l.ts / 86400000, count(*) FROM tidemark_lag w CROSS JOIN logs l
    ON l.partition = w.partition AND l.since > w.since AND l.since <= w.until
  WHERE w.sink = 'daily' AND w.rows > 0 GROUP BY 1
  ON CONFLICT(day) DO UPDATE SET n = n + excluded.n;
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)
  SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag WHERE sink = 'daily' AND rows > 0;
COMMIT;
SELECT * FROM daily ORDER BY day;
SELECT sum(rows) FROM tidemark_lag WHERE sink = 'daily';
INSERT INTO logs VALUES ('web', 86400000, 'x'), ('new', 2 * 86400000, 'y'), ('db', 0, 'z');
SELECT partition, since, until, rows FROM tidemark_lag WHERE rows > 0 ORDER BY partition;
BEGIN IMMEDIATE;
INSERT INTO daily(day, n)
  SELECT l.ts / 86400000, count(*) FROM tidemark_lag w CROSS JOIN logs l
    ON l.partition = w.partition AND l.since > w.since AND l.since <= w.until
  WHERE w.sink = 'daily' AND w.rows > 0 GROUP BY 1
  ON CONFLICT(day) DO UPDATE SET n = n + excluded.n;
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)
  SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag WHERE sink = 'daily' AND rows > 0;
COMMIT;
SELECT * FROM daily ORDER BY day;
-- the same as counting everything
SELECT ts / 86400000, count(*) FROM logs GROUP BY 1;
-- nothing new: the log stays as it is
BEGIN IMMEDIATE;
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)
  SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag WHERE sink = 'daily' AND rows > 0;
COMMIT;
SELECT partition, generation, kind, since, until, rows, skipped, dead FROM tidemark_export_log ORDER BY id;
SELECT partition, generation, since FROM tidemark_watermark ORDER BY partition;
-- rolled back, the watermark goes back with the rows
INSERT INTO logs VALUES ('web', 0, 'again');
BEGIN IMMEDIATE;
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)
  SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag WHERE sink = 'daily' AND rows > 0;
SELECT sum(rows) FROM tidemark_lag;
ROLLBACK;
SELECT sum(rows) FROM tidemark_lag;
-- max_rows lowers until
INSERT INTO tidemark_sink(sink, dataset) VALUES ('steps', 'logs');
SELECT partition, since, until, rows FROM tidemark_lag WHERE sink = 'steps' AND max_rows = 10 ORDER BY partition;
SELECT w.partition, count(*) FROM tidemark_lag w CROSS JOIN logs l ON l.partition = w.partition AND l.since > w.since AND l.since <= w.until WHERE w.sink = 'steps' AND w.max_rows = 10 GROUP BY 1 ORDER BY 1;
-- the log is contiguous, whoever writes
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) VALUES ('daily', 'logs', 'source=web', 5, 104, 1);
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) SELECT sink, dataset, partition, since, since, 0 FROM tidemark_lag WHERE sink = 'daily' AND partition = 'source=web';
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) SELECT sink, dataset, partition, since, NULL, 0 FROM tidemark_lag WHERE sink = 'daily' AND partition = 'source=web';
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) SELECT sink, dataset, partition, NULL, until, 0 FROM tidemark_lag WHERE sink = 'daily' AND partition = 'source=web';
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) SELECT sink, dataset, partition, since, until + 1, 1 FROM tidemark_lag WHERE sink = 'daily' AND partition = 'source=web';
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) VALUES ('nobody', 'logs', 'source=web', 0, 1, 1);
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) VALUES ('daily', 'nothing', 'source=web', 0, 1, 1);
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) VALUES ('daily', 'logs', 'source=none', 0, 1, 1);
INSERT INTO tidemark_export_log(sink, dataset, partition, kind, since, until, rows) SELECT sink, dataset, partition, 'leap', since, until, rows FROM tidemark_lag WHERE sink = 'daily' AND partition = 'source=web';
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) SELECT sink, dataset, partition, since, until, -1 FROM tidemark_lag WHERE sink = 'daily' AND partition = 'source=web';
UPDATE tidemark_export_log SET rows = rows + 1;
UPDATE tidemark_export_log SET until = until + 1 WHERE id = (SELECT max(id) FROM tidemark_export_log);
DELETE FROM tidemark_export_log;
DELETE FROM tidemark_export_log WHERE id = (SELECT max(id) FROM tidemark_export_log WHERE partition = 'source=web');
REPLACE INTO tidemark_export_log(id, sink, dataset, partition, since, until, rows) SELECT id, sink, dataset, partition, since, until, 7 FROM tidemark_export_log WHERE id = (SELECT max(id) FROM tidemark_export_log);
PRAGMA recursive_triggers = ON;
REPLACE INTO tidemark_export_log(id, sink, dataset, partition, since, until, rows) SELECT id, sink, dataset, partition, since, until, 7 FROM tidemark_export_log WHERE id = (SELECT max(id) FROM tidemark_export_log);
SELECT partition, since, until, rows FROM tidemark_export_log ORDER BY id;
-- all but the last row of a partition may be trimmed, and all still works
DELETE FROM tidemark_export_log WHERE id NOT IN (SELECT max(id) FROM tidemark_export_log GROUP BY sink, dataset, partition);
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)
  SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag WHERE sink = 'daily' AND rows > 0;
SELECT partition, since, until, rows FROM tidemark_export_log ORDER BY id;
SELECT sum(rows) FROM tidemark_lag WHERE sink = 'daily';
