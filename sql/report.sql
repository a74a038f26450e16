-- How the logs and their sinks stand, as one page of HTML:  sqlite3 my.db < sql/report.sql > report.html
-- Writes nothing to the database. The page is whole by itself: no script, nothing from elsewhere.
--
-- Parameters, set before the script:  sqlite3 my.db -cmd ".param set @days 7" < sql/report.sql
--   @days       how far back the charts reach (30), if the export log does
--   @most       how many partitions, batches and the like a table has (50)
--   @extension  where Tidemark is, such as build/ext/tidemark; else tidemark on the library path, unless it is loaded
--               already
.bail off
.mode list
.headers off
.timeout 10000
.param init
REPLACE INTO temp.sqlite_parameters SELECT '@loaded', count(*) FROM pragma_module_list WHERE name = 'tidemark';
SELECT 0 WHERE NOT @loaded AND load_extension(coalesce(@extension, 'tidemark')) IS NOT NULL;
DROP TABLE IF EXISTS temp.report_needs;
CREATE TEMP TABLE report_needs(
  found CONSTRAINT "tidemark was not found: .param set @extension FOLDER/tidemark says where it is" CHECK (found),
  known CONSTRAINT "report.sql knows the parameters @days, @most and @extension" CHECK (known));
INSERT INTO report_needs(found, known) SELECT
  (SELECT count(*) FROM pragma_module_list WHERE name = 'tidemark'),
  NOT EXISTS (SELECT 1 FROM temp.sqlite_parameters
               WHERE key NOT IN ('@days', '@most', '@extension', '@loaded', '@lines', '@now_ms', '@from_ms',
                                 '@bar_ms'));
.bail on
REPLACE INTO temp.sqlite_parameters VALUES ('@lines', coalesce(@most, 50));
REPLACE INTO temp.sqlite_parameters VALUES ('@now_ms', CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER));

-- Tables that a database without a dataset lacks are found in this one.
ATTACH 'file:blank?mode=memory' AS blank;
CREATE VIRTUAL TABLE blank.dataset USING tidemark(a);
DROP TABLE blank.dataset;

-- ---- what is told more than once is read once ----

DROP TABLE IF EXISTS temp.report_part;
CREATE TEMP TABLE report_part AS
  SELECT *, row_number() OVER (ORDER BY stored_bytes DESC, dataset, partition) AS place FROM tidemark_stat;
DROP TABLE IF EXISTS temp.report_sink;
CREATE TEMP TABLE report_sink AS
  SELECT k.sink, k.dataset, k.target, k.format, k.state, coalesce(sum(l.rows), 0) AS behind,
         coalesce(sum(l.rows > 0), 0) AS behind_parts, min(iif(l.rows > 0, oldest_at, NULL)) AS oldest_at,
         (SELECT max(committed_at) FROM tidemark_export_log e
           WHERE (e.sink, e.dataset) = (k.sink, k.dataset) AND kind = 'batch') AS last_at,
         row_number() OVER (ORDER BY coalesce(sum(l.rows), 0) DESC, k.sink, k.dataset) AS place
    FROM tidemark_sink k LEFT JOIN tidemark_lag l USING (sink, dataset) GROUP BY k.sink, k.dataset;
DROP TABLE IF EXISTS temp.report_column;
CREATE TEMP TABLE report_column AS
  SELECT d.dataset, c.value ->> 'column' AS name, c.value ->> 'type' AS type, c.value ->> 'stored_bytes' AS bytes,
         (SELECT sum(rows) FROM tidemark_segment s WHERE s.dataset = d.dataset) AS rows,
         sum(c.value ->> 'stored_bytes') OVER (PARTITION BY d.dataset) AS whole,
         row_number() OVER (ORDER BY c.value ->> 'stored_bytes' DESC, d.dataset, c.key) AS place
    FROM tidemark_dataset d JOIN json_each(tidemark_columns(d.dataset), '$.columns') c;
DROP TABLE IF EXISTS temp.report_batch;
CREATE TEMP TABLE report_batch AS SELECT * FROM tidemark_batch ORDER BY error IS NULL, batch LIMIT @lines;
DROP TABLE IF EXISTS temp.report_event;
CREATE TEMP TABLE report_event AS SELECT * FROM tidemark_export_log WHERE kind <> 'batch' ORDER BY id DESC LIMIT @lines;
DROP TABLE IF EXISTS temp.report_recent;
CREATE TEMP TABLE report_recent AS SELECT * FROM tidemark_export_log WHERE kind = 'batch' ORDER BY id DESC LIMIT 20;

