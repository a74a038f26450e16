-- Sinks that reach outside in a database that was made before there were any: the tables that they need come with the
-- first tick, and renaming and dropping know them or do without.
.system cp @HERE@/tidemark.db golden.db
.open golden.db
.load @MODULE@
.system mkdir archive
SELECT count(*) FROM sqlite_schema WHERE name IN ('tidemark_dead', 'tidemark_sink_count', 'tidemark_sink_fork');
ALTER TABLE after RENAME TO renamed;
SELECT sink, dataset FROM tidemark_sink WHERE dataset = 'renamed';
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('archive', 'logs', 'file://@DIR@/archive', 'parquet');
SELECT tidemark_export('archive') ->> 'failed', tidemark_export('archive') ->> 'more';
SELECT (SELECT sum(rows) FROM tidemark_export_log WHERE sink = 'archive' AND kind = 'batch') = (SELECT count(*) FROM logs);
SELECT tidemark_verify('archive') ->> 'ok', tidemark_peek('archive') ->> '$.sinks[0].rows';
SELECT tidemark_fork('archive') ->> '$.sinks[0].given_up';
INSERT INTO logs(source, ok, id, t) VALUES ('web', 1, -7, 'new');
SELECT tidemark_export('archive') ->> 'rows';
SELECT count(*) FROM tidemark_dead;
SELECT count(*) FROM tidemark_sink_count WHERE marked > 0;
ALTER TABLE empty RENAME TO vacant;
DROP TABLE web;
DROP TABLE logs;
SELECT count(*) FROM tidemark_sink_count;
SELECT count(*) FROM tidemark_sink_fork;
SELECT tidemark_check('renamed');
