#!/bin/sh
# Takes a file of JSON objects, one a line, into a log, each once:  sh import-ndjson.sh DATABASE FILE
#
# {"id": "web-17", "source": "web", "ts": 1767225600000, "body": "GET /"}: an object is known by its id, in whichever
# file; one without an id by the file's path and its number. What the dataset has is passed over (unique=id), so run it
# again after a crash, when lines were added, or with files that overlap. An id that retention took may come again: keep
# rows for longer than files. The whole object is kept in `entry`.
#
#   TIDEMARK   the extension (tidemark, on the library path)
set -eu

if [ $# -ne 2 ]; then
  echo "usage: sh import-ndjson.sh DATABASE FILE" >&2
  exit 2
fi
incoming=$(mktemp)
trap 'rm -f "$incoming" "$incoming.numbered"' EXIT
cat -- "$2" >"$incoming" # what is added from here on is for the next time
if [ -n "$(tail -c 1 "$incoming")" ]; then
  echo "$2 ends in the middle of a line: it is still being written, or its last newline is missing" >&2
  exit 1
fi
name=$(cd -- "$(dirname -- "$2")" && pwd)/$(basename -- "$2")
name=$(printf %s "$name" | sed "s/'/''/g") # as SQL writes a quote within quotes

# Mode ascii takes quotes and tabs as they are; each line comes with its number.
awk '{ printf "%d\037%s\n", NR, $0 }' "$incoming" >"$incoming.numbered"
load="CREATE TEMP TABLE incoming(number INTEGER PRIMARY KEY, line TEXT);
.mode ascii
.separator \"\\037\" \"\\n\"
.import --schema temp '$incoming.numbered' incoming
.mode list"

bad=$(sqlite3 -batch -list :memory: <<SQL
$load
SELECT min(number) FROM incoming WHERE line <> '' AND iif(json_valid(line), json_type(line) <> 'object', 1);
SQL
)
if [ -n "$bad" ]; then
  echo "$2 is not imported: line $bad is not an object of JSON" >&2
  exit 1
fi

sqlite3 -batch -bail -list -cmd ".load '${TIDEMARK:-tidemark}'" -cmd '.timeout 10000' "$1" <<SQL
$load
BEGIN IMMEDIATE;
CREATE VIRTUAL TABLE IF NOT EXISTS events USING tidemark(
  source TEXT NOT NULL, id TEXT NOT NULL, ts TIMESTAMP_MS, body TEXT, entry JSON, partition_by=source, unique=id);
INSERT OR IGNORE INTO events(source, id, ts, body, entry)
  SELECT coalesce(line ->> 'source', ''), coalesce(line ->> 'id', '$name:' || number), line ->> 'ts', line ->> 'body',
         line
    FROM incoming WHERE line <> '' ORDER BY number;
SELECT changes() || ' new rows';
COMMIT;
SQL