-- Numbers in few characters: printf(format, number * 1.0 / divisor) by the unit with the highest floor not above it.
DROP TABLE IF EXISTS temp.report_unit;
CREATE TEMP TABLE report_unit(kind, least, divisor, format);
INSERT INTO report_unit VALUES
  ('count', 0, 1, '%,d'), ('count', 1e7, 1e6, '%.1f M'), ('count', 1e9, 1e9, '%.2f G'), ('count', 1e12, 1e12, '%.2f T'),
  ('count', 1e15, 1e15, '%.2f P'),
  ('bytes', 0, 1, '%.0f B'), ('bytes', 1e3, 1024, '%.1f KiB'), ('bytes', 1e6, 1048576, '%.1f MiB'),
  ('bytes', 1e9, 1073741824, '%.2f GiB'), ('bytes', 1e12, 1099511627776, '%.2f TiB'),
  ('bytes', 1e15, 1125899906842624, '%.1f PiB'),
  ('age', -9e18, 1000, '%.0f s'), ('age', 120000, 60000, '%.0f min'),
  ('age', 7200000, 3600000, '%.1f h'), ('age', 172800000, 86400000, '%.1f days');

-- Texts as HTML bears them: control and direction characters become U+FFFD, what HTML reads as more than text is
-- escaped, and only the first 300 characters are shown.
DROP TABLE IF EXISTS temp.report_text;
CREATE TEMP TABLE report_text(text PRIMARY KEY, html NOT NULL DEFAULT '');
INSERT OR IGNORE INTO report_text(text)
  SELECT sink FROM report_sink UNION SELECT quote(sink) FROM report_sink UNION SELECT target FROM report_sink
  UNION SELECT dataset FROM report_sink UNION SELECT dataset FROM tidemark_dataset UNION SELECT format FROM report_sink
  UNION SELECT quote(dataset) FROM tidemark_dataset
  UNION SELECT name FROM report_column WHERE place <= @lines UNION SELECT dataset FROM report_event
  UNION SELECT partition FROM report_part WHERE place <= @lines UNION SELECT held_by FROM report_part
  UNION SELECT sink FROM report_batch UNION SELECT partition FROM report_batch UNION SELECT error FROM tidemark_batch
  UNION SELECT sink FROM report_event UNION SELECT partition FROM report_event UNION SELECT reason FROM report_event
  UNION SELECT sink FROM report_recent UNION SELECT partition FROM report_recent UNION SELECT object FROM report_recent
  UNION SELECT state FROM report_sink UNION SELECT kind FROM report_event
  UNION SELECT sink FROM tidemark_dead UNION SELECT quote(sink) FROM tidemark_dead
  UNION SELECT file FROM pragma_database_list WHERE name = 'main';
DELETE FROM report_text WHERE text IS NULL;
WITH RECURSIVE place(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM place WHERE i < 300),
glyph AS (
  SELECT text, i, unicode(substr(text, i, 1)) AS code FROM report_text CROSS JOIN place ON i <= length(text))
REPLACE INTO report_text
  SELECT text, group_concat(CASE
           WHEN code < 32 OR code BETWEEN 127 AND 159 OR code BETWEEN 0x200b AND 0x200f 
             OR code BETWEEN 0x2028 AND 0x202e OR code BETWEEN 0x2060 AND 0x206f OR code BETWEEN 0xfdd0 AND 0xfdef
             OR code & 0xfffe = 0xfffe OR code >= 0xe0000 THEN char(0xfffd)
           WHEN code = 38 THEN '&amp;' WHEN code = 60 THEN '&lt;' WHEN code = 62 THEN '&gt;'
           WHEN code = 34 THEN '&quot;' WHEN code = 39 THEN '&#39;' ELSE char(code) END, '')
         || iif(length(text) > 300, '…', '')
    FROM (SELECT * FROM glyph ORDER BY text, i) GROUP BY text;
-- The one partition of a dataset that is not partitioned.
UPDATE report_text SET html = '(all)' WHERE text = '';

-- ---- what the charts show: 60 bars from @from_ms to now ----

REPLACE INTO temp.sqlite_parameters
  SELECT '@from_ms', max(@now_ms - CAST(coalesce(@days, 30) * 86400000 AS INTEGER),
                         min(@now_ms - 3600000, coalesce(min(committed_at), @now_ms))) FROM tidemark_export_log;
