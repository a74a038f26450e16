-- INSERT in its forms, what it gives back, DELETE, and what an append-only log refuses.
CREATE VIRTUAL TABLE d USING tidemark(source TEXT, n INTEGER, partition_by=source);
INSERT INTO d VALUES ('a', 1);
SELECT last_insert_rowid(), changes();
INSERT INTO d(n, source) VALUES (2, 'b'), (3, 'a'), (4, NULL);
SELECT last_insert_rowid(), changes();
INSERT INTO d(source, n) SELECT source, n + 10 FROM d WHERE n < 3;
SELECT last_insert_rowid(), changes();
INSERT INTO d DEFAULT VALUES;
SELECT since, source, n FROM d ORDER BY since;
-- the hidden columns cannot be given, nor the rowid
INSERT INTO d(since, n) VALUES (100, 1);
INSERT INTO d(partition, n) VALUES ('source=a', 1);
INSERT INTO d(ingested_at, n) VALUES (0, 1);
INSERT INTO d(rowid, n) VALUES (100, 1);
-- no UPDATE, and no REPLACE of a row there is
UPDATE d SET n = 5;
UPDATE d SET n = 5 WHERE since = 1;
UPDATE d SET since = 5 WHERE since = 1;
-- with nothing to update there is nothing to refuse
UPDATE d SET n = 5 WHERE since = 1000;
INSERT OR REPLACE INTO d VALUES ('a', 20);
SELECT count(*), max(since) FROM d;
-- transactions and savepoints
BEGIN;
INSERT INTO d VALUES ('a', 30);
SAVEPOINT one;
INSERT INTO d VALUES ('b', 31);
SAVEPOINT two;
INSERT INTO d VALUES ('b', 32);
SELECT group_concat(n) FROM (SELECT n FROM d WHERE n >= 30 ORDER BY since);
ROLLBACK TO two;
INSERT INTO d VALUES ('b', 33);
RELEASE two;
SELECT group_concat(n) FROM (SELECT n FROM d WHERE n >= 30 ORDER BY since);
ROLLBACK TO one;
INSERT INTO d VALUES ('c', 34);
COMMIT;
SELECT since, partition, n FROM d WHERE n >= 30 ORDER BY since;
BEGIN;
INSERT INTO d VALUES ('z', 40);
ROLLBACK;
SELECT count(*) FROM d WHERE n = 40;
INSERT INTO d VALUES ('a', 50);
SELECT since FROM d WHERE n = 50;
-- a failing statement inside a transaction undoes itself alone
BEGIN;
INSERT INTO d VALUES ('a', 60);
INSERT INTO d VALUES ('a', 61), ('a', 'no number');
INSERT OR FAIL INTO d VALUES ('a', 62), ('a', 'no number'), ('a', 63);
INSERT OR IGNORE INTO d VALUES ('a', 64), ('a', 'no number');
INSERT INTO d VALUES ('a', 65);
COMMIT;
SELECT group_concat(n) FROM (SELECT n FROM d WHERE n >= 60 ORDER BY since);
BEGIN;
INSERT INTO d VALUES ('a', 70);
INSERT OR ROLLBACK INTO d VALUES ('a', 71), ('a', 'no number');
COMMIT;
SELECT count(*) FROM d WHERE n >= 70;
-- conflict clauses, as an ordinary STRICT table has them: for NOT NULL, and never for what cannot be stored at all
CREATE VIRTUAL TABLE v USING tidemark(n INTEGER NOT NULL, f BOOLEAN, p TEXT, partition_by=p);
CREATE TABLE t(n INTEGER NOT NULL, f INTEGER, p TEXT) STRICT;
INSERT OR IGNORE INTO v VALUES (1, 0, NULL), (NULL, 0, NULL), (2, 0, NULL);
INSERT OR IGNORE INTO t VALUES (1, 0, NULL), (NULL, 0, NULL), (2, 0, NULL);
SELECT changes();
INSERT OR FAIL INTO v VALUES (3, 0, NULL), (NULL, 0, NULL), (4, 0, NULL);
INSERT OR FAIL INTO t VALUES (3, 0, NULL), (NULL, 0, NULL), (4, 0, NULL);
INSERT OR REPLACE INTO v VALUES (5, 0, NULL), (NULL, 0, NULL);
INSERT OR REPLACE INTO t VALUES (5, 0, NULL), (NULL, 0, NULL);
INSERT OR IGNORE INTO v VALUES (6, 0, NULL), ('no number', 0, NULL), (7, 0, NULL);
INSERT OR IGNORE INTO t VALUES (6, 0, NULL), ('no number', 0, NULL), (7, 0, NULL);
INSERT OR FAIL INTO v VALUES (8, 0, NULL), ('no number', 0, NULL), (9, 0, NULL);
INSERT OR FAIL INTO t VALUES (8, 0, NULL), ('no number', 0, NULL), (9, 0, NULL);
INSERT OR IGNORE INTO v VALUES (10, 2, NULL);
INSERT OR IGNORE INTO v VALUES (11, 0, printf('%300s', 'long'));
INSERT OR IGNORE INTO v(since, n) VALUES (12, 12);
SELECT group_concat(n) FROM (SELECT n FROM v ORDER BY since);
SELECT group_concat(n) FROM (SELECT n FROM t ORDER BY rowid);
BEGIN;
INSERT INTO v VALUES (20, 0, NULL);
INSERT OR ROLLBACK INTO v VALUES (21, 0, NULL), ('no number', 0, NULL);
COMMIT;
SELECT group_concat(n) FROM (SELECT n FROM v ORDER BY since);
BEGIN;
INSERT INTO v VALUES (30, 0, NULL);
INSERT OR ROLLBACK INTO v VALUES (31, 0, NULL), (NULL, 0, NULL);
COMMIT;
SELECT max(n) FROM v;
-- triggers
CREATE TABLE inbox(x INTEGER);
CREATE TRIGGER arrive AFTER INSERT ON inbox BEGIN INSERT INTO d VALUES ('inbox', new.x); END;
INSERT INTO inbox VALUES (80), (81);
SELECT partition, n FROM d WHERE source = 'inbox' ORDER BY since;
-- DELETE, and no number comes twice
DELETE FROM d WHERE source = 'a';
SELECT changes(), count(*) FROM d;
DELETE FROM d WHERE since = 2;
DELETE FROM d;
SELECT count(*) FROM d;
DELETE FROM sqlite_sequence;
UPDATE sqlite_sequence SET seq = 0;
VACUUM;
.open test.db
.load @MODULE@
INSERT INTO d VALUES ('a', 90);
SELECT since > 16, n FROM d;
-- a bad name is refused in words
SELECT tidemark_flush('nothing');
SELECT tidemark_flush('inbox');
SELECT tidemark_flush(NULL);
SELECT tidemark_flush('nowhere.d');
SELECT typeof(tidemark_flush('main.d'));
