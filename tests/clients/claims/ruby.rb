# What sql/examples/clients/ruby.rb says does not work, tried:  ruby.rb EXTENSION   (in a folder of its own)
require 'sqlite3'

def attempt(what)
  puts "#{what}: #{yield.inspect}"
rescue StandardError => e
  puts "#{what}: #{e.class}: #{e.message}"
end

Dir.mkdir('archive')
db = SQLite3::Database.new('claims.db')
attempt('loaded before it is enabled') { db.load_extension(ARGV[0]) && true }
db.enable_load_extension(false)
attempt('switched off') { db.load_extension(ARGV[0]) && true }
db.execute('CREATE VIRTUAL TABLE claims USING tidemark(ok BOOLEAN, body TEXT)')
db.execute("INSERT INTO tidemark_sink(sink, dataset, target, format)
  VALUES ('archive', 'claims', 'file://' || ?, 'ndjson')", [File.realpath('archive')])

insert = 'INSERT INTO claims VALUES (?, ?)'
attempt('true') { db.execute(insert, [true, 'x']) }
attempt('a symbol') { db.execute(insert, [1, :x]) }
attempt('a time') { db.execute(insert, [1, Time.at(0)]) }
attempt('bytes') { db.execute(insert, [1, 'bytes'.b]) }
attempt('bytes said to be UTF-8') { db.execute(insert, [1, 'bytes'.b.force_encoding('UTF-8')]) }
attempt('one row more') { db.execute(insert, [0, 'text']) }
attempt('read') { db.execute('SELECT since, ok, body FROM claims WHERE since > ?', [0]) }

tick = -> { db.get_first_value("SELECT tidemark_export('archive') ->> 'rows'") }
attempt('a tick in a transaction') { db.transaction { tick.call } }
attempt('a tick in the block of execute') { db.execute('SELECT since FROM claims') { tick.call } }
result = db.query('SELECT since FROM claims')
result.next
attempt('a tick with a result open') { tick.call }
result.close
attempt('and with it closed') { tick.call }