REPLACE INTO temp.sqlite_parameters SELECT '@bar_ms', (@now_ms - @from_ms) / 60 + 1;
DROP TABLE IF EXISTS temp.report_bar;
CREATE TEMP TABLE report_bar(sink, dataset, bar, shipped, moved, bytes, lag, PRIMARY KEY (sink, dataset, bar));
-- moved: what left the lag, shipped or not. One bar before the first has what was before.
WITH RECURSIVE bar(bar) AS (SELECT -1 UNION ALL SELECT bar + 1 FROM bar WHERE bar < 59)
INSERT INTO report_bar(sink, dataset, bar, shipped, moved, bytes)
  SELECT s.sink, s.dataset, b.bar, coalesce(shipped, 0), coalesce(moved, 0), coalesce(bytes, 0)
    FROM report_sink s CROSS JOIN bar b LEFT JOIN (
      SELECT sink, dataset, iif(committed_at < @from_ms, -1, min(59, (committed_at - @from_ms) / @bar_ms)) AS bar,
             sum(iif(kind = 'batch', rows, 0)) AS shipped, sum(bytes) AS bytes,
             sum(CASE kind WHEN 'rewind' THEN -rows ELSE rows + skipped + dead END) AS moved
        FROM tidemark_export_log GROUP BY 1, 2, 3) e USING (sink, dataset, bar)
   WHERE s.place <= 12;
-- since counts the rows of a dataset. How high it was at a time is seen in segments and batches of then, so that the
-- lag of the past is at least this; that of the last bar is exact.
DROP TABLE IF EXISTS temp.report_head;
CREATE TEMP TABLE report_head(dataset, bar, head, PRIMARY KEY (dataset, bar));
WITH RECURSIVE bar(bar) AS (SELECT -1 UNION ALL SELECT bar + 1 FROM bar WHERE bar < 59),
seen(dataset, at, since) AS (
  SELECT dataset, newest_at, last_since FROM tidemark_segment
  UNION ALL SELECT dataset, committed_at, until FROM tidemark_export_log
  UNION ALL SELECT dataset, claimed_at, until FROM tidemark_batch
  UNION ALL SELECT dataset, @now_ms, last_since FROM tidemark_dataset)
INSERT INTO report_head
  SELECT dataset, bar, max(coalesce(since, 0)) OVER (PARTITION BY dataset ORDER BY bar)
    FROM (SELECT dataset FROM tidemark_dataset) CROSS JOIN bar LEFT JOIN (
      SELECT dataset, iif(at < @from_ms, -1, min(59, (at - @from_ms) / @bar_ms)) AS bar, max(since) AS since
        FROM seen GROUP BY 1, 2) USING (dataset, bar);
UPDATE report_bar SET lag = l.lag FROM (
    SELECT sink, dataset, bar, max(0, head - (last_since - behind - (total(moved) OVER rest))) AS lag
      FROM report_bar JOIN report_head USING (dataset, bar) JOIN report_sink USING (sink, dataset)
        JOIN (SELECT dataset, last_since FROM tidemark_dataset) USING (dataset)
      WINDOW rest AS (PARTITION BY sink, dataset ORDER BY bar ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)) l
  WHERE (l.sink, l.dataset, l.bar) = (report_bar.sink, report_bar.dataset, report_bar.bar);

-- ---- what needs somebody ----

