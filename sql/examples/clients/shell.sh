#!/bin/sh
# Tidemark from the sqlite3 shell:  shell.sh EXTENSION DATABASE FOLDER [ROWS]
#
# Extensions: .load PATH, or sqlite3 -cmd ".load PATH". The shell of macOS was built without: install another one. The
# function load_extension(PATH) does the same in SQL; with -safe neither is there.
#
# - tidemark_export and tidemark_claim refuse to run in a transaction: after BEGIN comes COMMIT, on a line of its own.
#   An error ends the line that it is in, and a COMMIT behind it on that line is not run.
# - Without .timeout a statement that finds the file locked fails at once.
# - Without -bail the shell goes on after an error, and ends with status 1 in either case.
# - TRUE and FALSE are 1 and 0. A value of .parameter set is an SQL expression: quote texts in it.
set -eu

folder=$(cd -- "$3" && pwd | sed "s/'/''/g") # as SQL writes a quote within quotes

sqlite3 -batch -bail -list -separator ' ' "$2" <<EOF
.load '$1'
.timeout 5000
CREATE VIRTUAL TABLE IF NOT EXISTS events USING tidemark(
  source TEXT NOT NULL, at TIMESTAMP_MS, ok BOOLEAN, body TEXT, partition_by=source);
INSERT OR IGNORE INTO tidemark_sink(sink, dataset, target, format, columns) VALUES
  ('archive', 'events', 'file://' || replace(replace(replace('$folder', '%', '%25'), '?', '%3F'), '#', '%23'), 'ndjson',
   '["since", "source", "ok", "body"]');

.parameter set @rows ${4:-3}
.parameter set @process $$
CREATE TEMP TABLE seen AS SELECT coalesce(max(since), 0) AS since FROM events;
INSERT INTO events
  SELECT 'shell', unixepoch() * 1000, value % 2 = 1, 'row ' || value || ' of process ' || @process
    FROM generate_series(1, @rows) WHERE @rows > 0;

SELECT since, source, ok, body FROM events WHERE since > (SELECT since FROM seen) ORDER BY since;

-- MATERIALIZED: it is called once, however often its JSON is looked at.
WITH tick(did) AS MATERIALIZED (SELECT tidemark_export('archive'))
SELECT 'first tick: ' || (did ->> 'rows') || ' rows, ' || (did ->> 'failed') || ' failed' FROM tick;
WITH tick(did) AS MATERIALIZED (SELECT tidemark_export('archive'))
SELECT 'second tick: ' || (did ->> 'rows') || ' rows, ' || (did ->> 'failed') || ' failed' FROM tick;
-- A failed batch is tried again by a later tick; until then its row says why.
SELECT 'failed: ' || error FROM tidemark_batch WHERE sink = 'archive' AND error IS NOT NULL;
EOF
