-- What to look at first, in 80 columns:  sqlite3 my.db < sql/status.sql
-- Writes nothing. Datasets and their partitions, the biggest first; sinks and how far each is behind; rows that
-- retention would take and who holds them; batches that wait, and why.
--
-- Parameters, set before the script:  sqlite3 my.db -cmd ".param set @most 50" < sql/status.sql
--   @most       how many lines of each kind to show (10)
--   @extension  where Tidemark is, such as build/ext/tidemark; else tidemark on the library path, unless it is loaded
--               already
.bail off
.mode list
.headers off
.timeout 10000
.param init
REPLACE INTO temp.sqlite_parameters SELECT '@loaded', count(*) FROM pragma_module_list WHERE name = 'tidemark';
SELECT 0 WHERE NOT @loaded AND load_extension(coalesce(@extension, 'tidemark')) IS NOT NULL;
DROP TABLE IF EXISTS temp.status_needs;
CREATE TEMP TABLE status_needs(
  found CONSTRAINT "tidemark was not found: .param set @extension FOLDER/tidemark says where it is" CHECK (found),
  known CONSTRAINT "status.sql knows the parameters @most and @extension" CHECK (known));
INSERT INTO status_needs(found, known) SELECT
  (SELECT count(*) FROM pragma_module_list WHERE name = 'tidemark'),
  NOT EXISTS (SELECT 1 FROM temp.sqlite_parameters
               WHERE key NOT IN ('@most', '@extension', '@loaded', '@lines', '@now_ms'));
.bail on
REPLACE INTO temp.sqlite_parameters VALUES ('@now_ms', CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER));
REPLACE INTO temp.sqlite_parameters VALUES ('@lines', coalesce(@most, 10));

-- Tables that a database without a dataset lacks are found in this one.
ATTACH 'file:blank?mode=memory' AS blank;
CREATE VIRTUAL TABLE blank.dataset USING tidemark(a);
DROP TABLE blank.dataset;

-- What is told more than once is read once.
DROP TABLE IF EXISTS temp.status_part;
CREATE TEMP TABLE status_part AS
  SELECT dataset, partition, rows, segments, tail_rows, raw_bytes, stored_bytes, newest_at, held_by, held_rows,
         row_number() OVER (PARTITION BY dataset ORDER BY stored_bytes DESC, partition) AS place,
         row_number() OVER (PARTITION BY dataset ORDER BY held_rows DESC, partition) AS held_place
    FROM tidemark_stat;
DROP TABLE IF EXISTS temp.status_lag;
CREATE TEMP TABLE status_lag AS
  SELECT sink, dataset, partition, rows, bytes, oldest_at,
         row_number() OVER (PARTITION BY sink, dataset ORDER BY rows DESC, partition) AS place
    FROM tidemark_lag WHERE rows > 0;

DROP TABLE IF EXISTS temp.status_batch;
CREATE TEMP TABLE status_batch AS SELECT * FROM tidemark_batch ORDER BY error IS NULL, batch LIMIT @lines;

-- Numbers in few characters: printf(format, number * 1.0 / divisor) by the unit with the highest floor not above it.
DROP TABLE IF EXISTS temp.status_unit;
CREATE TEMP TABLE status_unit(kind, least, divisor, format);
INSERT INTO status_unit VALUES
  ('count', 0, 1, '%.0f'), ('count', 1e5, 1e3, '%.1fk'), ('count', 1e6, 1e6, '%.2fM'), ('count', 1e9, 1e9, '%.2fG'),
  ('count', 1e12, 1e12, '%.2fT'), ('count', 1e15, 1e15, '%.1fP'),
  ('bytes', 0, 1, '%.0f B'), ('bytes', 1e3, 1024, '%.1f KiB'), ('bytes', 1e6, 1048576, '%.1f MiB'),
  ('bytes', 1e9, 1073741824, '%.2f GiB'), ('bytes', 1e12, 1099511627776, '%.2f TiB'),
  ('bytes', 1e15, 1125899906842624, '%.1f PiB'),
  ('age', -9e18, 1000, 'now'), ('age', 1000, 1000, '%.0f s'), ('age', 120000, 60000, '%.0f min'),
  ('age', 7200000, 3600000, '%.1f h'), ('age', 172800000, 86400000, '%.0f d');

