#!/bin/sh
# Imports what is new in systemd's journal, each entry once:  sh import-journald.sh DATABASE [journalctl option...]
#
# The journal's cursor is kept in the transaction of the rows, so that a run that dies has added nothing, and the next
# one begins where the last whole one ended; of two runs at once the later adds nothing. With options (--unit=ssh,
# --all for fields above 4,096 bytes, which are null without it) use a database for each set: the cursor is theirs.
# TIDEMARK names the extension (tidemark, on the library path).
#
# journalctl writes text that holds control characters or is no UTF-8 as a list of its bytes; here it is text again,
# byte for byte. A field that an entry has several times is a list of texts: its lines. All fields are kept as they
# came.
set -eu

if [ $# -lt 1 ]; then
  echo "usage: sh import-journald.sh DATABASE [journalctl option...]" >&2
  exit 2
fi
database=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

sql() {
  sqlite3 -init /dev/null -batch -bail -list -noheader -cmd ".load '${TIDEMARK:-tidemark}'" -cmd '.timeout 10000' \
    "$database"
}

sql <<'SQL'
CREATE VIRTUAL TABLE IF NOT EXISTS journal USING tidemark(
  unit TEXT, ts TIMESTAMP_US, priority INTEGER, body TEXT, fields JSON, partition_by=unit);
CREATE TABLE IF NOT EXISTS journal_cursor(id INTEGER PRIMARY KEY CHECK (id = 1), cursor TEXT);
INSERT INTO journal_cursor SELECT 1, NULL WHERE NOT EXISTS (SELECT 1 FROM journal_cursor);
SQL
cursor=$(echo 'SELECT cursor FROM journal_cursor;' | sql)
journalctl --output=json --no-pager --quiet ${cursor:+"--after-cursor=$cursor"} "$@" >"$folder/entries"
[ -s "$folder/entries" ] || exit 0
printf '%s' "$cursor" >"$folder/cursor"
cd "$folder"
case ${TIDEMARK-} in /* | '') ;; */*) TIDEMARK=$OLDPWD/$TIDEMARK ;; esac
case $database in /*) ;; *) database=$OLDPWD/$database ;; esac

sql <<'SQL'
CREATE TEMP TABLE raw(line TEXT);
-- ASCII mode takes quotes and tabs as they are: one line is one value.
.mode ascii
.separator "\037" "\n"
.import entries raw
CREATE TEMP TABLE high(bytes BLOB);
INSERT INTO high VALUES (CAST(
  x'808182838485868788898A8B8C8D8E8F909192939495969798999A9B9C9D9E9F' ||
  x'A0A1A2A3A4A5A6A7A8A9AAABACADAEAFB0B1B2B3B4B5B6B7B8B9BABBBCBDBEBF' ||
  x'C0C1C2C3C4C5C6C7C8C9CACBCCCDCECFD0D1D2D3D4D5D6D7D8D9DADBDCDDDEDF' ||
  x'E0E1E2E3E4E5E6E7E8E9EAEBECEDEEEFF0F1F2F3F4F5F6F7F8F9FAFBFCFDFEFF' AS BLOB));
BEGIN IMMEDIATE;
INSERT INTO journal(unit, ts, priority, body, fields)
  SELECT coalesce(line ->> '_SYSTEMD_UNIT', line ->> 'SYSLOG_IDENTIFIER'),
         CAST(line ->> '__REALTIME_TIMESTAMP' AS INTEGER), CAST(line ->> 'PRIORITY' AS INTEGER),
         CASE json_type(line, '$.MESSAGE')
           WHEN 'array' THEN (
             SELECT CASE WHEN max(type = 'integer') THEN
                      group_concat(iif(value < 128, char(value), substr(bytes, value - 127, 1)), '')
                    ELSE group_concat(value, char(10)) END FROM json_each(line, '$.MESSAGE'), high)
           ELSE line ->> 'MESSAGE' END,
         line
    FROM raw WHERE (SELECT cursor IS nullif(CAST(readfile('cursor') AS TEXT), '') FROM journal_cursor)
    ORDER BY raw.rowid;
UPDATE journal_cursor SET cursor = (SELECT line ->> '__CURSOR' FROM raw ORDER BY rowid DESC LIMIT 1)
  WHERE cursor IS nullif(CAST(readfile('cursor') AS TEXT), '');
COMMIT;
SQL
