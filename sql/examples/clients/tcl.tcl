#!/usr/bin/tclsh
# Tidemark from Tcl's sqlite3:  tcl.tcl EXTENSION DATABASE FOLDER [ROWS]      (Debian: tcl, libsqlite3-tcl)
#
# Extensions: db enable_load_extension 1, then the SQL function load_extension(path).
#
# - tidemark_export and tidemark_claim refuse to run inside db transaction, and in the script of a db eval that still
#   reads rows: collect them first.
# - The words true and false are text, which BOOLEAN does not take: write 1 and 0, or [expr {bool($ok)}].
# - A value is bound as what Tcl last used it as: 5 may be text. Columns of a type turn it into 5; a column of type ANY
#   keeps the text: write CAST($n AS INTEGER), or set n [expr {$n + 0}]. Bytes (binary format, a channel in binary) are
#   bound as a BLOB, which a TEXT column refuses: encoding convertfrom utf-8 makes them text.
# - A variable that is not set is bound as NULL, without an error: NOT NULL on the column finds the typing error.
package require sqlite3

lassign $argv extension database folder rows
if {$rows eq ""} {set rows 3}
sqlite3 db $database
db timeout 5000
db enable_load_extension 1
db eval {SELECT load_extension($extension)}
db enable_load_extension 0

db eval {CREATE VIRTUAL TABLE IF NOT EXISTS events USING tidemark(
  source TEXT NOT NULL, at TIMESTAMP_MS, ok BOOLEAN, body TEXT, partition_by=source)}
set folder [file normalize $folder]
db eval {INSERT OR IGNORE INTO tidemark_sink(sink, dataset, target, format, columns)
  VALUES ('archive', 'events', 'file://' || replace(replace(replace($folder, '%', '%25'), '?', '%3F'), '#', '%23'),
    'ndjson', '["since", "source", "ok", "body"]')}

set since [db onecolumn {SELECT coalesce(max(since), 0) FROM events}]
db transaction immediate { ;# the write lock at BEGIN: a writer waits its turn instead of failing midway
  for {set n 1} {$n <= $rows} {incr n} {
    set at [clock milliseconds]
    set ok [expr {$n % 2 == 1}]
    set body "row $n of process [pid]"
    db eval {INSERT INTO events VALUES ('tcl', $at, $ok, $body)}
  }
}

db eval {SELECT since, source, ok, body FROM events WHERE since > $since ORDER BY since} {
  puts "$since $source $ok $body"
}

foreach tick {first second} {
  set did [db onecolumn {SELECT tidemark_export('archive')}]
  puts "$tick tick: [db onecolumn {SELECT $did ->> 'rows'}] rows, [db onecolumn {SELECT $did ->> 'failed'}] failed"
}

# A failed batch is tried again by a later tick; until then its row says why.
db eval {SELECT error FROM tidemark_batch WHERE sink = 'archive' AND error IS NOT NULL} {
  puts "failed: $error"
}
db close
