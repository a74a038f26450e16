-- How tests/golden/2/tidemark.db came to be, written by the first Tidemark of format 2 on SQLite 3.40:
--   sqlite3 -cmd ".load build/ext/tidemark" tidemark.db < make.sql     in the folder of this file
-- The file stays as it is: a later Tidemark has to read what this one wrote.
PRAGMA page_size = 1024;
.read rows.sql

-- Texts as templates, in two frames.
CREATE VIRTUAL TABLE requests USING tidemark(
  message TEXT, level TEXT, job TEXT, request TEXT, beside TEXT, mixed ANY, duration REAL, noise REAL, close REAL,
  same REAL, status INTEGER, size INTEGER, ts TIMESTAMP_MS, segment_rows=8192, zstd_level=1);
INSERT INTO requests SELECT message, level, job, request, beside, mixed, duration, noise, close, same, status, size, ts
  FROM drawn ORDER BY n;
SELECT tidemark_flush('requests') ->> 'segments';

-- The same rows, compacted, some of them gone.
CREATE VIRTUAL TABLE packed USING tidemark(
  kind INTEGER, message TEXT, level TEXT, job TEXT, request TEXT, beside TEXT, mixed ANY, duration REAL, noise REAL,
  close REAL, same REAL, status INTEGER, size INTEGER, ts TIMESTAMP_MS, partition_by=kind, segment_rows=300);
INSERT INTO packed SELECT n % 4, message, level, job, request, beside, mixed, duration, noise, close, same, status, size, ts
  FROM drawn WHERE n <= 700 ORDER BY n;
SELECT tidemark_flush('packed') ->> 'segments';
INSERT INTO packed SELECT n % 4, message, level, job, request, beside, mixed, duration, noise, close, same, status, size, ts
  FROM drawn WHERE n BETWEEN 701 AND 1500 ORDER BY n;
SELECT tidemark_flush('packed') ->> 'segments';
DELETE FROM packed WHERE since % 10 = 4;
SELECT tidemark_compact('packed') ->> 'segments_out';
SELECT tidemark_add_column('packed', 'trace TEXT DEFAULT ''before 1''') ->> 'added';
INSERT INTO packed(kind, message, trace) VALUES (1, 'in the tail 7', 'after 2');

-- A batch of the tail that is packed, and one that is not.
CREATE VIRTUAL TABLE waiting USING tidemark(kind INTEGER, message TEXT, mixed ANY, duration REAL, partition_by=kind,
  autoflush=0);
INSERT INTO waiting SELECT 7, message, mixed, duration FROM drawn WHERE n <= 300 ORDER BY n;
INSERT INTO waiting SELECT 7, message, mixed, duration FROM drawn WHERE n BETWEEN 301 AND 303 ORDER BY n;
SELECT tidemark_add_column('waiting', 'trace TEXT DEFAULT ''before 1''') ->> 'added';

-- Format 1 in all but its number: a dataset that has no segments yet.
CREATE VIRTUAL TABLE young USING tidemark(x);
INSERT INTO young VALUES ('in the tail');
UPDATE young_config SET value = 1 WHERE key = 'format';
VACUUM;
