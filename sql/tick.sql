-- One tick: each sink ships what is new since its last one. For a timer:  sqlite3 my.db < sql/tick.sql
-- Prints a line for each sink and what keeps a batch waiting. Exit status 1 when a sink failed, is stopped, or still
-- has a batch that failed before.
--
-- Parameters, set before the script:  sqlite3 my.db -cmd ".param set @sink archive" < sql/tick.sql
--   @sink       the one sink to tick; else all that are active
--   @now        1: do not wait for min_rows, max_delay, or the time of a failed batch's next try
--   @quiet      1: say nothing of what went well, as cron wants it
--   @extension  where Tidemark is, such as build/ext/tidemark; else tidemark on the library path, unless it is loaded
--               already. tidemark_net is looked for beside it when a sink needs it; who loads Tidemark with -cmd
--               ".load ..." loads tidemark_net so, too
.bail off
.mode list
.headers off
.timeout 10000
.param init
REPLACE INTO temp.sqlite_parameters SELECT '@loaded', count(*) FROM pragma_module_list WHERE name = 'tidemark';
SELECT 0 WHERE NOT @loaded AND load_extension(coalesce(@extension, 'tidemark')) IS NOT NULL;
DROP TABLE IF EXISTS temp.tick_needs;
CREATE TEMP TABLE tick_needs(
  found CONSTRAINT "tidemark was not found: .param set @extension FOLDER/tidemark says where it is" CHECK (found),
  known CONSTRAINT "tick.sql knows the parameters @sink, @now, @quiet and @extension" CHECK (known),
  well CONSTRAINT "a batch failed and waits for its next try: see above" CHECK (well));
INSERT INTO tick_needs(found, known) SELECT
  (SELECT count(*) FROM pragma_module_list WHERE name = 'tidemark'),
  NOT EXISTS (SELECT 1 FROM temp.sqlite_parameters
               WHERE key NOT IN ('@sink', '@now', '@quiet', '@extension', '@loaded'));
.bail on

-- Tables that a database without a dataset lacks are found in this one.
ATTACH 'file:blank?mode=memory' AS blank;
CREATE VIRTUAL TABLE blank.dataset USING tidemark(a);
DROP TABLE blank.dataset;

-- From here on the others go on when one fails; the shell still ends with status 1.
.bail off
SELECT 0 FROM (SELECT 1 FROM tidemark_sink WHERE target NOT LIKE 'file:%' LIMIT 1)
  WHERE NOT @loaded AND load_extension(replace(coalesce(@extension, 'tidemark'), '.so', '') || '_net') IS NOT NULL;

-- A tick needs a statement without tables, json_each included, so arrays are walked by number. What concerns a batch is
-- in its row, below. SQL's way to end a SELECT with an error of its own is a bad JSON path. Nothing is printed that a
-- terminal takes for a command.
WITH RECURSIVE tick(did) AS MATERIALIZED (
  SELECT CASE WHEN @now THEN tidemark_export(CAST(@sink AS TEXT), 'now') ELSE tidemark_export(CAST(@sink AS TEXT)) END),
each(i, j, did, s, f) AS (
  SELECT 0, -1, did, did -> '$.sinks[0]', NULL FROM tick
  UNION ALL
  SELECT iif(s -> '$.failures' -> (j + 1) IS NULL, i + 1, i), iif(s -> '$.failures' -> (j + 1) IS NULL, -1, j + 1), did,
         iif(s -> '$.failures' -> (j + 1) IS NULL, did -> '$.sinks' -> (i + 1), s), s -> '$.failures' -> (j + 1)
    FROM each WHERE s IS NOT NULL)
SELECT replace(replace(CASE
    WHEN f IS NOT NULL THEN '  ' || (f ->> 'error')
    ELSE s ->> 'sink' || ' (' || (s ->> 'dataset') || '): '
      || iif(s ->> 'batches',
             printf('%,d rows and %,d bytes in %,d batches', s ->> 'rows', s ->> 'bytes', s ->> 'batches'),
             'nothing shipped')
      || iif(s ->> 'skipped', printf(', %,d filtered out', s ->> 'skipped'), '')
      || iif(s ->> 'altered', printf(', %,d altered to fit the format', s ->> 'altered'), '')
      || iif(s ->> 'dead', printf(', %,d SET ASIDE: see tidemark_dead, then tidemark_requeue', s ->> 'dead'), '')
      || iif(s ->> 'failed', printf(', %,d FAILED', s ->> 'failed'), '')
      || iif(s ->> 'waiting', printf(', %,d %s', s ->> 'waiting',
             iif(s ->> 'waiting' = 1, 'partition waits', 'partitions wait')), '')
      || CASE s ->> 'state'
           WHEN 'blocked' THEN ', BLOCKED: the receiver does not let it in; mend that, then set its state to active'
           WHEN 'diverged' THEN ', DIVERGED: its target knows of ticks that this database does not; see tidemark_fork'
           ELSE '' END
  END, char(27), '?'), char(155), '?')
  FROM each WHERE s IS NOT NULL AND (f IS NULL OR f ->> 'batch' IS NULL)
    AND (@quiet IS NOT 1 OR s ->> 'failed' + (s ->> 'stopped') + (s ->> 'dead') > 0)
UNION ALL
SELECT json_extract(did, 'a sink failed or is stopped: see its line') FROM each
  WHERE j = -1 AND i = 0 AND did ->> 'stopped' > 0 OR f IS NOT NULL AND f ->> 'batch' IS NULL;

SELECT replace(replace(printf('  batch %d of %s, %s: tried %s, again %s: %s', batch, sink, partition,
              iif(attempts = 1, 'once', printf('%,d times', attempts)),
              coalesce('after ' || datetime(not_before / 1000, 'unixepoch'), 'at the next tick'), error),
            char(27), '?'), char(155), '?')
  FROM tidemark_batch
 WHERE error IS NOT NULL AND (@sink IS NULL OR sink = CAST(@sink AS TEXT)) ORDER BY batch LIMIT 100;
SELECT replace(replace(printf('%s is yours to drive (it has no target): %,d rows wait', sink, sum(rows)),
            char(27), '?'), char(155), '?')
  FROM tidemark_lag JOIN tidemark_sink USING (sink, dataset)
 WHERE target IS NULL AND tidemark_sink.state = 'active' AND rows > 0 AND @sink IS NULL AND @quiet IS NOT 1
 GROUP BY sink;
SELECT 'no sink has a target yet: see sql/install.sql' 
  WHERE @quiet IS NOT 1 AND NOT EXISTS (SELECT 1 FROM tidemark_sink WHERE target IS NOT NULL);
INSERT INTO tick_needs(well) SELECT NOT EXISTS (
  SELECT 1 FROM tidemark_batch WHERE error IS NOT NULL AND (@sink IS NULL OR sink = CAST(@sink AS TEXT)));
DETACH blank;
DELETE FROM temp.sqlite_parameters WHERE key IN ('@loaded');
