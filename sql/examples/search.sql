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
CREATE TABLE IF NOT EXISTS search_gone(log_id TEXT PRIMARY KEY, rows INTEGER NOT NULL);
-- In a log that was dropped and made anew numbers begin again: what was here is another's.
DELETE FROM search_gone WHERE log_id IS NOT (SELECT log_id FROM tidemark_dataset WHERE dataset = 'logs');
DELETE FROM search WHERE NOT EXISTS (SELECT 1 FROM search_gone);
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
    IS NOT (SELECT rows FROM search_gone)
  AND rowid IN (SELECT rowid FROM search EXCEPT SELECT since FROM logs);
INSERT INTO search_gone
  SELECT d.log_id, sum(s.written - s.rows) FROM tidemark_stat s JOIN tidemark_dataset d USING (dataset)
    WHERE dataset = 'logs' GROUP BY d.log_id
  ON CONFLICT(log_id) DO UPDATE SET rows = excluded.rows WHERE rows <> excluded.rows;
COMMIT;
