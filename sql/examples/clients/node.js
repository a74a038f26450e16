// Tidemark from Node's better-sqlite3 (12, with the SQLite that it brings):  node.js EXTENSION DATABASE FOLDER [ROWS]
//
// Extensions: loadExtension(path); nothing has to be enabled. (npm install better-sqlite3)
//
// - tidemark_export and tidemark_claim refuse to run inside db.transaction(), and while an iterate() is not at its end.
// - A number is bound as REAL. Columns of a type take 1.0 as 1; a column of type ANY keeps the 1.0: bind a BigInt, 1n.
// - true and false cannot be bound: write 1 and 0, or Number(ok).
// - Integers beyond 2^53 (TIMESTAMP_NS of today, a since of that size) come back rounded, without a word.
//   safeIntegers() reads them as BigInt; bind them as BigInt too.
// - This SQLite has no progress callbacks: an expression of a sink's filter that runs long cannot be interrupted.
'use strict';
const path = require('node:path');
const Database = require('better-sqlite3');

const [extension, database, folder, rows = '3'] = process.argv.slice(2);
const db = new Database(database); // waits 5 s for a lock, unless told otherwise
db.loadExtension(path.resolve(extension));

db.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS events USING tidemark(
  source TEXT NOT NULL, at TIMESTAMP_MS, ok BOOLEAN, body TEXT, partition_by=source)`);
db.prepare(`INSERT OR IGNORE INTO tidemark_sink(sink, dataset, target, format, columns)
  VALUES ('archive', 'events', 'file://' || replace(replace(replace(?, '%', '%25'), '?', '%3F'), '#', '%23'), 'ndjson',
    '["since", "source", "ok", "body"]')`)
  .run(path.resolve(folder));

const since = db.prepare('SELECT coalesce(max(since), 0) FROM events').pluck().safeIntegers().get();
const insert = db.prepare("INSERT INTO events VALUES ('node', ?, ?, ?)");
const append = db.transaction((count) => {
  for (let n = 1; n <= count; n++) {
    insert.run(Date.now(), n % 2, `row ${n} of process ${process.pid}`);
  }
});
append.immediate(Number(rows)); // the write lock at BEGIN: a writer waits its turn instead of failing midway

const newer = db.prepare('SELECT since, source, ok, body FROM events WHERE since > ? ORDER BY since');
for (const row of newer.raw().safeIntegers().iterate(since)) {
  console.log(row.join(' '));
}

const tick = db.prepare("SELECT tidemark_export('archive')").pluck();
for (const which of ['first', 'second']) {
  const did = JSON.parse(tick.get());
  console.log(`${which} tick: ${did.rows} rows, ${did.failed} failed`);
}

// A failed batch is tried again by a later tick; until then its row says why.
const failed = db.prepare("SELECT error FROM tidemark_batch WHERE sink = 'archive' AND error IS NOT NULL").pluck();
for (const error of failed.all()) {
  console.log(`failed: ${error}`);
}
db.close();
