-- The partition's text: percent-encoded, and never the same for two values.
CREATE VIRTUAL TABLE d USING tidemark(source TEXT, n INTEGER, partition_by=source);
INSERT INTO d VALUES ('web', 1), ('a b/c=d%', 2), ('.', 3), ('', 4), (NULL, 5), ('__HIVE_DEFAULT_PARTITION__', 6), ('é', 7), ('A-z_0.9~', 8), ('web', 9), (char(10), 10);
SELECT n, partition FROM d ORDER BY since;
SELECT count(DISTINCT partition) FROM d;
-- by the text and by the value
SELECT n FROM d WHERE partition = 'source=web' ORDER BY since;
SELECT n FROM d WHERE source = 'web' AND since > 1;
SELECT n FROM d WHERE source IS NULL;
SELECT n FROM d WHERE source = '';
SELECT n FROM d WHERE partition = 'source=__HIVE_DEFAULT_PARTITION__';
SELECT n FROM d WHERE partition IN ('source=', 'source=.', 'source=none') ORDER BY n;
SELECT n FROM d WHERE partition = 'source=nope' OR partition = 'web';
SELECT n FROM d WHERE source > 'w' ORDER BY n;
SELECT source, count(*), min(since), max(since) FROM d GROUP BY source ORDER BY source;
-- a part of at most 255 bytes: source= and 248 more
INSERT INTO d VALUES (printf('%.*c', 248, 'x'), 11);
INSERT INTO d VALUES (printf('%.*c', 249, 'x'), 12);
INSERT INTO d VALUES (printf('%.*c', 83, '/'), 13);
SELECT n, length(partition) FROM d WHERE n > 10;
-- several columns, and each type that may partition
CREATE VIRTUAL TABLE m USING tidemark(day TEXT, "a=b" INTEGER, ok BOOLEAN, at TIMESTAMP_MS, n INTEGER, partition_by=("a=b", day, ok, at));
INSERT INTO m VALUES ('2026-01-01', -5, 1, 1767225600000, 1), ('2026-01-01', '7', 0, NULL, 2), (NULL, NULL, NULL, 0, 3), ('2026-01-02', -5, 1, 1767225600000, 4);
SELECT partition, n FROM m ORDER BY since;
SELECT n FROM m WHERE "a=b" = -5 ORDER BY n;
SELECT n FROM m WHERE "a=b" = -5 AND day = '2026-01-02';
SELECT n FROM m WHERE ok = 0;
SELECT n FROM m WHERE at IS NULL;
SELECT day, "a=b", ok, at, typeof("a=b") FROM m ORDER BY since;
-- one partition without partition_by
CREATE VIRTUAL TABLE u USING tidemark(n INTEGER);
INSERT INTO u VALUES (1), (2);
SELECT quote(partition), n FROM u WHERE partition = '' ORDER BY since;
-- the same after sealing and opening again
SELECT tidemark_flush('d') IS NOT NULL, tidemark_flush('m') IS NOT NULL, tidemark_flush('u') IS NOT NULL;
.open test.db
.load @MODULE@
SELECT n, partition FROM d WHERE n < 11 ORDER BY since;
SELECT n FROM d WHERE source IS NULL;
SELECT n FROM d WHERE source = '' OR source = '.' ORDER BY n;
SELECT partition, day, "a=b", ok, at, n FROM m ORDER BY since;
SELECT quote(partition), n FROM u WHERE partition = '' ORDER BY since;
