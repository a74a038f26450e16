#!/bin/sh
# Takes a file of JSON objects, one a line, into a log, each once:  sh import-ndjson.sh DATABASE FILE
#
# {"id": "web-17", "source": "web", "ts": 1767225600000, "body": "GET /"}: an object is known by its id, in whichever
# file; one without an id by the file's path, its generation and its number. What the dataset has is passed over
# (unique=id), so run it again after a crash, when lines were added, or with files that overlap. An id that retention
# took may come again: keep rows for longer than files. The whole object is kept in `entry`.
#
# A file that does not begin with the bytes that came from its path before is the path's next generation, as after
# logrotate, and all its objects without an id are new; so are those of a file that was renamed. What came from which
# path is kept in the table `imported`, in the transaction of the rows.
#
#   TIDEMARK   the extension (tidemark, on the library path)
set -eu

if [ $# -ne 2 ]; then
  echo "usage: sh import-ndjson.sh DATABASE FILE" >&2
  exit 2
fi
incoming=$(mktemp)
trap 'rm -f "$incoming" "$incoming.numbered"' EXIT
name=$(cd -- "$(dirname -- "$2")" && pwd)/$(basename -- "$2")
name=$(printf %s "$name" | sed "s/'/''/g") # as SQL writes a quote within quotes

# What came before (nothing, if there is no table yet) is asked for before the file is read; the transaction sees that
# it still holds.
record="SELECT generation || ' ' || rows || ' ' || bytes || ' ' || sum FROM imported WHERE file = '$name'"
before=$(sqlite3 -init /dev/null -batch -list -cmd '.timeout 10000' "$1" "$record" 2>/dev/null) || before=
cat -- "$2" >"$incoming" # what is added from here on is for the next time
if [ -n "$(tail -c 1 "$incoming")" ]; then
  echo "$2 ends in the middle of a line: it is still being written, or its last newline is missing" >&2
  exit 1
fi

# Mode ascii takes quotes and tabs as they are; each line comes with its number.
awk '{ printf "%d\037%s\n", NR, $0 }' "$incoming" >"$incoming.numbered"
load="CREATE TEMP TABLE incoming(number INTEGER PRIMARY KEY, line TEXT);
.mode ascii
.separator \"\\037\" \"\\n\"
.import --schema temp '$incoming.numbered' incoming
.mode list"

bad=$(sqlite3 -init /dev/null -batch -list :memory: <<SQL
$load
SELECT min(number) FROM incoming WHERE line <> '' AND iif(json_valid(line), json_type(line) <> 'object', 1);
SQL
)
if [ -n "$bad" ]; then
  echo "$2 is not imported: line $bad is not an object of JSON" >&2
  exit 1
fi

read -r generation rows bytes sum <<END
${before:-0 0 0 none}
END
beginning=$(head -c "$bytes" "$incoming" | sha256sum)
if [ "${beginning%% *}" != "$sum" ]; then # the first file of this path, or another one
  generation=$((generation + 1)) rows=0
fi
whole=$(sha256sum <"$incoming")

sqlite3 -init /dev/null -batch -bail -list -cmd ".load '${TIDEMARK:-tidemark}'" -cmd '.timeout 10000' "$1" <<SQL
$load
CREATE TEMP TABLE needs(same CONSTRAINT "another import of the file ended meanwhile: run it again" CHECK (same));
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS imported(
  file TEXT PRIMARY KEY, generation INTEGER NOT NULL, rows INTEGER NOT NULL, bytes INTEGER NOT NULL, sum TEXT NOT NULL);
INSERT INTO needs SELECT coalesce(($record), '') = '$before';
CREATE VIRTUAL TABLE IF NOT EXISTS events USING tidemark(
  source TEXT NOT NULL, id TEXT NOT NULL, ts TIMESTAMP_MS, body TEXT, entry JSON, partition_by=source, unique=id);
INSERT OR IGNORE INTO events(source, id, ts, body, entry)
  SELECT coalesce(line ->> 'source', ''), coalesce(line ->> 'id', '$name:$generation:' || number), line ->> 'ts',
         line ->> 'body', line
    FROM incoming WHERE line <> '' AND number > $rows ORDER BY number;
SELECT changes() || ' new rows';
REPLACE INTO imported
  SELECT '$name', $generation, (SELECT count(*) FROM incoming), $(wc -c <"$incoming"), '${whole%% *}'
    WHERE '${whole%% *}' <> '$sum';
COMMIT;
SQL
