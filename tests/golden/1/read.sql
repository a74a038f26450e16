-- What every later Tidemark reads in a file of format 1 (make.sql says what is in it), and that it can go on with it.
.system cp @HERE@/tidemark.db golden.db
.open golden.db
.load @MODULE@
.mode quote
SELECT tidemark_check(dataset) FROM tidemark_dataset;
PRAGMA integrity_check;
PRAGMA application_id;
PRAGMA user_version;

SELECT dataset, log_id, last_since, partitions, rows, written, deleted FROM tidemark_dataset;
SELECT dataset, partition, rows, written, deleted, segments, tail_rows, raw_bytes, stored_bytes, first_since, last_since,
  pruned_upto, held_by, held_rows FROM tidemark_stat;
SELECT * FROM tidemark_segment;
SELECT * FROM tidemark_sink;
SELECT id, sink, dataset, partition, generation, kind, since, until, rows, skipped, dead, bytes, object, reason
  FROM tidemark_export_log;
SELECT batch, sink, dataset, partition, generation, since, until, rows, object, config, attempts, error FROM tidemark_batch;
SELECT sink, dataset, partition, since, until, rows, state FROM tidemark_lag;

SELECT since, partition, source, ok, id, r, t, b, a, j, s, ms, us, ns, trace, weight FROM logs WHERE since % 7 = 1 ORDER BY since;
SELECT count(*), sum(id), total(length(t)), total(length(CAST(b AS BLOB))), sum(ms), count(DISTINCT typeof(a)) FROM logs;
SELECT hex(t), count(*) FROM logs WHERE t NOT LIKE 'GET%' GROUP BY 1 ORDER BY 1;
SELECT since, id, t FROM logs WHERE source = 'web' AND ok = 1 ORDER BY since DESC;
SELECT since, id, t FROM web;
SELECT since, * FROM "weather ""data"" – Ö";
SELECT since, x FROM after;
SELECT * FROM empty;

-- Going on.
INSERT OR IGNORE INTO logs(source, ok, id, t) VALUES ('web', 1, -5, 'there already'), ('web', 0, 4, 'deleted before');
INSERT INTO logs(source, ok, id, t) VALUES ('web', 1, -5, 'there already');
INSERT INTO web(id, t) VALUES (-6, 'through the partition table');
SELECT last_insert_rowid();
SELECT json_remove(tidemark_flush('logs'), '$.stored_bytes', '$.now');
SELECT tidemark_claim('narrow', 'logs');
BEGIN IMMEDIATE;
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)
  SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag WHERE sink = 'daily' AND rows > 0;
COMMIT;
SELECT tidemark_compact('logs') ->> 'rows';
SELECT tidemark_add_column('logs', 'later') ->> 'added';
SELECT id, t, weight, later FROM logs WHERE id < 5 ORDER BY since;
SELECT tidemark_check('logs');
INSERT INTO after VALUES (3);
SELECT sink, since, until, rows FROM tidemark_lag WHERE dataset = 'after';
