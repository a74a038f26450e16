// The paths of Tidemark's extensions for SQLite, and a way to load them into a connection of better-sqlite3 or
// node:sqlite (opened with allowExtension: true).
'use strict';

const path = require('node:path');

// tidemark itself.
function getLoadablePath() {
  return path.join(__dirname, 'tidemark.so');
}

// tidemark_net, which adds the targets s3, http and https to a connection that has tidemark.
function getNetLoadablePath() {
  return path.join(__dirname, 'tidemark_net.so');
}

function load(db) {
  db.loadExtension(getLoadablePath());
}

function loadNet(db) {
  db.loadExtension(getNetLoadablePath());
}

module.exports = { getLoadablePath, getNetLoadablePath, load, loadNet };