DROP TABLE IF EXISTS temp.report_todo;
CREATE TEMP TABLE report_todo(rank, what, remedy);
INSERT INTO report_todo
  SELECT 1, 'Sink <b>' || t.html || '</b> is ' || state, CASE state
      WHEN 'blocked' THEN 'Its receiver does not let it in, or takes nothing of what it sends. Mend that, then '
        || '<code>UPDATE tidemark_sink SET state = &#39;active&#39; WHERE sink = ' || q.html || ';</code>'
      ELSE 'Its target was told of ticks that this database knows nothing of: it was restored from a backup, or is in '
        || 'use twice. When this copy is the one to go on: <code>SELECT tidemark_fork(' || q.html || ');</code>' END
    FROM report_sink JOIN report_text t ON t.text = sink JOIN report_text q ON q.text = quote(sink)
   WHERE state IN ('blocked', 'diverged')
  UNION ALL
  SELECT 2, iif(n = 1, printf('Batch %d', batch), printf('%,d batches', n)) || ' of sink <b>' || s.html
           || '</b> failed, ' || iif(tried = 1, 'once', printf('up to %,d times', tried)),
         '<q>' || e.html || '</q> The next tick after '
           || coalesce(datetime(again / 1000, 'unixepoch') || ' UTC', 'now') || ' tries again.'
    FROM (SELECT sink, count(*) AS n, min(batch) AS batch, max(attempts) AS tried, min(not_before) AS again, error
            FROM tidemark_batch WHERE error IS NOT NULL GROUP BY sink)
      JOIN report_text s ON s.text = sink JOIN report_text e ON e.text = error
  UNION ALL
  SELECT 3, 'Rows wait for sink <b>' || t.html || '</b> for '
           || (SELECT printf(format, 1.0 * (@now_ms - oldest_at) / divisor)
                 FROM report_unit WHERE kind = 'age' AND least <= @now_ms - oldest_at ORDER BY least DESC LIMIT 1),
         CASE WHEN state IN ('paused', 'disabled') THEN 'It is ' || state || ': <code>UPDATE tidemark_sink SET state = '
                || '&#39;active&#39; WHERE sink = ' || q.html || ';</code> lets it go on.'
           WHEN target IS NULL THEN 'It has no target: the program that drives it is to run its transaction.'
           ELSE 'No batch has failed. Either no tick runs (<code>sqlite3 my.db &lt; sql/tick.sql</code> from a timer), '
                || 'or they wait for company (<code>min_rows</code> without <code>max_delay</code>).' END
    FROM report_sink k JOIN report_text t ON t.text = sink JOIN report_text q ON q.text = quote(sink)
   WHERE behind > 0 AND state IN ('active', 'paused', 'disabled') AND oldest_at < @now_ms - 3600000
     AND NOT EXISTS (SELECT 1 FROM tidemark_batch b WHERE (b.sink, b.dataset) = (k.sink, k.dataset)
                        AND error IS NOT NULL)
  UNION ALL
  SELECT 4, printf('%,d rows of sink <b>', count(*)) || t.html || '</b> are set aside',
         'A receiver refused them: <code>SELECT reason, payload FROM tidemark_dead;</code> says why. '
         || 'When it is mended, <code>SELECT tidemark_requeue(' || q.html || ');</code> sends them again.'
    FROM tidemark_dead d JOIN report_text t ON t.text = sink JOIN report_text q ON q.text = quote(sink) GROUP BY sink
  UNION ALL
  SELECT 5, printf('%,d rows were gone before sink <b>', sum(rows)) || t.html || '</b> had them',
         'Retention or DELETE took them. Let the sink hold its rows (<code>hold</code>, <code>hold_rows</code>, '
         || '<code>hold_age</code> in tidemark_sink), or tick more often.'
    FROM tidemark_export_log JOIN report_text t ON t.text = sink
   WHERE kind = 'gap' AND committed_at >= @from_ms GROUP BY sink
  UNION ALL
  SELECT 6, printf('%,d rows are kept past their retention by <b>', sum(held_rows)) || t.html || '</b>',
         'It has not had them yet: see why it is behind. <code>hold</code> = 0 in tidemark_sink lets them go '
         || 'without it.'
    FROM report_part JOIN report_text t ON t.text = held_by WHERE held_rows > 0 GROUP BY held_by
  UNION ALL
  SELECT 7, printf('%,d rows of <b>', tail_rows) || t.html || '</b> are not sealed yet',
         'They take more room and time until they are: <code>sqlite3 my.db &lt; sql/maintain.sql</code> from a timer.'
    FROM tidemark_dataset JOIN report_text t ON t.text = dataset WHERE tail_rows > 100000 AND tail_rows > rows / 10
  UNION ALL
  SELECT 8, 'There is no dataset yet', '<code>sqlite3 my.db &lt; sql/install.sql</code> makes a first one.'
   WHERE NOT EXISTS (SELECT 1 FROM tidemark_dataset)
  UNION ALL
  SELECT 9, 'No sink reads <b>' || html || '</b>', 'Its rows stay here only. A row of tidemark_sink ships them.'
    FROM tidemark_dataset d JOIN report_text t ON t.text = dataset
   WHERE NOT EXISTS (SELECT 1 FROM tidemark_sink s WHERE s.dataset = d.dataset);

-- ---- the page ----

