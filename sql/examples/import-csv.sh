#!/bin/sh
# Takes a CSV file's rows into logs (sql/install.sql makes it), each once:  sh import-csv.sh DATABASE FILE
#
# The first line names columns: source, ts (ms), level, component, body, attrs; an empty field is NULL. Rows have no
# ids: one is known by the file's path and its number. How many rows came from which path is kept in the table
# `imported`, in the transaction of the rows, so run it again after a crash, or when lines were added at the end. A file
# that is renamed is another one: import it before logrotate does that, or give rows ids, as import-ndjson.sh has them.
#
#   TIDEMARK   the extension (tidemark, on the library path)
set -eu

if [ $# -ne 2 ]; then
  echo "usage: sh import-csv.sh DATABASE FILE" >&2
  exit 2
fi
incoming=$(mktemp)
trap 'rm -f "$incoming"' EXIT
cat -- "$2" >"$incoming" # what is added from here on is for the next time
if [ ! -s "$incoming" ]; then
  echo "$2 is empty: its first line names the columns" >&2
  exit 1
fi
if [ -n "$(tail -c 1 "$incoming")" ]; then
  echo "$2 ends in the middle of a line: it is still being written, or its last newline is missing" >&2
  exit 1
fi
errors=$(sqlite3 -batch :memory: ".import --csv '$incoming' incoming" 2>&1 | sed "s|^.*$incoming:|line |")
if [ -n "$errors" ]; then
  printf '%s is not imported, not all of its lines are as the first one says:\n%s\n' "$2" "$errors" >&2
  exit 1
fi
name=$(cd -- "$(dirname -- "$2")" && pwd)/$(basename -- "$2")
name=$(printf %s "$name" | sed "s/'/''/g") # as SQL writes a quote within quotes

sqlite3 -batch -bail -list -cmd ".load '${TIDEMARK:-tidemark}'" -cmd '.timeout 10000' "$1" \
  ".import --csv --schema temp '$incoming' incoming" "
CREATE TEMP TABLE needs(
  grown CONSTRAINT \"the file has fewer rows than came from it before: another one has its name\" CHECK (grown));
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS imported(file TEXT PRIMARY KEY, rows INTEGER NOT NULL);
INSERT INTO imported VALUES ('$name', 0) ON CONFLICT DO NOTHING;
INSERT INTO needs SELECT (SELECT count(*) FROM incoming) >= rows FROM imported WHERE file = '$name';
INSERT INTO logs(source, ts, level, component, body, attrs)
  SELECT source, nullif(ts, ''), nullif(level, ''), nullif(component, ''), nullif(body, ''), nullif(attrs, '')
    FROM incoming WHERE rowid > (SELECT rows FROM imported WHERE file = '$name') ORDER BY rowid;
SELECT changes() || ' new rows';
UPDATE imported SET rows = (SELECT count(*) FROM incoming)
  WHERE file = '$name' AND rows < (SELECT count(*) FROM incoming);
COMMIT;"
