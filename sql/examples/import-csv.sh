#!/bin/sh
# Takes a CSV file's rows into logs (sql/install.sql makes it), each once:  sh import-csv.sh DATABASE FILE
#
# The first line names columns: source, ts (ms), level, component, body, attrs; an empty field is NULL. Rows have no
# ids: one is known by the file's path and its number. What came from which path is kept in the table `imported`, in the
# transaction of the rows, so run it again after a crash, or when lines were added at the end.
#
# A file that does not begin with the bytes that came from its path before is another one, as after logrotate, and all
# its rows are new. So is one that was renamed: do not import what logrotate left (r.csv.1), its rows would come twice.
# Instead import r.csv once more when nobody writes to it any longer, just before it is renamed; what is added between
# the last import and that is not taken. Or give rows ids, as import-ndjson.sh has them.
#
#   TIDEMARK   the extension (tidemark, on the library path)
set -eu

if [ $# -ne 2 ]; then
  echo "usage: sh import-csv.sh DATABASE FILE" >&2
  exit 2
fi
incoming=$(mktemp)
trap 'rm -f "$incoming"' EXIT
name=$(cd -- "$(dirname -- "$2")" && pwd)/$(basename -- "$2")
name=$(printf %s "$name" | sed "s/'/''/g") # as SQL writes a quote within quotes

# What came before (nothing, if there is no table yet) is asked for before the file is read; the transaction sees that
# it still holds.
record="SELECT generation || ' ' || rows || ' ' || bytes || ' ' || sum FROM imported WHERE file = '$name'"
before=$(sqlite3 -init /dev/null -batch -list -cmd '.timeout 10000' "$1" "$record" 2>/dev/null) || before=
cat -- "$2" >"$incoming" # what is added from here on is for the next time
if [ ! -s "$incoming" ]; then
  echo "$2 is empty: its first line names the columns" >&2
  exit 1
fi
if [ -n "$(tail -c 1 "$incoming")" ]; then
  echo "$2 ends in the middle of a line: it is still being written, or its last newline is missing" >&2
  exit 1
fi
errors=$(sqlite3 -init /dev/null -batch :memory: ".import --csv '$incoming' incoming" 2>&1 |
  sed "s|^.*$incoming:|line |")
if [ -n "$errors" ]; then
  printf '%s is not imported, not all of its lines are as the first one says:\n%s\n' "$2" "$errors" >&2
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

sqlite3 -init /dev/null -batch -bail -list -cmd ".load '${TIDEMARK:-tidemark}'" -cmd '.timeout 10000' "$1" \
  ".import --csv --schema temp '$incoming' incoming" "
CREATE TEMP TABLE needs(same CONSTRAINT \"another import of the file ended meanwhile: run it again\" CHECK (same));
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS imported(
  file TEXT PRIMARY KEY, generation INTEGER NOT NULL, rows INTEGER NOT NULL, bytes INTEGER NOT NULL, sum TEXT NOT NULL);
INSERT INTO needs SELECT coalesce(($record), '') = '$before';
INSERT INTO logs(source, ts, level, component, body, attrs)
  SELECT source, nullif(ts, ''), nullif(level, ''), nullif(component, ''), nullif(body, ''), nullif(attrs, '')
    FROM incoming WHERE rowid > $rows ORDER BY rowid;
SELECT changes() || ' new rows';
REPLACE INTO imported
  SELECT '$name', $generation, (SELECT count(*) FROM incoming), $(wc -c <"$incoming"), '${whole%% *}'
    WHERE '${whole%% *}' <> '$sum';
COMMIT;"
