-- Full-text search over the log: an FTS5 table that has each row once, under its since.
--   sqlite3 my.db -cmd ".load ./tidemark" < search.sql       as often as you like; with nothing new it writes nothing
--
-- For the dataset of the README's first five minutes. To search, newest first:
--   SELECT l.since, l.source, snippet(search, 0, '[', ']', '...', 12) FROM search JOIN logs l ON l.since = search.rowid
--     WHERE search MATCH 'timeout' ORDER BY search.rowid DESC LIMIT 20;
-- The join leaves out what retention or DELETE has taken since the last run; a run takes it from the index too. That
-- costs a pass over the numbers of both, and only when rows have gone. A rewind changes nothing.
.bail on
.timeout 10000
BEGIN IMMEDIATE;
CREATE VIRTUAL TABLE IF NOT EXISTS search USING fts5(body);
CREATE TABLE IF NOT EXISTS search_gone(dataset TEXT PRIMARY KEY, rows INTEGER NOT NULL);
INSERT INTO tidemark_sink(sink, dataset)
  SELECT 'search', 'logs' WHERE NOT EXISTS (SELECT 1 FROM tidemark_sink WHERE sink = 'search' AND dataset = 'logs');

REPLACE INTO search(rowid, body)
  SELECT l.since, l.body
    FROM tidemark_lag w CROSS JOIN logs l ON l.partition = w.partition AND l.since > w.since AND l.since <= w.until
    WHERE w.sink = 'search' AND w.dataset = 'logs' AND w.rows > 0;
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)
  SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag
    WHERE sink = 'search' AND dataset = 'logs' AND rows > 0;

-- Rows that went are known by their number: of every row ever written less those that are there.
DELETE FROM search WHERE (SELECT sum(written - rows) FROM tidemark_stat WHERE dataset = 'logs')
    IS NOT (SELECT rows FROM search_gone WHERE dataset = 'logs')
  AND rowid IN (SELECT rowid FROM search EXCEPT SELECT since FROM logs);
INSERT INTO search_gone SELECT dataset, sum(written - rows) FROM tidemark_stat WHERE dataset = 'logs' GROUP BY dataset
  ON CONFLICT(dataset) DO UPDATE SET rows = excluded.rows WHERE rows <> excluded.rows;
COMMIT;
