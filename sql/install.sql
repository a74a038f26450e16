-- A first log and a first sink:  sqlite3 my.db < sql/install.sql
-- Makes the dataset logs and a sink that archives it, unless they are there: running it again changes nothing. Names
-- and columns cannot be parameters in SQL: for others than these change CREATE VIRTUAL TABLE below, and logs with it.
--
-- Parameters, set before the script:  sqlite3 my.db -cmd ".param set @folder /var/backups/logs" < sql/install.sql
--   @folder     an absolute path, where the sink puts its files; else archive beside the database. It must exist before
--               the first tick: a folder is never made, for it may lie on a disk that is not mounted
--   @sink       the sink's name (archive)
--   @format     of its files: ndjson, ndjson.zst, csv, csv.zst or parquet (ndjson.zst)
--   @keep       how long rows stay here once all sinks have them, such as '30 days'; else for ever. Given again, it
--               changes
--   @extension  where Tidemark is, such as build/ext/tidemark; else tidemark on the library path, unless it is loaded
--               already
.bail off
.mode list
.headers off
.timeout 10000
.param init
REPLACE INTO temp.sqlite_parameters SELECT '@loaded', count(*) FROM pragma_module_list WHERE name = 'tidemark';
SELECT 0 WHERE NOT @loaded AND load_extension(coalesce(@extension, 'tidemark')) IS NOT NULL;
DROP TABLE IF EXISTS temp.install_needs;
CREATE TEMP TABLE install_needs(
  found CONSTRAINT "tidemark was not found: .param set @extension FOLDER/tidemark says where it is" CHECK (found),
  known CONSTRAINT "install.sql knows the parameters @folder, @sink, @format, @keep and @extension" CHECK (known),
  folder CONSTRAINT "@folder must be an absolute path, such as /var/backups/logs" CHECK (folder));
INSERT INTO install_needs(found, known, folder) SELECT
  (SELECT count(*) FROM pragma_module_list WHERE name = 'tidemark'),
  NOT EXISTS (SELECT 1 FROM temp.sqlite_parameters
               WHERE key NOT IN ('@folder', '@sink', '@format', '@keep', '@extension', '@loaded')),
  coalesce(@folder, (SELECT file FROM pragma_database_list WHERE name = 'main')) LIKE '/%';
.bail on

-- All of it, or nothing.
BEGIN IMMEDIATE;
CREATE VIRTUAL TABLE IF NOT EXISTS logs USING tidemark(
  source TEXT NOT NULL, ts TIMESTAMP_MS, level TEXT, component TEXT, body TEXT, attrs JSON,
  partition_by=source);

INSERT INTO tidemark_sink(sink, dataset, target, format)
  SELECT coalesce(CAST(@sink AS TEXT), 'archive'), 'logs',
         'file://' || replace(replace(replace(replace(coalesce(@folder, rtrim(file, replace(file, '/', ''))
           || 'archive'),
           '%', '%25'), ' ', '%20'), '?', '%3F'), '#', '%23'), coalesce(@format, 'ndjson.zst')
    FROM pragma_database_list WHERE name = 'main'
  ON CONFLICT (sink, dataset) DO NOTHING;
SELECT 'rows stay for ' || @keep
  || ' once every sink has them' FROM (SELECT tidemark_set('logs', 'retention_age', @keep))
  WHERE @keep IS NOT NULL;
COMMIT;

SELECT printf('sink %s: %s files of dataset logs into %s', sink, format, target) FROM tidemark_sink
  WHERE dataset = 'logs' AND target IS NOT NULL ORDER BY sink;
SELECT 'next:  mkdir -p the folder, unless it is there
       INSERT INTO logs(source, ts, level, body) VALUES (''web'', 1767225600000, ''info'', ''hello'');
       sqlite3 my.db < sql/tick.sql      from a timer, as often as you like
       sqlite3 my.db < sql/maintain.sql  once in a while, from another
       sqlite3 my.db < sql/status.sql    how it stands';
DELETE FROM temp.sqlite_parameters WHERE key IN ('@loaded');
