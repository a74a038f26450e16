-- ATTACHed and TEMP schemas: each has datasets and sinks' tables of its own.
.system mkdir archive aside
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source);
INSERT INTO logs VALUES ('main', '1');
SELECT json_extract(tidemark_flush('logs'), '$.rows');
ATTACH 'aux.db' AS aux; ATTACH 'dots.db' AS "a.b c";
CREATE VIRTUAL TABLE aux.logs USING tidemark(source TEXT, body TEXT, partition_by=source);
CREATE VIRTUAL TABLE temp.logs USING tidemark(source TEXT, body TEXT, partition_by=source);
CREATE VIRTUAL TABLE "a.b c"."d.e" USING tidemark(source TEXT, body TEXT, partition_by=source);
INSERT INTO main.logs VALUES ('main', '2');
INSERT INTO aux.logs VALUES ('aux', '1'), ('aux', '2');
INSERT INTO temp.logs VALUES ('temp', '1'), ('temp', '2'), ('temp', '3');
INSERT INTO "a.b c"."d.e" VALUES ('dots', '1');
SELECT dataset, partition, rows FROM main.tidemark_stat UNION ALL SELECT dataset, partition, rows FROM aux.tidemark_stat
  UNION ALL SELECT dataset, partition, rows FROM temp.tidemark_stat
  UNION ALL SELECT dataset, partition, rows FROM "a.b c".tidemark_stat;

-- a name in several schemas must be written with one
SELECT tidemark_flush('logs');
SELECT json_extract(tidemark_flush('aux.logs'), '$.rows'), json_extract(tidemark_flush('temp.logs'), '$.rows');
SELECT json_extract(tidemark_flush('a.b c.d.e'), '$.rows'), tidemark_check('d.e'), tidemark_check('A.B C.D.E');
SELECT tidemark_check('main.logs'), tidemark_check('aux.logs'), tidemark_check('temp.logs');
SELECT tidemark_check('nowhere.logs');
SELECT tidemark_check('a.b c.logs');

-- sinks of one name in each of them
INSERT INTO main.tidemark_sink(sink, dataset, target, format) VALUES ('s', 'logs', 'file://@DIR@/archive', 'ndjson');
INSERT INTO aux.tidemark_sink(sink, dataset, target, format) VALUES ('s', 'logs', 'file://@DIR@/aside', 'ndjson');
INSERT INTO "a.b c".tidemark_sink(sink, dataset, target, format) VALUES ('s', 'd.e', 'file://@DIR@/aside', 'ndjson');
INSERT INTO temp.tidemark_sink(sink, dataset) VALUES ('own', 'logs');
INSERT INTO aux.tidemark_sink(sink, dataset) VALUES ('t', 'd.e');
SELECT json_extract(tidemark_export('aux.s'), '$.rows');
SELECT json_extract(tidemark_export('a.b c.s'), '$.rows');
SELECT json_extract(tidemark_export(NULL, 'dataset=main.logs'), '$.rows');
SELECT json_extract(tidemark_export('s'), '$.rows');
SELECT count(*), sum(rows) FROM main.tidemark_export_log UNION ALL SELECT count(*), sum(rows) FROM aux.tidemark_export_log
  UNION ALL SELECT count(*), sum(rows) FROM "a.b c".tidemark_export_log;
SELECT tidemark_claim('own', 'temp.logs');
-- claims number what is open, rewinds and sets follow the schema that is named
SELECT json_extract(tidemark_rewind('aux.s', 'aux.logs', 'source=aux', 1, 'again'), '$.rows');
SELECT json_extract(tidemark_export('aux.s'), '$.rows');
SELECT tidemark_set('a.b c.d.e', 'retention_rows', 0) IS NOT NULL;
SELECT json_extract(tidemark_prune('a.b c.d.e'), '$.rows');
SELECT json_array_length(tidemark_maintain(), '$.datasets');

-- a trigger that appends to the dataset of its own schema; several schemas in one transaction
CREATE TABLE aux.src(a);
CREATE TRIGGER aux.src_logged AFTER INSERT ON src BEGIN INSERT INTO logs VALUES ('trigger', NEW.a); END;
BEGIN; INSERT INTO aux.src VALUES ('x'); INSERT INTO main.logs VALUES ('main', 'y'); ROLLBACK;
BEGIN; INSERT INTO aux.src VALUES ('x'); INSERT INTO main.logs VALUES ('main', 'y'); COMMIT;
SELECT since, source, body FROM aux.logs ORDER BY since;
SELECT max(since) FROM main.logs;

-- RENAME and DROP in each
ALTER TABLE aux.logs RENAME TO renamed;
ALTER TABLE temp.logs RENAME TO renamed;
INSERT INTO aux.src VALUES ('after'); SELECT max(since) FROM aux.renamed; SELECT max(since) FROM temp.renamed;
SELECT tidemark_check('aux.renamed'), tidemark_check('temp.renamed'), tidemark_check('logs');
DROP TABLE temp.renamed;
SELECT count(*) FROM temp.tidemark_sink;
VACUUM; VACUUM aux; VACUUM "a.b c";
-- a schema is what the connection calls it: the file goes by another name next time
DETACH aux; DETACH "a.b c";
ATTACH 'aux.db' AS main2;
SELECT tidemark_check('main2.renamed'), max(since) FROM main2.renamed;
SELECT json_extract(tidemark_export('s', 'dataset=renamed'), '$.rows');
DROP TABLE main2.renamed;
SELECT name FROM main2.sqlite_schema WHERE name LIKE 'renamed%';
SELECT tidemark_check('logs');
