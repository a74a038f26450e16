-- How far max_rows reaches in the tail: by whole entries, by numbers without a gap, or row by row, always as the rows say.
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source, autoflush=0);
INSERT INTO tidemark_sink(sink, dataset) VALUES ('hand', 'logs');
-- one partition alone, two in turns, deleted rows, and a sealed part before them
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) INSERT INTO logs SELECT 'a', i FROM n;
SELECT tidemark_flush('logs') IS NOT NULL;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) INSERT INTO logs SELECT 'a', i FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) INSERT INTO logs SELECT CASE i % 3 WHEN 0 THEN 'b' ELSE 'a' END, i FROM n;
INSERT INTO logs VALUES ('b', 'alone');
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) INSERT INTO logs SELECT 'b', i FROM n;
CREATE TEMP VIEW wrong AS
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 80)
  SELECT n.i, w.partition, w.rows, w.until FROM n CROSS JOIN tidemark_lag w ON w.max_rows = n.i
    WHERE w.rows <> (SELECT count(*) FROM logs l WHERE l.partition = w.partition AND l.since > w.since AND l.since <= w.until)
      OR w.rows <> min(n.i, (SELECT count(*) FROM logs l WHERE l.partition = w.partition AND l.since > w.since))
      OR (w.until <> (SELECT max(since) FROM logs l WHERE l.partition = w.partition)
          AND NOT EXISTS (SELECT 1 FROM logs l WHERE l.partition = w.partition AND l.since = w.until));
SELECT count(*) FROM tidemark_lag;
SELECT * FROM wrong;
-- from within an entry on
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) VALUES ('hand', 'logs', 'source=a', 0, 24, 24), ('hand', 'logs', 'source=b', 0, 39, 3);
SELECT partition, since, until, rows FROM tidemark_lag;
SELECT * FROM wrong;
DELETE FROM logs WHERE since IN (26, 45, 62, 66);
SELECT partition, since, until, rows FROM tidemark_lag;
SELECT * FROM wrong;
