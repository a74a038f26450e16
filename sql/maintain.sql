-- Housekeeping: seals new rows into segments, prunes what is past its retention, compacts, trims the export log. For a
-- timer:  sqlite3 my.db < sql/maintain.sql
-- Prints what was done to each dataset. Exit status 1 when a dataset or a partition could not be worked on.
--
-- Parameters, set before the script:  sqlite3 my.db -cmd ".param set @dataset logs" < sql/maintain.sql
--   @dataset    the one dataset to look after; else all
--   @rounds     a round does a bounded amount and lets others write in between; this many at the most (100)
--   @quiet      1: say nothing of what went well, as cron wants it
--   @extension  where Tidemark is, such as build/ext/tidemark; else tidemark on the library path, unless it is loaded
--               already
.bail off
.mode list
.headers off
.timeout 10000
.param init
REPLACE INTO temp.sqlite_parameters SELECT '@loaded', count(*) FROM pragma_module_list WHERE name = 'tidemark';
SELECT 0 WHERE NOT @loaded AND load_extension(coalesce(@extension, 'tidemark')) IS NOT NULL;
DROP TABLE IF EXISTS temp.maintain_needs;
CREATE TEMP TABLE maintain_needs(
  found CONSTRAINT "tidemark was not found: .param set @extension FOLDER/tidemark says where it is" CHECK (found),
  known CONSTRAINT "maintain.sql knows the parameters @dataset, @rounds, @quiet and @extension" CHECK (known));
INSERT INTO maintain_needs(found, known) SELECT
  (SELECT count(*) FROM pragma_module_list WHERE name = 'tidemark'),
  NOT EXISTS (SELECT 1 FROM temp.sqlite_parameters
               WHERE key NOT IN ('@dataset', '@rounds', '@quiet', '@extension', '@loaded'));
.bail on

-- No table stands in this statement, json_each included, so that nothing is read while a round writes: arrays are
-- walked by number. SQL's way to end a SELECT with an error of its own is a bad JSON path.
WITH RECURSIVE round(n, did) AS MATERIALIZED (
  SELECT 1, tidemark_maintain(CAST(@dataset AS TEXT))
  UNION ALL
  SELECT n + 1, tidemark_maintain(CAST(@dataset AS TEXT)) FROM round
    WHERE instr(did, '"more":true') > 0 AND n < coalesce(@rounds, 100)),
each(n, did, i, d) AS (
  SELECT n, did, 0, did -> '$.datasets[0]' FROM round
  UNION ALL
  SELECT n, did, i + 1, did -> 'datasets' -> (i + 1) FROM each WHERE d IS NOT NULL),
failing(d, list, k, f) AS (
  SELECT d, column1, 0, d -> column1 -> 'failures' -> 0 FROM each, (VALUES ('sealed'), ('pruned'), ('compacted'))
    WHERE d IS NOT NULL
  UNION ALL
  SELECT d, list, k + 1, d -> list -> 'failures' -> (k + 1) FROM failing WHERE f IS NOT NULL)
SELECT replace(d ->> 'dataset', char(27), '?') || ': ' || CASE
    WHEN d -> 'error' IS NOT NULL THEN replace(d ->> 'error', char(27), '?')
    ELSE
      iif(d ->> '$.sealed.rows', printf('sealed %,d rows; ', d ->> '$.sealed.rows'), '')
      || iif(d ->> '$.pruned.rows', printf('pruned %,d rows; ', d ->> '$.pruned.rows'), '')
      || iif(d ->> '$.pruned.gap_rows', printf('%,d ROWS WENT that a sink had not had; ', d ->> '$.pruned.gap_rows'),
      '')
      || iif(d ->> '$.pruned.held_rows', printf('%,d rows are held by sinks that have not had them; ',
                                                d ->> '$.pruned.held_rows'), '')
      || iif(d ->> '$.pruned.future_partitions', printf('rows with a time in the future keep those behind them, in %,d '
                                                        || 'partitions; ', d ->> '$.pruned.future_partitions'), '')
      || iif(d ->> '$.compacted.runs', printf('compacted %,d segments into %,d, %,d bytes into %,d; ',
                                              d ->> '$.compacted.segments_in', d ->> '$.compacted.segments_out',
                                              d ->> '$.compacted.stored_in', d ->> '$.compacted.stored_out'), '')
      || iif(d ->> 'trimmed', printf('trimmed %,d rows of the export log; ', d ->> 'trimmed'), '')
      || printf('now %,d rows, %,d of them in the tail, %,d segments, %,d bytes', d ->> '$.now.rows',
                d ->> '$.now.tail_rows', d ->> '$.now.segments', d ->> '$.now.stored_bytes')
      || iif(d ->> 'more', iif(n < coalesce(@rounds, 100), ' (goes on)', ' (there is more to do: run it again)'), '')
  END
  FROM each WHERE d IS NOT NULL AND (@quiet IS NOT 1 OR d -> 'error' IS NOT NULL OR d ->> '$.pruned.gap_rows' > 0)
UNION ALL
SELECT '  could not be ' || list || ': ' || replace(f ->> 'partition' || ': ' || (f ->> 'error'), char(27), '?')
  FROM failing WHERE f IS NOT NULL
UNION ALL
SELECT 'no dataset yet: see sql/install.sql' FROM round WHERE n = 1 AND did -> '$.datasets[0]' IS NULL
  AND @quiet IS NOT 1
UNION ALL
SELECT json_extract(d, 'a dataset was not looked after as a whole: see its line') FROM each
  WHERE d -> 'error' IS NOT NULL OR d -> '$.sealed.failed' IS NOT NULL OR d -> '$.pruned.failed' IS NOT NULL
    OR d -> '$.compacted.failed' IS NOT NULL;
DELETE FROM temp.sqlite_parameters WHERE key IN ('@loaded');
