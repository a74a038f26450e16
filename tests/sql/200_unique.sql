-- unique=: a value is there once in the dataset, as with UNIQUE of an ordinary table.
CREATE VIRTUAL TABLE d USING tidemark(unique=nothing, id TEXT);
CREATE VIRTUAL TABLE d USING tidemark(unique=(a, b), a TEXT, b TEXT);
CREATE VIRTUAL TABLE d USING tidemark(id TEXT UNIQUE);
CREATE VIRTUAL TABLE d USING tidemark(id TEXT, unique=id, unique=id);
CREATE VIRTUAL TABLE d USING tidemark(source TEXT, "The Id", n INTEGER, partition_by=source, unique='the id');
SELECT dataset, "unique" FROM tidemark_dataset;
SELECT name FROM sqlite_schema WHERE name LIKE 'd\_%' ESCAPE '\' AND type = 'table' ORDER BY 1;
SELECT tidemark_set('d', 'unique', 'n');
SELECT tidemark_set('d', 'unique', NULL);
SELECT tidemark_set('d', 'autoflush', 1) -> 'unique';
-- a second row with the same value is refused, in every partition; NULLs are free
INSERT INTO d VALUES ('a', 'x', 1);
INSERT INTO d VALUES ('a', 'x', 2);
INSERT INTO d VALUES ('b', 'x', 3);
INSERT INTO d VALUES ('b', NULL, 4), ('b', NULL, 5), ('b', 'X', 6);
SELECT since, source, "The Id", n FROM d ORDER BY since;
-- SQLite says which values are the same
INSERT INTO d("The Id") VALUES (1), (1.5), ('1'), (x'31'), (''), (x'');
INSERT INTO d("The Id") VALUES (1.0);
INSERT INTO d("The Id") VALUES (x'31');
INSERT INTO d("The Id") VALUES ('');
SELECT count(*) FROM d;
-- a producer that retries: what has arrived is passed over
INSERT OR IGNORE INTO d VALUES ('c', 'p', 1), ('c', 'q', 2);
SELECT changes(), last_insert_rowid();
INSERT OR IGNORE INTO d VALUES ('c', 'p', 1), ('c', 'q', 2), ('c', 'r', 3), ('d', 'r', 4);
SELECT changes(), last_insert_rowid();
INSERT OR IGNORE INTO d VALUES ('c', 'p', 1);
SELECT changes(), last_insert_rowid();
SELECT since, "The Id", n FROM d WHERE source = 'c' ORDER BY since;
-- but a row that cannot be stored is not
INSERT OR IGNORE INTO d VALUES ('c', 's', 'no number');
-- a statement that fails leaves nothing of itself, its values neither; one that FAILs leaves what came before
INSERT INTO d VALUES ('c', 't', 1), ('c', 'u', 2), ('c', 'p', 3), ('c', 'v', 4);
INSERT OR FAIL INTO d VALUES ('c', 't', 1), ('c', 'u', 2), ('c', 'p', 3), ('c', 'v', 4);
SELECT changes(), last_insert_rowid();
SELECT group_concat("The Id") FROM (SELECT * FROM d WHERE source = 'c' ORDER BY since);
INSERT OR REPLACE INTO d VALUES ('c', 'v', 5);
INSERT OR REPLACE INTO d VALUES ('c', 'v', 6);
REPLACE INTO d VALUES ('c', 'v', 6);
-- transactions and savepoints
BEGIN;
INSERT INTO d VALUES ('e', 'in', 1);
INSERT INTO d VALUES ('e', 'in', 2);
SAVEPOINT s;
INSERT INTO d VALUES ('e', 'inner', 3);
ROLLBACK TO s;
INSERT INTO d VALUES ('e', 'inner', 4);
DELETE FROM d WHERE "The Id" = 'in';
INSERT INTO d VALUES ('e', 'in', 5);
COMMIT;
SELECT since, "The Id", n FROM d WHERE source = 'e' ORDER BY since;
BEGIN;
INSERT INTO d VALUES ('f', 'gone', 1);
ROLLBACK;
INSERT INTO d VALUES ('f', 'gone', 2);
BEGIN;
INSERT INTO d VALUES ('f', 'kept?', 1);
INSERT OR ROLLBACK INTO d VALUES ('f', 'gone', 2);
COMMIT;
INSERT INTO d VALUES ('f', 'kept?', 3);
SELECT "The Id", n FROM d WHERE source = 'f' ORDER BY since;
SELECT tidemark_check('d');
-- what was deleted or pruned may come again
SELECT tidemark_flush('d') -> '$.now.tail_rows';
DELETE FROM d WHERE source = 'a';
INSERT INTO d VALUES ('b', 'x', 7);
SELECT tidemark_set('d', 'retention_rows', 1) -> 'retention_rows', tidemark_prune('d') -> '$.rows';
INSERT INTO d VALUES ('f', 'kept?', 8);
INSERT INTO d VALUES ('f', 'gone', 9);
SELECT "The Id", n, source FROM d ORDER BY since;
SELECT tidemark_check('d');
-- it goes with the dataset under another name, and away with it; a table of that name that is the user's stays
ALTER TABLE d RENAME TO renamed;
INSERT INTO renamed VALUES ('f', 'gone', 9);
CREATE VIRTUAL TABLE plain USING tidemark(id TEXT);
CREATE TABLE plain_unique(mine); INSERT INTO plain_unique VALUES ('kept');
INSERT INTO plain VALUES ('a'), ('a');
ALTER TABLE plain RENAME TO other;
SELECT * FROM plain_unique;
ALTER TABLE other RENAME TO plain;
DROP TABLE plain;
SELECT * FROM plain_unique;
DROP TABLE renamed;
SELECT name FROM sqlite_schema WHERE name LIKE '%unique%' AND type = 'table' ORDER BY 1;
CREATE VIRTUAL TABLE plain USING tidemark(id TEXT, unique=id);
-- a partition's column may be it, and any type
CREATE VIRTUAL TABLE p USING tidemark(host TEXT, n REAL, partition_by=host, unique=host);
INSERT OR IGNORE INTO p VALUES ('a', 1), ('b', 2), ('a', 3), (NULL, 4), (NULL, 5);
SELECT host, n FROM p ORDER BY since;
SELECT tidemark_flush('p') -> '$.now.tail_rows', tidemark_check('p');
CREATE VIRTUAL TABLE r USING tidemark(n REAL NOT NULL, unique=n);
INSERT OR IGNORE INTO r VALUES (1), ('1.0'), (NULL), (2), (1.0);
SELECT n FROM r ORDER BY since;
SELECT tidemark_check('r');
-- triggers
CREATE TABLE inbox(x REAL);
CREATE TRIGGER arrive AFTER INSERT ON inbox BEGIN INSERT OR IGNORE INTO r VALUES (new.x); END;
INSERT INTO inbox VALUES (2), (3), (3), (4);
SELECT changes();
SELECT n FROM r ORDER BY since;
SELECT count(*) FROM inbox;
INSERT OR IGNORE INTO inbox VALUES (5), (4);
SELECT group_concat(n) FROM (SELECT n FROM r ORDER BY since);
-- damage is named
CREATE VIRTUAL TABLE x USING tidemark(source TEXT, id TEXT, partition_by=source, unique=id);
INSERT INTO x VALUES ('a', 'one'), ('a', 'two'), ('a', NULL), ('b', 'three');
DELETE FROM x_unique WHERE value = 'two';
INSERT INTO x_unique VALUES ('four', 1, 3), ('five', 1, 9), ('six', 7, 1);
UPDATE x_unique SET value = 'drei' WHERE value = 'three';
SELECT tidemark_check('x');
-- the dataset is lost, and then its index as well
CREATE TABLE kept AS SELECT * FROM x_unique;
PRAGMA writable_schema = on; DELETE FROM sqlite_schema WHERE name = 'x'; PRAGMA writable_schema = reset;
CREATE VIRTUAL TABLE x USING tidemark(id TEXT, unique=id);
CREATE VIRTUAL TABLE x USING tidemark(adopt=1);
INSERT INTO x VALUES ('a', 'one');
PRAGMA writable_schema = on; DELETE FROM sqlite_schema WHERE name = 'x'; PRAGMA writable_schema = reset;
DROP TABLE x_unique;
CREATE VIRTUAL TABLE x USING tidemark(adopt=1);
CREATE TABLE x_unique(value ANY PRIMARY KEY, partition INTEGER NOT NULL, since INTEGER NOT NULL, UNIQUE(partition, since)) STRICT, WITHOUT ROWID;
INSERT INTO x_unique SELECT * FROM kept;
CREATE VIRTUAL TABLE x USING tidemark(adopt=1);
INSERT INTO x VALUES ('a', 'one');
DROP TABLE x_unique;
SELECT tidemark_check('x');
INSERT INTO x VALUES ('a', 'seven');
SELECT count(*) FROM x;
DROP TABLE x;
-- adopted without its newest rows, whose values are still taken: their numbers are not given again
CREATE VIRTUAL TABLE x USING tidemark(id TEXT, unique=id);
INSERT INTO x VALUES ('a'); INSERT INTO x VALUES ('b');
DELETE FROM x_tail WHERE last_since = 2;
PRAGMA writable_schema = on; DELETE FROM sqlite_schema WHERE name = 'x'; PRAGMA writable_schema = reset;
CREATE VIRTUAL TABLE x USING tidemark(adopt=1);
INSERT INTO x VALUES ('b');
INSERT INTO x VALUES ('c');
SELECT since, id FROM x ORDER BY since;
SELECT tidemark_check('x');
DELETE FROM x_unique WHERE value = 'b';
INSERT INTO x VALUES ('b');
SELECT since, id FROM x ORDER BY since;
SELECT tidemark_check('x');
DROP TABLE x;
-- one so damaged that nothing is known of it takes its index along, and leaves a table of yours
CREATE VIRTUAL TABLE x USING tidemark(id TEXT, unique=id);
CREATE VIRTUAL TABLE y USING tidemark(id TEXT); CREATE TABLE y_unique(mine);
DROP TABLE x_config; DROP TABLE y_config;
DROP TABLE x; DROP TABLE y;
SELECT name FROM sqlite_schema WHERE name IN ('x_unique', 'y_unique');
