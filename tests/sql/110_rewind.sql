-- A replay on purpose: the sink goes back to a since of one partition, and ships what is above it once more, elsewhere.
.system mkdir archive
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT NOT NULL, body TEXT, partition_by=source);
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('archive', 'logs', 'file://@DIR@/archive', 'ndjson');
INSERT INTO tidemark_sink(sink, dataset) VALUES ('mine', 'logs');
INSERT INTO logs VALUES ('web', 'one'), ('web', 'two'), ('db', 'three'), ('web', 'four');
SELECT tidemark_export('archive') ->> 'rows';
SELECT tidemark_export('archive') ->> 'rows';
SELECT tidemark_rewind('archive', 'logs', 'source=web', 1, 'the disk lost a file');
-- the same call again changes nothing
SELECT tidemark_rewind('archive', 'logs', 'source=web', 1, 'the disk lost a file');
SELECT id, partition, generation, kind, since, until, rows, reason FROM tidemark_export_log;
SELECT sink, partition, since, until, rows FROM tidemark_lag WHERE sink = 'archive';
SELECT tidemark_export('archive') ->> 'rows';
SELECT tidemark_export('archive') ->> 'rows';
.system ls archive archive/logs.g1/* | grep -v /..*: | sed 's/\.[0-9a-f]*\.ndjson/.LOG.ndjson/'
.system cat archive/logs.g1/source=web/*.ndjson
SELECT * FROM (SELECT sink, partition, generation, since FROM tidemark_watermark) ORDER BY partition;
-- it follows the transaction it is in
BEGIN;
SELECT tidemark_rewind('archive', 'logs', 'source=web', 0, 'all of it') ->> 'rows';
ROLLBACK;
SELECT count(*) FROM tidemark_export_log;
-- what it refuses
SELECT tidemark_rewind('nobody', 'logs', 'source=web', 0, 'x');
SELECT tidemark_rewind('archive', 'nothing', 'source=web', 0, 'x');
SELECT tidemark_rewind('archive', 'logs', 'source=nowhere', 0, 'x');
SELECT tidemark_rewind('archive', 'logs', 'web', 0, 'x');
SELECT tidemark_rewind('archive', 'logs', 'source=web', 4, 'x');
SELECT tidemark_rewind('archive', 'logs', 'source=web', -1, 'x');
SELECT tidemark_rewind('archive', 'logs', 'source=web', 'yesterday', 'x');
SELECT tidemark_rewind('archive', 'logs', 'source=web', 0, '');
SELECT tidemark_rewind('archive', 'logs', 'source=web', 0, NULL);
SELECT tidemark_rewind('mine', 'logs', 'source=web', 0, 'x');
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) VALUES ('mine', 'logs', 'source=web', 0, 2, 2);
SELECT tidemark_claim('mine', 'logs');
SELECT tidemark_rewind('mine', 'logs', 'source=web', 0, 'x');
-- by hand: the log fills in generation and rows, and wants the rest right
INSERT INTO tidemark_export_log(sink, dataset, partition, kind, since, until, reason, generation) VALUES ('archive', 'logs', 'source=web', 'rewind', 4, 0, 'x', 2);
INSERT INTO tidemark_export_log(sink, dataset, partition, kind, since, until, reason, rows) VALUES ('archive', 'logs', 'source=web', 'rewind', 4, 0, 'x', 99);
SELECT generation, since, until, rows FROM tidemark_export_log ORDER BY id DESC LIMIT 1;
UPDATE tidemark_export_log SET rows = 99 WHERE kind = 'rewind';
-- the log is trimmed from its oldest row on, what it counted stays
SELECT partition, sum(CASE kind WHEN 'rewind' THEN -rows ELSE rows END) FROM tidemark_export_log WHERE sink = 'archive' GROUP BY 1;
DELETE FROM tidemark_export_log WHERE kind = 'rewind';
DELETE FROM tidemark_export_log AS e WHERE EXISTS (SELECT 1 FROM tidemark_export_log n WHERE n.sink = e.sink AND n.partition = e.partition AND n.id > e.id);
SELECT id, partition, kind, rows FROM tidemark_export_log WHERE sink = 'archive' ORDER BY partition;
SELECT sink, dataset, partition, generation, batches, rows, gap_rows, rewound_rows, until FROM tidemark_export_total;
SELECT tidemark_export('archive') ->> 'rows';
