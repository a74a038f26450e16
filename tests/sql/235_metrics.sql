-- tidemark_metrics: the text as a scraper gets it, and its words; tests/metrics has it parsed.
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source);
INSERT INTO tidemark_sink(sink, dataset) VALUES ('by "hand"', 'logs');
INSERT INTO logs VALUES ('web', 'one'), ('web', 'two'), ('db', 'three');
INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows, bytes, committed_at) VALUES ('by "hand"', 'logs', 'source=web', 0, 1, 1, 512, 1767225600250);
.mode list
WITH RECURSIVE lines(line, rest) AS (SELECT NULL, tidemark_metrics() || char(10) UNION ALL SELECT substr(rest, 1, instr(rest, char(10)) - 1), substr(rest, instr(rest, char(10)) + 1) FROM lines WHERE rest <> '') SELECT line FROM lines WHERE line IS NOT NULL AND line NOT LIKE '%lag_seconds{%' AND line NOT LIKE 'tidemark_build_info%';
SELECT tidemark_metrics('MAIN') LIKE '%dataset="logs"%';
-- refused
SELECT tidemark_metrics('nowhere');
SELECT tidemark_metrics(7);
CREATE VIEW v AS SELECT tidemark_metrics();
SELECT * FROM v;
