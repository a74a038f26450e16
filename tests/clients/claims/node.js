// What sql/examples/clients/node.js says does not work, tried:  node.js EXTENSION   (in a folder of its own)
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const Database = require('better-sqlite3');

function attempt(what, action) {
  try {
    console.log(`${what}:`, action());
  } catch (error) {
    console.log(`${what}: ${error.name}: ${error.message}`);
  }
}

fs.mkdirSync('archive');
const db = new Database('claims.db');
db.loadExtension(process.argv[2]);
db.exec('CREATE VIRTUAL TABLE claims USING tidemark(ok BOOLEAN, any ANY, at TIMESTAMP_NS)');
db.prepare(`INSERT INTO tidemark_sink(sink, dataset, target, format, filter)
  VALUES ('archive', 'claims', 'file://' || ?, 'ndjson', 'ok')`).run(path.resolve('archive'));
const insert = db.prepare('INSERT INTO claims VALUES (?, ?, ?)');
const tick = db.prepare("SELECT tidemark_export('archive') ->> 'rows'").pluck();

attempt('true', () => insert.run(true, 1, 1).changes);
attempt('1 and a number in ANY', () => insert.run(1, 1, 1767225600123).changes);
attempt('0 and a BigInt in ANY', () => insert.run(Number(false), 1n, 1767225600123456789n).changes);
const read = db.prepare('SELECT ok, typeof(any), at FROM claims ORDER BY since').raw();
attempt('read', () => JSON.stringify(read.all()));
attempt('read as BigInt', () => String(read.safeIntegers().all()[1][2]));
attempt('a tick in a transaction', () => db.transaction(() => tick.get())());
attempt('a tick while rows are read', () => {
  for (const _ of db.prepare('SELECT since FROM claims').iterate()) {
    tick.get();
  }
});
attempt('a tick of a sink with a filter', () => tick.get());
attempt('progress callbacks', () => db.pragma('compile_options').some((row) => row.compile_options === 'OMIT_PROGRESS_CALLBACK')
  ? 'omitted' : 'there');
