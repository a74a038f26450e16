-- A tick with nothing new writes nothing: no row, no page, no file.
.system mkdir archive
PRAGMA journal_mode = WAL;
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source);
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('archive', 'logs', 'file://@DIR@/archive', 'ndjson');
INSERT INTO tidemark_sink(sink, dataset) VALUES ('hand', 'logs');
INSERT INTO logs VALUES ('web', 'one'), ('db', 'two');
SELECT json_valid(tidemark_export());
SELECT tidemark_claim('hand', 'logs');
SELECT json_valid(tidemark_flush('logs'));
PRAGMA wal_checkpoint(TRUNCATE);
.system cksum test.db test.db-wal >before; ls -R archive >>before
CREATE TEMP TABLE seen AS SELECT total_changes() AS n;
UPDATE seen SET n = total_changes() + 1;
SELECT json_valid(tidemark_export());
SELECT json_valid(tidemark_export('archive', 'now'));
SELECT json_valid(tidemark_export('archive', 'dataset=logs', 'max_batches=3'));
SELECT tidemark_claim('hand', 'logs');
SELECT json_valid(tidemark_flush('logs'));
SELECT total_changes() - n FROM seen;
.system cksum test.db test.db-wal >after; ls -R archive >>after
.system cmp before after && echo the same
-- a thousand of them in one statement, too
WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000) SELECT sum(json_valid(tidemark_export())) FROM c;
SELECT total_changes() - n FROM seen;
.system cksum test.db test.db-wal >after; ls -R archive >>after
.system cmp before after && echo the same
