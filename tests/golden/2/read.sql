-- What every later Tidemark reads in a file of format 2 (make.sql says what is in it), and that it can go on with it.
.system cp @HERE@/tidemark.db golden.db
.open golden.db
.load @MODULE@
.mode quote
.read @HERE@/rows.sql
SELECT tidemark_check(dataset) FROM tidemark_dataset;
PRAGMA integrity_check;
SELECT dataset, last_since, partitions, rows, written, deleted FROM tidemark_dataset;
SELECT dataset, partition, first_since, last_since, rows, deleted, revision, raw_bytes, stored_bytes, zstd_level
  FROM tidemark_segment;
SELECT hex(substr(meta, 1, 5)), count(*) FROM requests_segment;
SELECT key, value FROM requests_config WHERE key = 'format';

-- Every row, against those that were put in.
CREATE TEMP TABLE wanted AS SELECT * FROM drawn;
CREATE INDEX temp.wanted_n ON wanted(n);
SELECT count(*) FROM requests r CROSS JOIN wanted d ON d.n = r.since WHERE r.message IS d.message AND r.level IS d.level
  AND r.job IS d.job AND r.request IS d.request AND r.beside IS d.beside AND typeof(r.mixed) = typeof(d.mixed)
  AND r.mixed IS d.mixed AND r.duration IS d.duration AND r.noise IS d.noise AND r.close IS d.close AND r.same IS d.same
  AND r.status IS d.status AND r.size IS d.size AND r.ts IS d.ts;
SELECT count(*) FROM packed p CROSS JOIN wanted d ON d.n = p.since WHERE p.kind = d.n % 4 AND p.message IS d.message
  AND p.level IS d.level AND p.job IS d.job AND p.request IS d.request AND p.beside IS d.beside
  AND typeof(p.mixed) = typeof(d.mixed) AND p.mixed IS d.mixed AND p.duration IS d.duration AND p.noise IS d.noise
  AND p.close IS d.close AND p.same IS d.same AND p.status IS d.status AND p.size IS d.size AND p.ts IS d.ts
  AND p.trace = 'before 1';
SELECT since, message, level, job, request, beside, mixed, duration, noise, close, same, status, size, ts FROM requests
  WHERE since % 700 < 4 ORDER BY since;
SELECT since, kind, message, trace FROM packed WHERE since > 1495 ORDER BY since;
SELECT count(*), sum(size), sum(status), total(duration), count(DISTINCT job) FROM requests WHERE ts > 1767228600000;
SELECT count(*) FROM requests WHERE duration = 0.25 OR size < 1000000;
SELECT * FROM young;
SELECT last_since, rows, hex(substr(data, 1, 1)) FROM waiting_tail;
SELECT count(*) FROM waiting w JOIN drawn d ON d.n = w.since WHERE w.kind = 7 AND w.message IS d.message
  AND typeof(w.mixed) = typeof(d.mixed) AND w.mixed IS d.mixed AND w.duration IS d.duration AND w.trace = 'before 1';
SELECT since, message, mixed, duration, trace FROM waiting WHERE since BETWEEN 299 AND 302;

-- Going on.
INSERT INTO requests(message, ts) VALUES ('GET /page/7?size=8 HTTP/1.1 took 009 ms', 1767225600000), (NULL, NULL);
SELECT json_remove(tidemark_flush('requests'), '$.stored_bytes', '$.now');
SELECT json_remove(tidemark_compact('requests'), '$.stored_in', '$.stored_out', '$.now');
SELECT since, message FROM requests WHERE since >= 4500;
SELECT tidemark_flush('packed') ->> 'rows', tidemark_flush('young') ->> 'rows', tidemark_flush('waiting') ->> 'rows';
SELECT value FROM young_config WHERE key = 'format';
DELETE FROM packed WHERE kind = 2;
SELECT tidemark_compact('packed') ->> 'rows';
SELECT tidemark_check(dataset) FROM tidemark_dataset;