SELECT '<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src ''none''; style-src ''unsafe-inline''">
<title>Tidemark report</title>
<style>
:root { color-scheme: light dark; --ground: #fff; --card: #f5f7f8; --ink: #16202a; --dim: #55626e; --line: #d5dce1;
  --rate: #17739c; --lag: #b35c00; --bad: #b3261e; --warn: #8a5a00; --good: #1b6e3c; --bar: #cfe3ec }
@media (prefers-color-scheme: dark) { :root { --ground: #11171c; --card: #1a2229; --ink: #e4eaee; --dim: #9dabb6;
  --line: #303c46; --rate: #57b4dc; --lag: #eda24f; --bad: #ff8f86; --warn: #e9b949; --good: #72cf97; --bar: #24475a } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1.25rem; max-width: 76rem; background: var(--ground); color: var(--ink);
  font: 15px/1.45 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; overflow-wrap: anywhere }
h1 { font-size: 1.5rem; margin: 0 } h2 { font-size: 1.1rem; margin: 2rem 0 .6rem } h3 { font-size: 1rem; margin: 0 }
p { margin: .2rem 0 } header p, figcaption, .dim { color: var(--dim) } header p { font-size: .9rem }
code { font: .86em/1.4 ui-monospace, "DejaVu Sans Mono", monospace; background: var(--card); padding: .1em .3em;
  border-radius: 3px } q { font-style: italic }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: 1px; margin: 1rem 0 0;
  background: var(--line); border: 1px solid var(--line); border-radius: 6px; overflow: hidden }
dl div { background: var(--ground); padding: .55rem .75rem } dt { color: var(--dim); font-size: .8rem }
dd { margin: 0; font-size: 1.2rem; font-variant-numeric: tabular-nums }
ul { list-style: none; margin: 0; padding: 0 } li { border-left: 4px solid var(--warn); background: var(--card);
  padding: .5rem .8rem; margin: .4rem 0; border-radius: 0 6px 6px 0 } li.bad { border-color: var(--bad) }
li.note { border-color: var(--dim) } .fine { color: var(--good) }
article { border: 1px solid var(--line); border-radius: 6px; padding: .8rem; margin: .6rem 0 }
.share { padding-left: .3rem }
article > div { display: grid; grid-template-columns: 1fr 1fr; gap: 1.2rem; margin-top: .6rem }
.state { font-weight: 400; font-size: .85rem; color: var(--good); margin-left: .4rem } .state.off { color: var(--dim) }
.state.bad { color: var(--bad); font-weight: 600 }
figure { margin: 0; min-width: 0 }
figcaption { font-size: .8rem; display: flex; justify-content: space-between; gap: .5rem }
svg { display: block; width: 100%; height: 5.5rem; border-bottom: 1px solid var(--line) }
.rate { fill: var(--rate) } .lag { fill: var(--lag); fill-opacity: .28; stroke: var(--lag); stroke-width: 2;
  vector-effect: non-scaling-stroke }
table { border-collapse: collapse; width: 100%; font-size: .88rem } caption { text-align: left; color: var(--dim);
  padding-bottom: .3rem } th { font-weight: 600; text-align: left; color: var(--dim); font-size: .8rem }
td, th { padding: .28rem .6rem .28rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
tbody th { color: var(--ink); font-weight: 400; font-size: inherit } tbody td, tbody th { min-width: 5.5rem }
@media (min-width: 40rem) { tbody td, tbody th { min-width: 8rem } }
tbody td.n, tbody th.n, tbody td.o { min-width: 0 } .o { font-size: .8rem; color: var(--dim) }
.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; overflow-wrap: normal }
.share { background: linear-gradient(var(--bar), var(--bar)) no-repeat left center / var(--w) calc(100% - 4px) }
@media (max-width: 40rem) { body { padding: .8rem } article > div { grid-template-columns: 1fr } .more { display: none }
  td, th { padding-right: .4rem } dd { font-size: 1.05rem } dl { grid-template-columns: 1fr 1fr } }
@media print { :root { --ground: #fff; --card: #fff; --ink: #000; --dim: #444; --line: #bbb }
  body { padding: 0; max-width: none }
  article, li, tr { break-inside: avoid } h2 { break-after: avoid } }
</style>
</head>
<body>
<header>
<h1>Tidemark report</h1>';
SELECT '<p>' || iif(file = '', 'a database in memory', html) || '<br>' || datetime(@now_ms / 1000, 'unixepoch')
       || ' UTC, Tidemark ' || tidemark_version() || '</p>'
  FROM pragma_database_list JOIN report_text ON text = file WHERE name = 'main';
SELECT '</header>
<main>
<dl>';
WITH fact(place, name, kind, n) AS (
  SELECT 1, 'rows here', 'count', coalesce(sum(rows), 0) FROM tidemark_dataset
  UNION ALL SELECT 2, 'rows ever written', 'count', coalesce(sum(written), 0) FROM tidemark_dataset
  UNION ALL SELECT 3, 'stored', 'bytes', coalesce(sum(stored_bytes), 0) FROM report_part
  UNION ALL SELECT 4, 'partitions', 'count', count(*) FROM report_part
  UNION ALL SELECT 5, 'sinks', 'count', count(*) FROM report_sink
  UNION ALL SELECT 6, 'furthest behind, rows', 'count', coalesce(max(behind), 0) FROM report_sink)
SELECT '<div><dt>' || name || '</dt><dd>'
  || (SELECT printf(format, iif(divisor = 1, n, 1.0 * n / divisor)) FROM report_unit u
         WHERE u.kind = fact.kind AND least <= n ORDER BY least DESC LIMIT 1) || '</dd></div>' FROM fact
UNION ALL
SELECT '<div><dt>smaller than raw</dt><dd>'
  || coalesce(printf('%.1f×', 1.0 * sum(raw_bytes) / nullif(sum(stored_bytes), 0)), '–') || '</dd></div>'
  FROM report_part;
SELECT '</dl>
<section aria-labelledby="needs">
<h2 id="needs">What needs you</h2>';
SELECT '<p class="fine">Nothing: every sink has had its rows, or gets them.</p>'
  WHERE NOT EXISTS (SELECT 1 FROM report_todo);
SELECT '<ul>' WHERE EXISTS (SELECT 1 FROM report_todo);
SELECT '<li' || CASE WHEN rank <= 2 THEN ' class="bad"' WHEN rank >= 8 THEN ' class="note"' ELSE '' END || '>'
  || what || '.<p>' || remedy || '</p></li>' FROM report_todo ORDER BY rank, what LIMIT @lines;
SELECT '</ul>' WHERE EXISTS (SELECT 1 FROM report_todo);
SELECT printf('<p>And %,d more.</p>', count(*) - @lines) FROM report_todo HAVING count(*) > @lines;
SELECT '</section>';

SELECT '<section aria-labelledby="sinks">
<h2 id="sinks">Sinks</h2>
<p class="dim">From ' || datetime(@from_ms / 1000, 'unixepoch') || ' UTC to now. A bar is '
  || (SELECT printf(format, 1.0 * @bar_ms / divisor) FROM report_unit WHERE kind = 'age' AND least <= @bar_ms
       ORDER BY least DESC LIMIT 1)
  || '. The lag of the past is worked out from the export log and sealed segments, and was at least this.</p>'
  WHERE EXISTS (SELECT 1 FROM report_sink);
WITH chart AS (
  SELECT sink, dataset, max(shipped) AS most_rate, max(lag) AS most_lag, sum(shipped) AS shipped, sum(bytes) AS bytes,
         group_concat(iif(shipped > 0, printf('<rect class="rate" x="%d" width="8" y="%.1f" height="%.1f"/>',
           bar * 10 + 1, 100 - 98.0 * shipped / most, 98.0 * shipped / most), ''), '') AS bars,
         group_concat(printf('%d,%.1f', bar * 10 + 5, 100 - 96.0 * lag / max(1, most_of_lag)), ' ') AS line
    FROM (SELECT *, max(shipped) OVER w AS most, max(lag) OVER w AS most_of_lag FROM report_bar WHERE bar >= 0
          WINDOW w AS (PARTITION BY sink, dataset) ORDER BY sink, dataset, bar) GROUP BY sink, dataset)
SELECT '<article>
<h3>' || s.html || ' <span class="state'
  || CASE WHEN state = 'active' THEN '' WHEN state IN ('blocked', 'diverged') THEN ' bad' ELSE ' off' END
  || '">' || (SELECT html FROM report_text WHERE text = state) || '</span></h3>
<p class="dim">' || d.html || ' → ' || coalesce(t.html || ', ' || f.html, 'plain SQL') || '</p>
<p>' || CASE behind WHEN 0 THEN 'Has all there is'
  ELSE printf('Behind by %,d rows in %,d partitions, the oldest for ', behind, behind_parts)
  || coalesce((SELECT printf(format, 1.0 * (@now_ms - oldest_at) / divisor) FROM report_unit
                WHERE kind = 'age' AND least <= @now_ms - oldest_at ORDER BY least DESC LIMIT 1), 'an unknown time') END
  || coalesce('; last delivery ' || datetime(last_at / 1000, 'unixepoch') || ' UTC', '; nothing delivered yet')
  || '.</p>
<div>
<figure><figcaption><span>delivered: ' || printf('%,d rows', shipped) || '</span><span>most '
  || printf('%,d', most_rate) || ' a bar</span></figcaption>
<svg viewBox="0 0 600 100" preserveAspectRatio="none" role="img"><title>Rows delivered over time</title><desc>'
  || printf('%,d rows and %,d bytes in the time shown, at most %,d rows in one of 60 bars', shipped, bytes, most_rate)
  || '</desc>' || bars || '</svg></figure>
<figure><figcaption><span>lag: ' || printf('%,d rows', behind) || '</span><span>most ' || printf('%,d', most_lag)
  || '</span></figcaption>
<svg viewBox="0 0 600 100" preserveAspectRatio="none" role="img"><title>Rows waiting over time</title><desc>'
  || printf('%,d rows wait now, at most %,d in the time shown', behind, most_lag)
  || '</desc><polygon class="lag" points="5,100 ' || line || ' 595,100"/></svg></figure>
</div>
</article>'
  FROM report_sink k JOIN chart USING (sink, dataset) JOIN report_text s ON s.text = k.sink
    JOIN report_text d ON d.text = k.dataset
    LEFT JOIN report_text t ON t.text = target LEFT JOIN report_text f ON f.text = format ORDER BY k.place;
SELECT printf('<p>And %,d more sinks, which are less behind.</p>', count(*) - 12) FROM report_sink HAVING count(*) > 12;
SELECT '</section>' WHERE EXISTS (SELECT 1 FROM report_sink);

SELECT '<section aria-labelledby="sizes">
<h2 id="sizes">Partitions</h2>
<table><caption>'
  || iif(count(*) > @lines, printf('The biggest %d of %,d, which hold', @lines, count(*)),
         printf('%,d, which hold', count(*)))
  || printf(' %,d bytes stored, %,d raw.', sum(iif(place <= @lines, stored_bytes, 0)),
            sum(iif(place <= @lines, raw_bytes, 0)))
  || ' The shade is the share of the biggest.</caption>
<thead><tr><th scope="col">partition</th><th scope="col" class="more">dataset</th>'
  || '<th scope="col" class="n">rows</th>'
  || '<th scope="col" class="n">stored</th><th scope="col" class="n">smaller</th>'
  || '<th scope="col" class="n more">a row</th>'
  || '<th scope="col" class="n more">segments</th><th scope="col" class="n more">newest</th></tr></thead>
<tbody>' FROM report_part HAVING count(*) > 0;
SELECT '<tr><th scope="row" class="share" style="--w:'
  || printf('%.1f', 100.0 * stored_bytes / max(1, (SELECT max(stored_bytes) FROM report_part)))
    || '%">' || t.html || '</th><td class="more">' || d.html || '</td><td class="n">' || printf('%,d', rows)
    || '</td><td class="n">'
    || (SELECT printf(format, 1.0 * stored_bytes / divisor) FROM report_unit
         WHERE kind = 'bytes' AND least <= stored_bytes ORDER BY least DESC LIMIT 1)
    || '</td><td class="n">' || coalesce(printf('%.1f×', 1.0 * raw_bytes / nullif(stored_bytes, 0)), '–')
    || '</td><td class="n more">'
    || coalesce(printf('%.1f B', 1.0 * stored_bytes / nullif(rows, 0)), '–') || '</td><td class="n more">'
    || segments || '</td><td class="n more">'
    || coalesce((SELECT printf(format, 1.0 * (@now_ms - newest_at) / divisor) FROM report_unit
                  WHERE kind = 'age' AND least <= @now_ms - newest_at ORDER BY least DESC LIMIT 1), '–')
    || '</td></tr>'
  FROM report_part JOIN report_text t ON t.text = partition JOIN report_text d ON d.text = dataset
  WHERE place <= @lines ORDER BY place;
SELECT '</tbody></table>
</section>' WHERE EXISTS (SELECT 1 FROM report_part);

SELECT '<section aria-labelledby="columns">
<h2 id="columns">Columns</h2>
<table><caption>What each column takes in sealed segments. A column of partition_by takes nothing:
it stands in the name.</caption>
<thead><tr><th scope="col">column</th><th scope="col">dataset</th><th scope="col" class="more">type</th>'
  || '<th scope="col" class="n">stored</th><th scope="col" class="n">of all</th>'
  || '<th scope="col" class="n more">a row</th></tr></thead>
<tbody>' WHERE EXISTS (SELECT 1 FROM report_column WHERE bytes > 0);
SELECT '<tr><th scope="row" class="share" style="--w:' || printf('%.1f', 100.0 * bytes / max(1, whole)) || '%">'
    || t.html || '</th><td>' || d.html || '</td><td class="more">' || type || '</td><td class="n">'
    || (SELECT printf(format, 1.0 * bytes / divisor) FROM report_unit WHERE kind = 'bytes' AND least <= bytes
         ORDER BY least DESC LIMIT 1)
    || printf('</td><td class="n">%.1f %%</td><td class="n more">%s</td></tr>', 100.0 * bytes / max(1, whole),
              coalesce(printf('%.2f B', 1.0 * bytes / nullif(rows, 0)), '–'))
  FROM report_column JOIN report_text t ON t.text = name JOIN report_text d ON d.text = dataset
 WHERE bytes > 0 AND place <= @lines ORDER BY place;
SELECT '</tbody></table>
</section>' WHERE EXISTS (SELECT 1 FROM report_column WHERE bytes > 0);

SELECT '<section aria-labelledby="open">
<h2 id="open">Batches under way</h2>
<table><caption>Claimed, and not acknowledged yet.</caption>
<thead><tr><th scope="col" class="n">batch</th><th scope="col">sink</th><th scope="col">partition</th>'
  || '<th scope="col" class="n">rows</th>'
  || '<th scope="col" class="n more">tried</th><th scope="col" class="more">again</th></tr></thead>
<tbody>' WHERE EXISTS (SELECT 1 FROM report_batch);
SELECT printf('<tr><th scope="row" class="n">%d</th><td>', batch) || s.html || '</td><td>' || p.html
    || printf('</td><td class="n">%,d</td>', rows)
    || printf('<td class="n more">%,d</td><td class="more">', attempts) || CASE WHEN error IS NULL THEN 'under way'
         ELSE coalesce(datetime(not_before / 1000, 'unixepoch'), 'next tick') END || '</td></tr>'
  FROM report_batch JOIN report_text s ON s.text = sink JOIN report_text p ON p.text = partition ORDER BY batch;
SELECT '</tbody></table>
</section>' WHERE EXISTS (SELECT 1 FROM report_batch);

SELECT '<section aria-labelledby="recent">
<h2 id="recent">Last deliveries</h2>
<table><caption>The newest batches of the export log, times in UTC.</caption>
<thead><tr><th scope="col">committed</th><th scope="col">sink</th><th scope="col">partition</th>'
  || '<th scope="col" class="n">rows</th>'
  || '<th scope="col" class="n more">bytes</th><th scope="col" class="more">object</th></tr></thead>
<tbody>' WHERE EXISTS (SELECT 1 FROM report_recent);
SELECT '<tr><td>' || datetime(committed_at / 1000, 'unixepoch') || '</td><td>' || s.html || '</td><td>' || p.html
    || printf('</td><td class="n">%,d</td><td class="n more">%,d</td><td class="more o">', rows, bytes)
    || coalesce(o.html, '') || '</td></tr>'
  FROM report_recent JOIN report_text s ON s.text = sink JOIN report_text p ON p.text = partition
    LEFT JOIN report_text o ON o.text = object
  ORDER BY id DESC;
SELECT '</tbody></table>
</section>' WHERE EXISTS (SELECT 1 FROM report_recent);

SELECT '<section aria-labelledby="gaps">
<h2 id="gaps">Gaps and replays</h2>
<table><caption>Rows that a sink never had, and rows that were shipped again on purpose.</caption>
<thead><tr><th scope="col">at</th><th scope="col">what</th><th scope="col">sink</th><th scope="col">partition</th>'
  || '<th scope="col" class="n">rows</th><th scope="col" class="more">reason</th></tr></thead>
<tbody>' WHERE EXISTS (SELECT 1 FROM report_event);
SELECT '<tr><td>' || datetime(committed_at / 1000, 'unixepoch') || '</td><td>' || (SELECT html FROM report_text WHERE text = kind) || '</td><td>' || s.html
    || '</td><td>' || p.html || printf('</td><td class="n">%,d</td><td class="more">', rows)
    || coalesce(r.html, '') || '</td></tr>'
  FROM report_event JOIN report_text s ON s.text = sink JOIN report_text p ON p.text = partition
    LEFT JOIN report_text r ON r.text = reason
  ORDER BY id DESC;
SELECT '</tbody></table>
</section>' WHERE EXISTS (SELECT 1 FROM report_event);
SELECT '</main>
</body>
</html>';
DETACH blank;
DELETE FROM temp.sqlite_parameters WHERE key IN ('@loaded', '@now_ms', '@lines', '@from_ms', '@bar_ms');
