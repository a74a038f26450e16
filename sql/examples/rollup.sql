-- Rows counted by hour and source, exact: a row is counted once, whatever is run again, killed or rolled back.
--   sqlite3 my.db -cmd ".load ./tidemark" < rollup.sql       as often as you like; with nothing new it writes nothing
--
-- For the dataset of the README's first five minutes: logs(source, ts TIMESTAMP_MS, ...). Counts and watermark commit
-- together. What was counted stays when retention takes the rows. A rewind takes back in its own transaction what it
-- gives back to the sink: SELECT tidemark_rewind('rollup', 'logs', 'source=web', 0, 'counted wrongly'); A row without a
-- time counts at that of its ingest.
.bail on
.timeout 10000
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS rollup(
  hour INTEGER NOT NULL, source TEXT NOT NULL, n INTEGER NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY(hour, source));
INSERT INTO tidemark_sink(sink, dataset)
  SELECT 'rollup', 'logs' WHERE NOT EXISTS (SELECT 1 FROM tidemark_sink WHERE sink = 'rollup' AND dataset = 'logs');
CREATE TRIGGER IF NOT EXISTS rollup_rewind AFTER INSERT ON tidemark_export_log
  WHEN NEW.sink = 'rollup' AND NEW.dataset = 'logs' AND NEW.kind = 'rewind'
BEGIN
  SELECT RAISE(ABORT, 'rollup has not counted what lies below its start: rewind to that')
    WHERE NEW.until < (SELECT start FROM tidemark_sink WHERE sink = 'rollup' AND dataset = 'logs');
  INSERT INTO rollup(hour, source, n, bytes)
    SELECT coalesce(ts, ingested_at) / 3600000, source, -count(*), -sum(coalesce(length(CAST(body AS BLOB)), 0))
      FROM logs WHERE partition = NEW.partition AND since > NEW.until AND since <= NEW.since GROUP BY 1, 2
    ON CONFLICT(hour, source) DO UPDATE SET n = n + excluded.n, bytes = bytes + excluded.bytes;
END;

-- CROSS JOIN fixes the order: first what is new, then those rows of the log.
INSERT INTO rollup(hour, source, n, bytes)
  SELECT coalesce(l.ts, l.ingested_at) / 3600000, l.source, count(*), sum(coalesce(length(CAST(l.body AS BLOB)), 0))
    FROM tidemark_lag w CROSS JOIN logs l ON l.partition = w.partition AND l.since > w.since AND l.since <= w.until
    WHERE w.sink = 'rollup' AND w.dataset = 'logs' AND w.rows > 0 GROUP BY 1, 2
  ON CONFLICT(hour, source) DO UPDATE SET n = n + excluded.n, bytes = bytes + excluded.bytes;
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)
  SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag
    WHERE sink = 'rollup' AND dataset = 'logs' AND rows > 0;
COMMIT;