-- Texts as a terminal bears them: cut to `most` columns, and `filled` up to them. Control and direction characters
-- become ?, wide characters count twice.
DROP TABLE IF EXISTS temp.status_text;
CREATE TEMP TABLE status_text(text, most INTEGER, shown, filled, PRIMARY KEY (text, most));
INSERT OR IGNORE INTO status_text(text, most)
  SELECT sink, 18 FROM tidemark_sink UNION SELECT dataset, 18 FROM tidemark_sink UNION SELECT dataset, 30
    FROM status_part
  UNION SELECT dataset, 30 FROM tidemark_dataset UNION SELECT file, 36 FROM pragma_database_list WHERE name = 'main'
  UNION SELECT partition, 30 FROM status_part WHERE place <= @lines OR held_place <= @lines
  UNION SELECT partition, 30 FROM status_lag WHERE place <= @lines
  UNION SELECT held_by, 24 FROM status_part WHERE held_place <= @lines AND held_by IS NOT NULL
  UNION SELECT sink, 18 FROM tidemark_dead UNION SELECT sink, 18 FROM status_batch UNION SELECT partition, 30
    FROM status_batch
  UNION SELECT error, 300 FROM status_batch WHERE error IS NOT NULL;
WITH RECURSIVE place(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM place WHERE i < 301),
glyph AS (
  SELECT text, most, i, i = length(text) AS last, unicode(substr(text, i, 1)) AS code
    FROM status_text CROSS JOIN place ON i <= min(length(text), most + 1)),
measured AS (
  SELECT *, sum(1 + (code BETWEEN 0x1100 AND 0x115f OR code BETWEEN 0x2e80 AND 0xa4cf OR code BETWEEN 0xac00 AND 0xd7a3
                     OR code BETWEEN 0xf900 AND 0xfaff OR code BETWEEN 0xfe30 AND 0xff60
                     OR code BETWEEN 0xffe0 AND 0xffe6 OR code >= 0x1f000))
              OVER (PARTITION BY text, most ORDER BY i) AS used
    FROM glyph),
kept AS (
  SELECT text, most, max(used) AS used, max(last) AS whole, group_concat(
           CASE WHEN code < 32 OR code BETWEEN 127 AND 159 OR code BETWEEN 0x200b AND 0x200f
                  OR code BETWEEN 0x2028 AND 0x202e OR code BETWEEN 0x2060 AND 0x206f OR code >= 0xe0000 THEN '?'
             ELSE char(code) END, '') AS shown
    FROM (SELECT * FROM measured WHERE used < most OR used = most AND last ORDER BY text, most, i) GROUP BY text, most)
REPLACE INTO status_text
  SELECT text, most, shown || iif(whole, '', '…'),
         shown || iif(whole, '', '…') || printf('%*s', most - used - NOT whole, '') FROM kept;
-- The one partition of a dataset that is not partitioned.
UPDATE status_text SET shown = '(all)', filled = printf('%-*s', most, '(all)') WHERE text = '' AND most = 30;

SELECT printf('Tidemark %s  %s  %s UTC', tidemark_version(), coalesce(nullif(shown, ''), 'in memory'), datetime('now'))
  FROM status_text JOIN pragma_database_list ON text = file WHERE most = 36 AND name = 'main';
SELECT char(10) || 'No dataset yet: sql/install.sql makes one.' WHERE NOT EXISTS (SELECT 1 FROM tidemark_dataset);

SELECT char(10) || printf('%-30s%10s%13s%8s%11s%8s', 'DATASETS', 'rows', 'stored', 'ratio', 'partitions', 'tail')
  WHERE EXISTS (SELECT 1 FROM tidemark_dataset);
SELECT filled || printf('%10.9s%13.12s%8.8s%11d%8.8s',
    (SELECT printf(format, 1.0 * d.rows / divisor) FROM status_unit WHERE kind = 'count' AND least <= d.rows
      ORDER BY least DESC LIMIT 1),
    (SELECT printf(format, 1.0 * stored / divisor) FROM status_unit WHERE kind = 'bytes' AND least <= stored
      ORDER BY least DESC LIMIT 1),
    iif(stored > 0, printf('%.1fx', 1.0 * raw / stored), '-'), parts,
    (SELECT printf(format, 1.0 * tail / divisor) FROM status_unit WHERE kind = 'count' AND least <= tail
      ORDER BY least DESC LIMIT 1))
  FROM (SELECT d.dataset, coalesce(sum(rows), 0) AS rows, coalesce(sum(p.tail_rows), 0) AS tail,
               count(partition) AS parts, total(stored_bytes) AS stored, total(raw_bytes) AS raw
          FROM (SELECT dataset FROM tidemark_dataset) d LEFT JOIN status_part p USING (dataset) GROUP BY d.dataset) d
  JOIN status_text ON text = dataset AND most = 30 ORDER BY stored DESC;

