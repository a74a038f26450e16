-- tidemark_peek says what a tick would do and writes nothing; tidemark_fork and tidemark_requeue in words.
.system mkdir archive
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source);
INSERT INTO tidemark_sink(sink, dataset, target, format, max_rows) VALUES ('archive', 'logs', 'file://@DIR@/archive', 'ndjson', 2);
INSERT INTO tidemark_sink(sink, dataset) VALUES ('hand', 'logs');
INSERT INTO logs VALUES ('web', 'one'), ('web', 'two'), ('web', 'three'), ('db', 'four');
SELECT b.value ->> 'partition', b.value ->> 'does', b.value ->> 'since', b.value ->> 'until', b.value ->> 'rows', substr(b.value ->> 'object', 1, 56) FROM json_each(tidemark_peek('archive'), '$.sinks[0].batches') b;
SELECT p ->> 'sink', p ->> 'dataset', p ->> 'state', p ->> 'rows', p ->> 'more' FROM (SELECT tidemark_peek('archive', 'logs') -> '$.sinks[0]' p);
SELECT count(*) FROM tidemark_batch;
-- it is what the tick does
SELECT tidemark_export('archive', 'max_batches=2') ->> 'rows';
SELECT partition, since, until, rows FROM tidemark_export_log;
SELECT b.value ->> 'partition', b.value ->> 'does', b.value ->> 'since', b.value ->> 'until' FROM json_each(tidemark_peek('archive'), '$.sinks[0].batches') b;
SELECT tidemark_export('archive') ->> 'rows';
SELECT tidemark_peek('archive') ->> '$.sinks[0].batches', tidemark_peek('archive') ->> '$.sinks[0].rows';
-- rows that wait for company, and a batch that failed
UPDATE tidemark_sink SET min_rows = 3 WHERE sink = 'archive';
INSERT INTO logs VALUES ('web', 'five');
SELECT b.value ->> 'partition', b.value ->> 'does', b.value ->> 'rows' FROM json_each(tidemark_peek('archive'), '$.sinks[0].batches') b;
UPDATE tidemark_sink SET min_rows = NULL WHERE sink = 'archive';
.system mv archive away
SELECT tidemark_export('archive') ->> 'failed';
SELECT b.value ->> 'partition', b.value ->> 'does', b.value ->> 'attempts', b.value ->> 'retry_at' > 1.7e12 FROM json_each(tidemark_peek('archive'), '$.sinks[0].batches') b;
.system mv away archive
-- a paused sink: what it would do if it were active
UPDATE tidemark_sink SET state = 'paused' WHERE sink = 'archive';
SELECT tidemark_peek('archive') ->> '$.sinks[0].state', tidemark_peek('archive') ->> '$.sinks[0].batches[0].does';
SELECT tidemark_export('archive', 'now') ->> 'rows';
UPDATE tidemark_sink SET state = 'active' WHERE sink = 'archive';
SELECT tidemark_export('archive', 'now') ->> 'rows';
-- a fork: names begin anew, the watermark stays
SELECT f ->> 'sink', f ->> 'dataset', f ->> 'given_up', length(f ->> 'log_id') FROM (SELECT tidemark_fork('archive') -> '$.sinks[0]' f);
INSERT INTO logs VALUES ('web', 'six');
SELECT tidemark_export('archive') ->> 'rows';
SELECT count(DISTINCT substr(object, -39, 32)), sum(rows) FROM tidemark_export_log;
.system ls archive/_tidemark | wc -l
-- refused
SELECT tidemark_peek('hand');
SELECT tidemark_peek('nobody');
SELECT tidemark_peek('archive', 'nowhere');
SELECT tidemark_peek(NULL);
SELECT tidemark_fork('archive', NULL);
SELECT tidemark_requeue('archive');
BEGIN;
INSERT INTO logs VALUES ('web', 'seven');
SELECT tidemark_peek('archive');
SELECT tidemark_fork('archive');
ROLLBACK;
SELECT tidemark_add_schemes(1);
CREATE VIEW v AS SELECT tidemark_fork('archive');
SELECT * FROM v;
