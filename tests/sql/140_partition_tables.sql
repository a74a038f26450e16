-- A partition of a dataset as a table of its own.
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT NOT NULL, day INTEGER, ok BOOLEAN, n INTEGER,
  partition_by=(source, day, ok));
CREATE VIRTUAL TABLE web USING tidemark_partition(logs, source='web', day=1, ok=1);
-- any order, any quotes, comments; typed as the column; NULL
CREATE VIRTUAL TABLE "odd one" USING tidemark_partition( "LOGS" /* the log */ , [ok] = NULL, `day` = -1.0e1 -- ten
  , Source='it''s');
CREATE VIRTUAL TABLE digits USING tidemark_partition(logs, day='20', source=7, ok=NULL);
INSERT INTO web(n) VALUES (1), (2);
SELECT last_insert_rowid(), changes();
INSERT INTO logs VALUES ('web', 1, 1, 3), ('db', 1, 1, 4);
INSERT INTO "odd one"(n) VALUES (5);
INSERT INTO digits(n) VALUES (6);
SELECT since, partition, source, day, ok, n FROM logs ORDER BY since;
SELECT *, since, partition, ingested_at > 0 FROM web;
SELECT *, typeof(source), typeof(day), partition FROM "odd one";
SELECT *, typeof(source), typeof(day), partition FROM digits;
-- what is given for a partition column must be the partition's
INSERT INTO web VALUES ('web', '1', 1.0, 7);
INSERT INTO web VALUES ('db', 1, 1, 8);
INSERT INTO web(ok, n) VALUES (0, 8);
INSERT INTO "odd one"(ok, n) VALUES (0, 8);
INSERT INTO web(day, n) VALUES ('monday', 8);
INSERT INTO web(n) VALUES ('many');
INSERT INTO web(since, n) VALUES (100, 1);
INSERT INTO web(rowid, n) VALUES (100, 1);
SELECT count(*) FROM logs WHERE n >= 8;
-- constraints, order and joins as on the dataset
SELECT since, n FROM web WHERE since > '1' ORDER BY since;
SELECT since, n FROM web WHERE since IN (2, 4, 7) ORDER BY since DESC;
SELECT count(*) FROM web WHERE partition = 'source=web/day=1/ok=1';
SELECT count(*) FROM web WHERE partition = 'source=db/day=1/ok=1' OR source = 'db' OR day IS NULL;
SELECT a.n, b.n FROM web a JOIN logs b ON b.since = a.since + 1;
EXPLAIN QUERY PLAN SELECT * FROM web WHERE since > 1 ORDER BY since;
SELECT sum(n), count(*), max(since) FROM web;
-- DELETE works, UPDATE does not
DELETE FROM web WHERE n = 2;
SELECT changes(), (SELECT group_concat(n) FROM web), (SELECT count(*) FROM logs);
UPDATE web SET n = 1;
DELETE FROM web;
SELECT group_concat(n) FROM logs;
-- transactions: the same rows as the dataset's, before they are committed
BEGIN;
INSERT INTO web(n) VALUES (10);
SAVEPOINT s;
INSERT INTO logs VALUES ('web', 1, 1, 11);
INSERT INTO web(n) VALUES (12);
SELECT group_concat(n), max(since) FROM web;
ROLLBACK TO s;
INSERT INTO web(n) VALUES (13);
SELECT group_concat(n), max(since) FROM web;
COMMIT;
SELECT group_concat(n), max(since) FROM web;
SELECT tidemark_check('logs');
-- triggers, where the schema is not trusted
PRAGMA trusted_schema = OFF;
CREATE TABLE inbox(x INTEGER);
CREATE TRIGGER arrive AFTER INSERT ON inbox BEGIN INSERT INTO web(n) VALUES (new.x); END;
INSERT INTO inbox VALUES (20), (21);
SELECT group_concat(n) FROM web;
PRAGMA trusted_schema = ON;
-- what cannot be a partition table
CREATE VIRTUAL TABLE x USING tidemark_partition;
CREATE VIRTUAL TABLE x USING tidemark_partition('logs');
CREATE VIRTUAL TABLE x USING tidemark_partition(logs rows, source='a', day=1, ok=1);
CREATE VIRTUAL TABLE x USING tidemark_partition(nothing, source='a');
CREATE VIRTUAL TABLE x USING tidemark_partition(inbox, source='a');
CREATE VIRTUAL TABLE x USING tidemark_partition(web, source='a');
CREATE VIRTUAL TABLE x USING tidemark_partition(temp.logs, source='a', day=1, ok=1);
CREATE VIRTUAL TABLE temp.x USING tidemark_partition(logs, source='a', day=1, ok=1);
CREATE VIRTUAL TABLE x USING tidemark_partition(logs, source='a', day=1);
CREATE VIRTUAL TABLE x USING tidemark_partition(logs, source='a', day=1, ok=1, source='b');
CREATE VIRTUAL TABLE x USING tidemark_partition(logs, source='a', day=1, ok=1, n=1);
CREATE VIRTUAL TABLE x USING tidemark_partition(logs, source='a', day=1, ok=1, colour='red');
CREATE VIRTUAL TABLE x USING tidemark_partition(logs, source=a, day=1, ok=1);
CREATE VIRTUAL TABLE x USING tidemark_partition(logs, source="a", day=1, ok=1);
CREATE VIRTUAL TABLE x USING tidemark_partition(logs, source='a' || 'b', day=1, ok=1);
CREATE VIRTUAL TABLE x USING tidemark_partition(logs, source=x'00', day=0x10, ok=TRUE);
CREATE VIRTUAL TABLE x USING tidemark_partition(logs, source='a', day=, ok=1);
CREATE VIRTUAL TABLE x USING tidemark_partition(logs, source, day=1, ok=1);
CREATE VIRTUAL TABLE x USING tidemark_partition(logs, source=NULL, day=1, ok=1);
CREATE VIRTUAL TABLE x USING tidemark_partition(logs, source='a', day=1.5, ok=1);
CREATE VIRTUAL TABLE x USING tidemark_partition(logs, source='a', day='x', ok=1);
CREATE VIRTUAL TABLE x USING tidemark_partition(logs, source='a', day=1, ok=2);
CREATE VIRTUAL TABLE tidemark_x USING tidemark_partition(logs, source='a', day=1, ok=1);
ALTER TABLE web RENAME TO tidemark_web;
SELECT * FROM tidemark_partition;
SELECT name FROM sqlite_schema WHERE name IN ('x', 'tidemark_x');
-- an unpartitioned dataset has one partition
CREATE VIRTUAL TABLE flat USING tidemark(a);
CREATE VIRTUAL TABLE all_of_it USING tidemark_partition(flat);
CREATE VIRTUAL TABLE x USING tidemark_partition(flat, a=1);
INSERT INTO all_of_it VALUES ('one');
SELECT *, partition = '' FROM all_of_it;
-- functions and sinks want the dataset
SELECT tidemark_flush('web');
SELECT tidemark_maintain('main.digits');
SELECT tidemark_set('WEB', 'zstd_level', 5);
INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'web');
SELECT typeof(tidemark_flush('logs'));
-- its own names are free, and it can have another
CREATE TABLE web_tail(x);
INSERT INTO web_tail VALUES (1);
ALTER TABLE web RENAME TO "web two";
SELECT group_concat(n) FROM "web two";
-- a dataset that has some is not renamed
ALTER TABLE logs RENAME TO events;
ALTER TABLE flat RENAME TO round;
SELECT group_concat(name, ' ') FROM sqlite_schema WHERE name LIKE 'logs%' OR name LIKE 'events%';
DROP TABLE all_of_it;
ALTER TABLE flat RENAME TO round;
-- another file, VACUUM, dump and reload, under another name
VACUUM;
.echo off
.output dump.sql
.dump
.output
.echo on
ATTACH 'other.db' AS other;
CREATE VIRTUAL TABLE other.logs USING tidemark(source TEXT NOT NULL, n INTEGER, partition_by=source);
CREATE VIRTUAL TABLE other.web USING tidemark_partition(other.logs, source='other');
INSERT INTO other.web(n) VALUES (100);
SELECT * FROM other.web;
CREATE VIRTUAL TABLE temp.passing USING tidemark_partition(other.logs, source='passing');
INSERT INTO passing(n) VALUES (101);
SELECT *, since FROM passing;
ALTER TABLE other.logs RENAME TO events;
DETACH other;
SELECT * FROM passing;
DROP TABLE passing;
.open loaded.db
.load @MODULE@
.echo off
.read dump.sql
.echo on
.open other.db
.load @MODULE@
ATTACH 'loaded.db' AS main2;
SELECT * FROM web;
INSERT INTO main2."web two"(n) VALUES (30);
SELECT group_concat(n) FROM main2."web two";
SELECT tidemark_check('main2.logs');
-- without its dataset
DROP TABLE logs;
SELECT * FROM web;
SELECT n FROM web;
INSERT INTO web(n) VALUES (1);
DELETE FROM web;
-- a new one of that name is taken up, with its columns, if it is partitioned alike
CREATE VIRTUAL TABLE logs USING tidemark(extra, source TEXT, partition_by=source);
INSERT INTO web(extra) VALUES ('more');
SELECT * FROM web;
SELECT tidemark_add_column('main.logs', 'and_more INTEGER DEFAULT 5') LIKE '%"added":true%';
INSERT INTO web(extra, and_more) VALUES ('most', 6);
SELECT * FROM web;
BEGIN;
DROP TABLE logs;
CREATE VIRTUAL TABLE logs USING tidemark(extra TEXT, partition_by=extra);
SELECT * FROM web;
INSERT INTO web(source) VALUES ('other');
ROLLBACK;
SELECT extra FROM web;
DROP TABLE logs;
.open other.db
.load @MODULE@
SELECT * FROM web;
SELECT count(*) FROM web;
INSERT INTO web(source) VALUES ('other');
PRAGMA integrity_check;
ALTER TABLE web RENAME TO web2;
DROP TABLE web2;
SELECT count(*) FROM sqlite_schema WHERE name LIKE 'web%';
