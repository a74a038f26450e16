#!/usr/bin/ruby
# Tidemark from Ruby's sqlite3:  ruby.rb EXTENSION DATABASE FOLDER [ROWS]      (Debian: ruby-sqlite3)
#
# Extensions: enable_load_extension(true), then load_extension(path). Debian 12's release (1.4) has it on from the
# opening: switch it off when all are loaded, so that SQL cannot load more.
#
# - tidemark_export and tidemark_claim refuse to run inside db.transaction, in the block of an execute whose rows are
#   not all read, and while a result of query or prepare is open: close it.
# - true and false cannot be bound ("can't prepare TrueClass"), nor symbols and times: bind 1 and 0, texts, integers.
# - A string in ASCII-8BIT, as sockets and binread give, is bound as a BLOB, which a TEXT column refuses:
#   force_encoding('UTF-8').
require 'json'
require 'sqlite3'

extension, database, folder, rows = ARGV
db = SQLite3::Database.new(database)
db.busy_timeout(5000)
db.enable_load_extension(true)
db.load_extension(extension)
db.enable_load_extension(false)

db.execute('CREATE VIRTUAL TABLE IF NOT EXISTS events USING tidemark(
  source TEXT NOT NULL, at TIMESTAMP_MS, ok BOOLEAN, body TEXT, partition_by=source)')
db.execute(%q{INSERT OR IGNORE INTO tidemark_sink(sink, dataset, target, format, columns)
  VALUES ('archive', 'events', 'file://' || replace(replace(replace(?, '%', '%25'), '?', '%3F'), '#', '%23'), 'ndjson',
    '["since", "source", "ok", "body"]')},
           [File.expand_path(folder)])

since = db.get_first_value('SELECT coalesce(max(since), 0) FROM events')
db.transaction(:immediate) do # the write lock at BEGIN: a writer waits its turn instead of failing midway
  1.upto(Integer(rows || 3)) do |n|
    db.execute("INSERT INTO events VALUES ('ruby', ?, ?, ?)",
               [(Time.now.to_f * 1000).to_i, n.odd? ? 1 : 0, "row #{n} of process #{Process.pid}"])
  end
end

db.execute('SELECT since, source, ok, body FROM events WHERE since > ? ORDER BY since', [since]).each do |row|
  puts row.join(' ')
end

%w[first second].each do |tick|
  did = JSON.parse(db.get_first_value("SELECT tidemark_export('archive')"))
  puts "#{tick} tick: #{did['rows']} rows, #{did['failed']} failed"
end

# A failed batch is tried again by a later tick; until then its row says why.
db.execute("SELECT error FROM tidemark_batch WHERE sink = 'archive' AND error IS NOT NULL").each do |error,|
  puts "failed: #{error}"
end
db.close
