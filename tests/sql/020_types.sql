-- Columns are typed as in SQLite's STRICT tables: what loses nothing is converted, the rest is refused in words.
CREATE VIRTUAL TABLE d USING tidemark(i INTEGER, r REAL, t TEXT, b BLOB, a ANY, n);
.mode list
INSERT INTO d(i) VALUES (1), ('2'), (3.0), ('4.0'), (9223372036854775807), ('-9223372036854775808'), (NULL);
SELECT i, typeof(i) FROM d ORDER BY since;
INSERT INTO d(i) VALUES (1.5);
INSERT INTO d(i) VALUES ('x');
INSERT INTO d(i) VALUES (x'31');
INSERT INTO d(i) VALUES (9.3e18);
INSERT INTO d(i) VALUES ('9223372036854775808');
INSERT INTO d(i) VALUES ('');
DELETE FROM d;
INSERT INTO d(r) VALUES (1), ('2.5'), ('1e3'), (-0.0), (9e999), (9007199254740993);
SELECT r, typeof(r) FROM d ORDER BY since;
INSERT INTO d(r) VALUES ('1.5kg');
INSERT INTO d(r) VALUES (x'00');
DELETE FROM d;
INSERT INTO d(t) VALUES ('a'), (12), (1.5), (''), (1e100);
SELECT t, typeof(t) FROM d ORDER BY since;
INSERT INTO d(t) VALUES (x'61');
DELETE FROM d;
INSERT INTO d(b) VALUES (x''), (x'00ff');
SELECT hex(b), typeof(b) FROM d ORDER BY since;
INSERT INTO d(b) VALUES ('text');
INSERT INTO d(b) VALUES (1);
DELETE FROM d;
-- ANY, and a column without a type, keep what they are given
INSERT INTO d(a, n) VALUES ('1', '1'), (1, 1), (1.0, 1.0), (x'31', x'31'), (NULL, NULL), ('007', '007');
SELECT quote(a), quote(n) FROM d ORDER BY since;
-- logical types
CREATE VIRTUAL TABLE l USING tidemark(f BOOLEAN, j JSON, s TIMESTAMP_S, m TIMESTAMP_MS, u TIMESTAMP_US, n TIMESTAMP_NS);
INSERT INTO l VALUES (0, '{"a": 1}', 1, 2, 3, 4), ('1', 'not json', '1', 2.0, -3, NULL), (1.0, 5, 0, 0, 0, 0), (NULL, NULL, NULL, NULL, NULL, NULL);
SELECT quote(f), quote(j), quote(s), quote(m), quote(u), quote(n) FROM l ORDER BY since;
INSERT INTO l(f) VALUES (2);
INSERT INTO l(f) VALUES (-1);
INSERT INTO l(f) VALUES ('true');
INSERT INTO l(j) VALUES (x'7b7d');
INSERT INTO l(s) VALUES ('2026-01-01');
INSERT INTO l(m) VALUES (0.5);
INSERT INTO l(u) VALUES (x'00');
INSERT INTO l(n) VALUES ('now');
-- NOT NULL
CREATE VIRTUAL TABLE "not null" USING tidemark("a b" TEXT NOT NULL, c INTEGER);
INSERT INTO "not null" VALUES (NULL, 1);
INSERT INTO "not null"(c) VALUES (1);
INSERT OR IGNORE INTO "not null" VALUES ('kept', 1), (NULL, 2), ('kept too', 3);
INSERT OR IGNORE INTO "not null" VALUES ('kept', 'no number');
SELECT since, "a b", c FROM "not null" ORDER BY since;
-- a refused statement leaves nothing of itself
INSERT INTO "not null" VALUES ('gone', 4), ('gone', 5), (NULL, 6);
SELECT count(*) FROM "not null";
-- and everything comes back the same from a segment
SELECT quote(tidemark_flush('d')) <> 'NULL', quote(tidemark_flush('l')) <> 'NULL';
SELECT quote(a), quote(n) FROM d ORDER BY since;
SELECT quote(f), quote(j), quote(s), quote(m), quote(u), quote(n) FROM l ORDER BY since;
