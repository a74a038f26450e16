#!/bin/sh
# The demo:  sh sql/demo.sh [folder]
# Installs what is missing, builds, and runs sql/demo.sql on the sample records in the folder, which must be empty or not
# exist yet; without one it makes a new temporary folder. All that the demo leaves is in there.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
. "$root/tests/setup.sh"

if [ $# -gt 1 ]; then
  echo "usage: sh sql/demo.sh [folder]" >&2
  exit 2
fi
if [ $# -eq 1 ]; then
  mkdir -p -- "$1"
  folder=$(CDPATH='' cd -- "$1" && pwd -P)
  if [ -n "$(ls -A "$folder")" ]; then
    echo "$folder is not empty; the demo starts in an empty folder" >&2
    exit 1
  fi
else
  folder=
fi

install_missing
build_into "$root/build"
[ -n "$folder" ] || folder=$(mktemp -d "${TMPDIR:-/tmp}/tidemark-demo.XXXXXX")

cp "$root/build/ext/tidemark.so" "$root/sql/demo_tick.sql" "$folder"
zstd -dq "$root/tests/data/logs.ndjson.zst" -o "$folder/logs.ndjson"
cd "$folder"
mkdir archive alarms lake
sqlite3 -batch demo.db <"$root/sql/demo.sql"

cat <<EOF

Everything is in $folder:
  archive/  $(find archive -name '*.zst' | wc -l | tr -d ' ') files of compressed NDJSON: zstd -dc archive/logs/source=apache/*
  alarms/   $(find alarms -name '*.ndjson' | wc -l | tr -d ' ') files of plain NDJSON
  lake/     $(find lake -name '*.parquet' | wc -l | tr -d ' ') Parquet files and a Delta log: SELECT count(*) FROM
            read_parquet('lake/logs/*=*/*.parquet') in DuckDB
  demo.db   the database: the log, the sinks, their export log, the rollup

Try next (the shell wants its own commands at the start of a line):

cd "$folder"
sqlite3 -header -column demo.db
.load ./tidemark
INSERT INTO logs(source, ts, level, body) VALUES ('me', 0, 'error', 'hello');
SELECT * FROM tidemark_lag WHERE rows > 0;
.read demo_tick.sql
SELECT since, partition, body FROM logs WHERE since > 28933 ORDER BY since;
SELECT sink, partition, since, until, rows FROM tidemark_export_log
  ORDER BY id DESC LIMIT 3;
EOF