SELECT line FROM (
  SELECT dataset, -1 AS place, char(10) || printf('PARTITIONS of %s', shown) AS line
    FROM status_part JOIN status_text ON text = dataset AND most = 30 WHERE place = 1
  UNION ALL
  SELECT dataset, 0, printf('  %-28s%10s%13s%8s%11s%8s', 'biggest first', 'rows', 'stored', 'ratio', 'segments',
    'newest')
    FROM status_part WHERE place = 1
  UNION ALL
  SELECT dataset, place, '  ' || substr(filled, 1, 30) || printf('%8.8s%13.12s%8.8s%11d%8.8s',
      (SELECT printf(format, 1.0 * rows / divisor) FROM status_unit WHERE kind = 'count' AND least <= rows
        ORDER BY least DESC LIMIT 1),
      (SELECT printf(format, 1.0 * stored_bytes / divisor) FROM status_unit WHERE kind = 'bytes'
        AND least <= stored_bytes
        ORDER BY least DESC LIMIT 1),
      iif(stored_bytes > 0, printf('%.1fx', 1.0 * raw_bytes / stored_bytes), '-'), segments,
      coalesce((SELECT printf(format, 1.0 * (@now_ms - newest_at) / divisor) FROM status_unit
        WHERE kind = 'age' AND least <= @now_ms - newest_at ORDER BY least DESC LIMIT 1), '-'))
    FROM status_part JOIN status_text ON text = partition AND most = 30 WHERE place <= @lines
  UNION ALL
  SELECT dataset, max(place), printf('  and %,d more', max(place) - @lines) FROM status_part
    GROUP BY dataset HAVING max(place) > @lines)
  ORDER BY dataset, place;

SELECT char(10) || printf('%-19s%-19s%-9s%9s%12s%11s', 'SINKS', 'dataset', 'state', 'behind', 'bytes', 'oldest')
  WHERE EXISTS (SELECT 1 FROM tidemark_sink);
SELECT s.filled || ' ' || d.filled || ' ' || printf('%-9.9s%9.8s%12.11s%11.10s', state,
    (SELECT printf(format, 1.0 * behind / divisor) FROM status_unit WHERE kind = 'count' AND least <= behind
      ORDER BY least DESC LIMIT 1),
    (SELECT printf(format, 1.0 * size / divisor) FROM status_unit WHERE kind = 'bytes' AND least <= size
      ORDER BY least DESC LIMIT 1),
    coalesce((SELECT printf(format, 1.0 * (@now_ms - oldest) / divisor) FROM status_unit
      WHERE kind = 'age' AND least <= @now_ms - oldest ORDER BY least DESC LIMIT 1), '-'))
  || CASE state WHEN 'blocked' THEN char(10)
  || '  its receiver does not let it in: mend that, then set its state to active'
       WHEN 'diverged' THEN char(10) || '  its target knows of ticks that this database does not: see tidemark_fork'
       ELSE '' END
  FROM (SELECT s.sink, s.dataset, s.state, coalesce(sum(l.rows), 0) AS behind, coalesce(sum(l.bytes), 0) AS size,
               min(oldest_at) AS oldest FROM tidemark_sink s LEFT JOIN status_lag l USING (sink, dataset) GROUP BY 1, 2)
  JOIN status_text s ON s.text = sink AND s.most = 18 JOIN status_text d ON d.text = dataset AND d.most = 18
  ORDER BY behind DESC, sink;

SELECT char(10) || printf('%-19s%-31s%9s%10s%11s', 'BEHIND', 'partition', 'rows', 'bytes', 'oldest')
  WHERE EXISTS (SELECT 1 FROM status_lag);
