-- One tick of the four sinks of demo.sql: each takes what is new since its last one.
-- MATERIALIZED: each is called once, however often its JSON is looked at.
WITH tick(sink, did) AS MATERIALIZED (
  SELECT 'archive', tidemark_export('archive') UNION ALL SELECT 'alarms', tidemark_export('alarms')
  UNION ALL SELECT 'lake', tidemark_export('lake'))
SELECT sink, did ->> 'batches' AS batches, did ->> 'rows' AS rows, did ->> 'skipped' AS "filtered out",
       did ->> 'bytes' AS bytes FROM tick;

-- A sink in plain SQL: its rows and its watermark commit together. CROSS JOIN keeps the order: first what is new, then those
-- rows of the log.
BEGIN IMMEDIATE;
INSERT INTO hourly(hour, source, n)
  SELECT l.ts / 3600000, l.source, count(*) FROM tidemark_lag w CROSS JOIN logs l
    ON l.partition = w.partition AND l.since > w.since AND l.since <= w.until
  WHERE w.sink = 'hourly' AND w.rows > 0 GROUP BY 1, 2
  ON CONFLICT(hour, source) DO UPDATE SET n = n + excluded.n;
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)
  SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag WHERE sink = 'hourly' AND rows > 0;
COMMIT;
