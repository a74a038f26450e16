# What sql/examples/clients/tcl.tcl says does not work, tried:  tcl.tcl EXTENSION   (in a folder of its own)
package require sqlite3

proc attempt {what script} {
  catch {uplevel $script} result
  puts "$what: $result"
}

file mkdir archive
set extension [lindex $argv 0]
sqlite3 db claims.db
attempt "not enabled" {db eval {SELECT load_extension($extension)}}
db enable_load_extension 1
db eval {SELECT load_extension($extension)}
db eval {CREATE VIRTUAL TABLE claims USING tidemark(ok BOOLEAN, n INTEGER, x ANY, body TEXT)}
set folder [file normalize archive]
db eval {INSERT INTO tidemark_sink(sink, dataset, target, format)
  VALUES ('archive', 'claims', 'file://' || $folder, 'ndjson')}

set ok true
attempt "true" {db eval {INSERT INTO claims(ok) VALUES ($ok)}}
set ok [expr {bool($ok)}]
attempt "bool(true)" {db eval {INSERT INTO claims(ok) VALUES ($ok)}}
set text [string trim " 5 "]
set number [expr {2 + 3}]
attempt "5 as text" {db eval {INSERT INTO claims(n, x) VALUES ($text, $text)}}
attempt "5 as a number" {db eval {INSERT INTO claims(n, x) VALUES ($number, $number)}}
attempt "5 by CAST" {db eval {INSERT INTO claims(n, x) VALUES ($text, CAST($text AS INTEGER))}}
attempt "types of 5" {db eval {SELECT typeof(n), typeof(x) FROM claims WHERE since > 1}}
set bytes [binary format a5 bytes]
attempt "bytes" {db eval {INSERT INTO claims(body) VALUES ($bytes)}}
set body [encoding convertfrom utf-8 $bytes]
attempt "bytes made text" {db eval {INSERT INTO claims(body) VALUES ($body)}}
attempt "no such variable" {db eval {INSERT INTO claims(body) VALUES ($misspelt)}}
attempt "rows" {db onecolumn {SELECT count(*) FROM claims}}

set tick {SELECT tidemark_export('archive') ->> 'rows'}
attempt "a tick in a transaction" {db transaction {db onecolumn $tick}}
attempt "a tick in a script of db eval" {db eval {SELECT since FROM claims} {db onecolumn $tick}}
attempt "and behind it" {db onecolumn $tick}