SELECT s.filled || ' ' || p.filled || ' ' || printf('%9.8s%10.9s%11.10s',
    (SELECT printf(format, 1.0 * rows / divisor) FROM status_unit WHERE kind = 'count' AND least <= rows
      ORDER BY least DESC LIMIT 1),
    (SELECT printf(format, 1.0 * bytes / divisor) FROM status_unit WHERE kind = 'bytes' AND least <= bytes
      ORDER BY least DESC LIMIT 1),
    coalesce((SELECT printf(format, 1.0 * (@now_ms - oldest_at) / divisor) FROM status_unit
      WHERE kind = 'age' AND least <= @now_ms - oldest_at ORDER BY least DESC LIMIT 1), '-'))
  FROM status_lag JOIN status_text s ON s.text = sink AND s.most = 18
    JOIN status_text p ON p.text = partition AND p.most = 30
  WHERE place <= @lines ORDER BY rows DESC, sink, partition LIMIT @lines;
SELECT printf('and %,d more', count(*) - @lines) FROM status_lag HAVING count(*) > @lines;

SELECT char(10) || printf('%-31s%9s  %s', 'HELD past retention', 'rows', 'by')
  WHERE EXISTS (SELECT 1 FROM status_part WHERE held_rows > 0);
SELECT p.filled || ' ' || printf('%9s  %s',
    (SELECT printf(format, 1.0 * held_rows / divisor) FROM status_unit WHERE kind = 'count' AND least <= held_rows
      ORDER BY least DESC LIMIT 1), coalesce(h.shown, ''))
  FROM status_part JOIN status_text p ON p.text = partition AND p.most = 30
    LEFT JOIN status_text h ON h.text = held_by AND h.most = 24
  WHERE held_rows > 0 AND held_place <= @lines ORDER BY held_rows DESC, partition LIMIT @lines;
SELECT printf('and %,d more', count(*) - @lines) FROM status_part WHERE held_rows > 0 HAVING count(*) > @lines;

SELECT char(10) || printf('%-9s%-19s%-31s%6s%13s', 'BATCHES', 'sink', 'partition', 'tried', 'again')
  WHERE EXISTS (SELECT 1 FROM status_batch);
-- An error goes on below its batch, in lines broken at spaces.
WITH RECURSIVE line(batch, reach, rest, part, n) AS (
  SELECT batch, iif(length(CAST(shown AS BLOB)) > length(shown) + 2, 38, 77), shown, NULL, 0
    FROM status_batch JOIN status_text ON text = error AND most = 300
  UNION ALL
  SELECT batch, reach, iif(part IS NULL, rest, ltrim(substr(rest, length(part) + 1))),
         CASE WHEN part IS NOT NULL THEN NULL WHEN length(rest) <= reach THEN rest
           ELSE coalesce(nullif(rtrim(substr(rest, 1, reach), replace(substr(rest, 1, reach), ' ', '')), ''),
                         substr(rest, 1, reach)) END, n + 1
    FROM line WHERE rest <> '')
SELECT line FROM (
  SELECT batch, 0 AS n, printf('%-8d ', batch) || s.filled || ' ' || p.filled || ' ' || printf('%5.5s%13.12s', attempts,
      CASE WHEN not_before > @now_ms THEN (SELECT printf('in ' || format, 1.0 * (not_before - @now_ms) / divisor)
                                             FROM status_unit WHERE kind = 'age' AND least <= not_before - @now_ms
                                             ORDER BY least DESC LIMIT 1)
        WHEN owner IS NOT NULL AND lease_until > @now_ms THEN 'under way' ELSE 'next tick' END) AS line
    FROM status_batch JOIN status_text s ON s.text = sink AND s.most = 18
      JOIN status_text p ON p.text = partition AND p.most = 30
  UNION ALL
  SELECT batch, n, '  ' || rtrim(part) FROM line WHERE part IS NOT NULL)
  ORDER BY batch, n;
SELECT printf('and %,d more', count(*) - @lines) FROM tidemark_batch HAVING count(*) > @lines;

SELECT char(10) || 'SET ASIDE: rows that a receiver refused, in tidemark_dead; tidemark_requeue sends them again'
  WHERE EXISTS (SELECT 1 FROM tidemark_dead);
SELECT filled || printf(' %,d rows', count(*)) FROM tidemark_dead JOIN status_text ON text = sink
  AND most = 18 GROUP BY text;
DETACH blank;
DELETE FROM temp.sqlite_parameters WHERE key IN ('@loaded', '@now_ms', '@lines');
