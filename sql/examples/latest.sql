-- The newest row of each source and component, as a table that is read by its key.
--   sqlite3 my.db -cmd ".load ./tidemark" < latest.sql       as often as you like; with nothing new it writes nothing
--
-- For the dataset of the README's first five minutes. Newest is the highest since: the order of commits, not of clocks.
-- A row replaces one of a lower since alone, so that a rewind changes nothing. What is here stays when retention takes
-- the row from the log, and goes when logs is dropped and made anew, for its numbers begin again.
.bail on
.timeout 10000
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS latest(
  source TEXT NOT NULL, component TEXT NOT NULL, since INTEGER NOT NULL, ts INTEGER, level TEXT, body TEXT,
  PRIMARY KEY(source, component)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS latest_of(log_id TEXT NOT NULL);
DELETE FROM latest_of WHERE log_id IS NOT (SELECT log_id FROM tidemark_dataset WHERE dataset = 'logs');
DELETE FROM latest WHERE NOT EXISTS (SELECT 1 FROM latest_of);
INSERT INTO latest_of
  SELECT log_id FROM tidemark_dataset WHERE dataset = 'logs' AND NOT EXISTS (SELECT 1 FROM latest_of);
INSERT INTO tidemark_sink(sink, dataset)
  SELECT 'latest', 'logs' WHERE NOT EXISTS (SELECT 1 FROM tidemark_sink WHERE sink = 'latest' AND dataset = 'logs');

-- Beside max() the other columns are those of the row that has it. A component of NULL counts as ''.
INSERT INTO latest(source, component, since, ts, level, body)
  SELECT l.source, coalesce(l.component, ''), max(l.since), l.ts, l.level, l.body
    FROM tidemark_lag w CROSS JOIN logs l ON l.partition = w.partition AND l.since > w.since AND l.since <= w.until
    WHERE w.sink = 'latest' AND w.dataset = 'logs' AND w.rows > 0 GROUP BY 1, 2
  ON CONFLICT(source, component) DO UPDATE
    SET since = excluded.since, ts = excluded.ts, level = excluded.level, body = excluded.body
    WHERE excluded.since > since;
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)
  SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag
    WHERE sink = 'latest' AND dataset = 'logs' AND rows > 0;
COMMIT;
