-- IN compares as an ordinary table does, whatever the types on both sides.
CREATE VIRTUAL TABLE d USING tidemark(k TEXT, n INTEGER, a ANY, r REAL);
INSERT INTO d VALUES('7', 7, 7, 7), ('7.0', 8, '8', 8), ('x', 9, x'37', 9), ('9', 10, 9.0, 0);
SELECT tidemark_flush('d') ->> 'rows';
CREATE TABLE t(k TEXT, n INTEGER, a ANY, r REAL) STRICT;
INSERT INTO t SELECT * FROM d;
SELECT k FROM d WHERE k IN (SELECT n FROM t);
SELECT k FROM t WHERE k IN (SELECT n FROM t);
SELECT k FROM d WHERE k IN (SELECT a FROM t);
SELECT k FROM t WHERE k IN (SELECT a FROM t);
SELECT a FROM d WHERE a IN (SELECT r FROM t);
SELECT a FROM t WHERE a IN (SELECT r FROM t);
SELECT a FROM d WHERE a IN (7, '9', 9);
SELECT a FROM t WHERE a IN (7, '9', 9);
SELECT k FROM d WHERE k IN (7, 9.0);
SELECT k FROM t WHERE k IN (7, 9.0);
-- The thirty-third constraint is one of those about which SQLite does not say whether they are an IN.
SELECT count(*) FROM d WHERE n > 0 AND n > 1 AND n > 2 AND n > 3 AND n > -1 AND n > -2 AND n > -3 AND n > -4
  AND n > -5 AND n > -6 AND n > -7 AND n > -8 AND n > -9 AND n > -10 AND n > -11 AND n > -12 AND n > -13 AND n > -14
  AND n > -15 AND n > -16 AND n > -17 AND n > -18 AND n > -19 AND n > -20 AND n > -21 AND n > -22 AND n > -23
  AND n > -24 AND n > -25 AND n > -26 AND n > -27 AND n > -28 AND k IN (SELECT n FROM t);
