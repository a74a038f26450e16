-- What lies in a sink's folder against what its log says was put there.
.system mkdir archive
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source);
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('archive', 'logs', 'file://@DIR@/archive', 'ndjson');
-- nothing was put there yet
SELECT tidemark_verify('archive');
INSERT INTO logs VALUES ('web', 'one'), ('web', 'two'), ('db', 'three');
SELECT tidemark_export('archive') ->> 'batches';
INSERT INTO logs VALUES ('web', 'four'), ('web', 'five');
UPDATE tidemark_sink SET format = 'ndjson.zst';
SELECT tidemark_export('archive') ->> 'batches';
SELECT e ->> 'ok', e ->> 'objects', e ->> '$.counts' FROM (SELECT tidemark_verify('archive', 'logs') AS e);
-- others' files, and another log's, are nobody's business here
.system echo hello > archive/logs/README; mkdir archive/other; echo > archive/other/x.ndjson
.system cp archive/logs/source=db/*.ndjson archive/logs/source=db/00000000000000000000-00000000000000000003.fedcba98765432100123456789abcdef.ndjson
SELECT tidemark_verify('archive') ->> 'ok';
-- one byte of a plain object, the length as it was; then one of a packed one
.system cp -r archive good; printf T | LD_PRELOAD= dd of=$(ls archive/logs/source=db/*-00000000000000000003.*.ndjson | grep -v fedcba) bs=1 seek=8 conv=notrunc status=none
.once '|sed -E s/[.][0-9a-f]{32}[.]/.LOGID./'
SELECT e -> 'damaged', e ->> 'ok' FROM (SELECT tidemark_verify('archive') AS e);
.system rm -r archive; cp -r good archive; printf 'XX' | LD_PRELOAD= dd of=$(ls archive/logs/source=web/*.zst) bs=1 seek=10 conv=notrunc status=none
SELECT e ->> '$.damaged[0].found' LIKE 'zstd: %' OR e ->> '$.damaged[0].found' LIKE 'hash %', e -> 'counts', e ->> 'ok' FROM (SELECT tidemark_verify('archive') AS e);
-- a part is gone, or all of it
.system rm -r archive; cp -r good archive; truncate -s 20 archive/logs/source=db/*-00000000000000000003.*.ndjson
.once '|sed -E s/[.][0-9a-f]{32}[.]/.LOGID./'
SELECT e -> 'damaged', e ->> 'ok' FROM (SELECT tidemark_verify('archive') AS e);
.system rm -r archive; cp -r good archive; echo more >> $(ls archive/logs/source=web/*.zst)
SELECT (e ->> '$.damaged[0].found') - (e ->> '$.damaged[0].expected'), e ->> 'ok' FROM (SELECT tidemark_verify('archive') AS e);
.system rm -r archive; cp -r good archive; rm -r archive/logs/source=web
.once '|sed -E s/[.][0-9a-f]{32}[.]/.LOGID./g'
SELECT e -> 'missing', e ->> 'hint', e ->> 'ok' FROM (SELECT tidemark_verify('archive') AS e);
-- a link is not the object
.system rm -r archive; cp -r good archive; mv archive/logs/source=web web; ln -s ../../web archive/logs/source=web
SELECT e ->> '$.damaged[0].found' LIKE '%/logs/source=web" is a symbolic link, which is never followed%', e -> 'counts' FROM (SELECT tidemark_verify('archive') AS e);
-- an object of ours that no batch of the log wrote
.system rm -r archive web; cp -r good archive; cp archive/logs/source=web/*-00000000000000000002.*.ndjson $(ls archive/logs/source=web/*-00000000000000000002.*.ndjson | sed s/-0*2[.]/-00000000000000000001./)
.once '|sed -E s/[.][0-9a-f]{32}[.]/.LOGID./'
SELECT e -> 'extra', e -> 'counts', e ->> 'ok' FROM (SELECT tidemark_verify('archive') AS e);
.system rm archive/logs/source=web/*-00000000000000000001.*
SELECT tidemark_verify('archive') ->> 'ok';
-- an open batch's is told apart, and is no fault
INSERT INTO logs VALUES ('web', 'six');
.system mv archive away
SELECT tidemark_export('archive') ->> 'failed';
.system mv away archive
SELECT writefile('archive/' || object, 'half') FROM tidemark_batch;
.once '|sed -E s/[.][0-9a-f]{32}[.]/.LOGID./'
SELECT e -> 'extra', e -> 'counts', e ->> 'ok' FROM (SELECT tidemark_verify('archive') AS e);
-- and is one when the batch was given up
DELETE FROM tidemark_batch;
SELECT e -> '$.extra[0].batch', e -> 'counts', e ->> 'ok' FROM (SELECT tidemark_verify('archive') AS e);
.system rm archive/logs/source=web/*-00000000000000000006.*
-- each generation has its folder
SELECT tidemark_export('archive', 'now') ->> 'batches';
SELECT json_valid(tidemark_rewind('archive', 'logs', 'source=web', 1, 'a test'));
SELECT tidemark_export('archive') ->> 'batches';
SELECT e ->> 'objects', e ->> 'ok' FROM (SELECT tidemark_verify('archive') AS e);
.system cp archive/logs.g1/source=web/*-00000000000000000006.*.zst $(ls archive/logs.g1/source=web/*-00000000000000000006.*.zst | sed s/-0*6[.]/-00000000000000000004./)
SELECT e -> 'counts', e ->> 'ok' FROM (SELECT tidemark_verify('archive') AS e);
.system rm archive/logs.g1/source=web/*-00000000000000000004.*
-- rows that were trimmed from the log are not compared, and their objects are not extra
DELETE FROM tidemark_export_log WHERE partition = 'source=web' AND id < (SELECT max(id) FROM tidemark_export_log);
SELECT e ->> 'objects', e -> '$.trimmed.batches', e -> '$.trimmed.objects', e -> '$.trimmed.first_id', e -> 'counts', e ->> 'ok' FROM (SELECT tidemark_verify('archive') AS e);
.system rm archive/logs/source=web/*-00000000000000000002.*
SELECT e ->> 'objects', e -> '$.trimmed.objects', e ->> 'ok' FROM (SELECT tidemark_verify('archive') AS e);
-- every dataset that the sink reads, or one
CREATE VIRTUAL TABLE more USING tidemark(n INTEGER);
INSERT INTO more VALUES (1);
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('archive', 'more', 'file://@DIR@/archive', 'ndjson');
SELECT tidemark_export('archive') ->> 'batches';
SELECT e -> 'datasets', e ->> 'objects', e ->> 'ok' FROM (SELECT tidemark_verify('archive') AS e);
SELECT e -> 'datasets', e ->> 'objects', e ->> 'ok' FROM (SELECT tidemark_verify('archive', 'main.more') AS e);
-- the target as it is now
.system mkdir moved
UPDATE tidemark_sink SET target = 'file://@DIR@/moved' WHERE dataset = 'more';
SELECT e -> '$.counts.missing', e ->> 'hint' FROM (SELECT tidemark_verify('archive', 'more') AS e);
-- refused in words
SELECT tidemark_verify('nobody');
SELECT tidemark_verify('archive', 'nothing');
SELECT tidemark_verify(7);
INSERT INTO tidemark_sink(sink, dataset) VALUES ('mine', 'logs');
SELECT tidemark_verify('mine');
BEGIN;
INSERT INTO more VALUES (2);
SELECT tidemark_verify('archive');
ROLLBACK;
.system mv moved gone
SELECT tidemark_verify('archive', 'more');
-- nothing was written by any of it
SELECT count(*) FROM tidemark_batch;
