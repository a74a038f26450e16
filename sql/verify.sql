-- Reads back what each sink has shipped and holds it against the export log:  sqlite3 my.db < sql/verify.sql
-- Writes nothing. Prints a line for each sink; exit status 1 when an object is missing, damaged, or more than should be
-- there. It takes as long as reading all of it takes. A sink whose target cannot be read ends the run with its error.
--
-- Parameters, set before the script:  sqlite3 my.db -cmd ".param set @sink archive" < sql/verify.sql
--   @sink       the one sink to verify; else all with a folder or a bucket (a receiver cannot be read back)
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
DROP TABLE IF EXISTS temp.verify_needs;
CREATE TEMP TABLE verify_needs(
  found CONSTRAINT "tidemark was not found: .param set @extension FOLDER/tidemark says where it is" CHECK (found),
  known CONSTRAINT "verify.sql knows the parameters @sink, @quiet and @extension" CHECK (known));
INSERT INTO verify_needs(found, known) SELECT
  (SELECT count(*) FROM pragma_module_list WHERE name = 'tidemark'),
  NOT EXISTS (SELECT 1 FROM temp.sqlite_parameters
               WHERE key NOT IN ('@sink', '@quiet', '@extension', '@loaded', '@sinks'));
.bail on

-- Tables that a database without a dataset lacks are found in this one.
ATTACH 'file:blank?mode=memory' AS blank;
CREATE VIRTUAL TABLE blank.dataset USING tidemark(a);
DROP TABLE blank.dataset;

.bail off
SELECT 0 FROM (SELECT 1 FROM tidemark_sink WHERE target LIKE 's3:%' LIMIT 1)
  WHERE NOT @loaded AND load_extension(replace(coalesce(@extension, 'tidemark'), '.so', '') || '_net') IS NOT NULL;
REPLACE INTO temp.sqlite_parameters SELECT '@sinks', CASE WHEN @sink IS NULL THEN (
    SELECT json_group_array(sink) FROM (SELECT DISTINCT sink FROM tidemark_sink
      WHERE (target LIKE 'file:%' OR target LIKE 's3:%') AND sink IN (
        SELECT sink FROM tidemark_export_log WHERE object IS NOT NULL)))
  ELSE json_array(CAST(@sink AS TEXT)) END;
SELECT 'no sink has shipped anything to a folder or a bucket' WHERE json_array_length(@sinks) = 0 AND @quiet IS NOT 1;

-- Reading back needs a statement without tables, json_each included, so arrays are walked by number. SQL's way to end a
-- SELECT with an error of its own is a bad JSON path.
WITH RECURSIVE verified(i, did) AS MATERIALIZED (
  SELECT 0, tidemark_verify(@sinks ->> 0) WHERE json_array_length(@sinks) > 0
  UNION ALL
  SELECT i + 1, tidemark_verify(@sinks ->> (i + 1)) FROM verified WHERE i + 1 < json_array_length(@sinks)),
wrong(did, list, k, w) AS (
  SELECT did, column1, 0, did -> column1 -> 0 FROM verified, (VALUES ('missing'), ('damaged'), ('extra'))
  UNION ALL
  SELECT did, list, k + 1, did -> list -> (k + 1) FROM wrong WHERE k < 9 AND w IS NOT NULL)
SELECT replace(did ->> 'sink', char(27), '?')
  || printf(': %,d objects, %,d bytes: ', did ->> 'objects', did ->> 'bytes')
    || CASE WHEN did ->> 'ok' THEN 'all there, all as logged'
         ELSE printf('%,d MISSING, %,d DAMAGED, %,d MORE than the log names', did ->> '$.counts.missing',
                     did ->> '$.counts.damaged', did ->> '$.counts.extra') END
    || iif(did ->> '$.trimmed.objects',
           printf('; %,d older ones are no longer in the log and were not compared', did ->> '$.trimmed.objects'), '')
    || coalesce('; ' || (did ->> 'hint'), '')
  FROM verified WHERE @quiet IS NOT 1 OR NOT did ->> 'ok'
UNION ALL
SELECT '  ' || list || ' at ' || replace(did ->> 'sink', char(27), '?') || ': ' || replace(trim(w, '"'), char(27), '?')
  FROM wrong WHERE w IS NOT NULL
UNION ALL
SELECT json_extract(did, 'what a sink shipped is not as logged: see its line') FROM verified WHERE NOT did ->> 'ok';
DETACH blank;
DELETE FROM temp.sqlite_parameters WHERE key IN ('@loaded', '@sinks');
