-- A Parquet file is laid out as when its batch was claimed: what one Tidemark left under way, a later one ships with the
-- bytes that may have arrived. The hash is that of the Tidemark that knew layout 1 alone.
.system mkdir archive
CREATE VIRTUAL TABLE logs USING tidemark(id INTEGER, level TEXT, body TEXT, value REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
INSERT INTO logs SELECT i * 7919 % 10007, CASE i % 7 WHEN 0 THEN 'error' WHEN 1 THEN NULL ELSE 'info' END,
  printf('request %d of client %d took long', i * 31 % 20011, i % 5), i * 37 % 1000 / 8.0 FROM n;
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('a', 'logs', 'file://@DIR@/archive', 'parquet');
-- as in a dataset that an older Tidemark made
UPDATE logs_config SET value = 1 WHERE key = 'format';
-- a file where the folder would be: the batch stays
.system touch archive/logs
SELECT tidemark_export('a') ->> '$.failed';
.system rm archive/logs
SELECT config ->> '$.layout' FROM tidemark_batch;
-- an older Tidemark, which would ship the batch in layout 1, refuses the dataset by its format
SELECT value FROM logs_config WHERE key = 'format';
-- one of a later Tidemark is left to that
CREATE TEMP TABLE early AS SELECT * FROM tidemark_batch;
UPDATE early SET config = json_set(config, '$.layout', 3);
DELETE FROM tidemark_batch;
INSERT INTO tidemark_batch(sink, dataset, partition, generation, since, until, rows, key, object, config, owner,
  lease_until, attempts, not_before, error, claimed_at)
  SELECT sink, dataset, partition, generation, since, until, rows, key, object, config, owner,
    lease_until, attempts, not_before, error, claimed_at FROM early;
SELECT tidemark_export('a', 'now') ->> '$.failed';
SELECT replace(error, 'batch ' || batch, 'batch N') FROM tidemark_batch;
-- one of an early Tidemark
UPDATE early SET config = json_remove(config, '$.layout');
DELETE FROM tidemark_batch;
INSERT INTO tidemark_batch(sink, dataset, partition, generation, since, until, rows, key, object, config, owner,
  lease_until, attempts, not_before, error, claimed_at)
  SELECT sink, dataset, partition, generation, since, until, rows, key, object, config, owner,
    lease_until, attempts, not_before, error, claimed_at FROM early;
SELECT tidemark_export('a', 'now') ->> '$.rows';
SELECT rows, hash FROM tidemark_export_log;
SELECT tidemark_rewind('a', 'logs', '', 0, 'once more, in the newest layout') ->> '$.rows';
SELECT tidemark_export('a') ->> '$.rows';
SELECT rows, hash FROM tidemark_export_log ORDER BY id DESC LIMIT 1;
SELECT tidemark_verify('a') ->> '$.ok';
