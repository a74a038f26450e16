-- Every wrong word of CREATE VIRTUAL TABLE is refused by name.
CREATE VIRTUAL TABLE d USING tidemark;
CREATE VIRTUAL TABLE d USING tidemark(segment_rows=100);
CREATE VIRTUAL TABLE d USING tidemark(a VARCHAR);
CREATE VIRTUAL TABLE d USING tidemark(a TIMESTAMP);
CREATE VIRTUAL TABLE d USING tidemark(a TEXT UNIQUE);
CREATE VIRTUAL TABLE d USING tidemark(a INTEGER PRIMARY KEY);
CREATE VIRTUAL TABLE d USING tidemark(a TEXT DEFAULT 'x');
CREATE VIRTUAL TABLE d USING tidemark(a TEXT CHECK(a > 1));
CREATE VIRTUAL TABLE d USING tidemark(a TEXT COLLATE NOCASE);
CREATE VIRTUAL TABLE d USING tidemark(a TEXT NOT);
CREATE VIRTUAL TABLE d USING tidemark(a TEXT, b TEXT, A TEXT);
CREATE VIRTUAL TABLE d USING tidemark(since INTEGER);
CREATE VIRTUAL TABLE d USING tidemark(a TEXT, "Partition" TEXT);
CREATE VIRTUAL TABLE d USING tidemark(a TEXT, ingested_at INTEGER);
-- options
CREATE VIRTUAL TABLE d USING tidemark(a TEXT, colour=red);
CREATE VIRTUAL TABLE d USING tidemark(a TEXT, segment_rows=15);
CREATE VIRTUAL TABLE d USING tidemark(a TEXT, segment_rows=1048577);
CREATE VIRTUAL TABLE d USING tidemark(a TEXT, segment_rows=many);
CREATE VIRTUAL TABLE d USING tidemark(a TEXT, segment_rows=100, segment_rows=200);
CREATE VIRTUAL TABLE d USING tidemark(a TEXT, zstd_level=20);
CREATE VIRTUAL TABLE d USING tidemark(a TEXT, zstd_level=0);
CREATE VIRTUAL TABLE d USING tidemark(a TEXT, autoflush=2);
CREATE VIRTUAL TABLE d USING tidemark(a TEXT, autoflush=);
-- partition_by
CREATE VIRTUAL TABLE d USING tidemark(a TEXT, partition_by=b);
CREATE VIRTUAL TABLE d USING tidemark(a TEXT, partition_by=(a, a));
CREATE VIRTUAL TABLE d USING tidemark(a TEXT, partition_by=());
CREATE VIRTUAL TABLE d USING tidemark(a TEXT, b TEXT, partition_by=(a b));
CREATE VIRTUAL TABLE d USING tidemark(a TEXT, b TEXT, partition_by=a, partition_by=b);
CREATE VIRTUAL TABLE d USING tidemark(a TEXT, partition_by=since);
CREATE VIRTUAL TABLE d USING tidemark(a REAL, partition_by=a);
CREATE VIRTUAL TABLE d USING tidemark(a BLOB, partition_by=a);
CREATE VIRTUAL TABLE d USING tidemark(a JSON, partition_by=a);
CREATE VIRTUAL TABLE d USING tidemark(a, partition_by=a);
-- names
CREATE VIRTUAL TABLE tidemark_mine USING tidemark(a TEXT);
CREATE VIRTUAL TABLE Tidemark USING tidemark(a TEXT);
CREATE TABLE d_tail(mine); INSERT INTO d_tail VALUES ('kept');
CREATE VIRTUAL TABLE d USING tidemark(a TEXT);
SELECT * FROM d_tail; DROP TABLE d_tail;
-- nothing is left of all these
SELECT count(*) FROM sqlite_schema;
-- and the right words, in any order and quoting
CREATE VIRTUAL TABLE d USING tidemark(segment_rows=16, "a b" TEXT NOT NULL, [c] timestamp_ms, `e`, partition_by=("a b", c), zstd_level = 19, autoflush = 0);
SELECT name, type, "notnull", hidden FROM pragma_table_xinfo('d');
CREATE VIRTUAL TABLE d USING tidemark(a TEXT);
CREATE VIRTUAL TABLE IF NOT EXISTS d USING tidemark(a TEXT);
DROP TABLE d;
SELECT count(*) FROM sqlite_schema WHERE name LIKE 'd\_%' ESCAPE '\';
