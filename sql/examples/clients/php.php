<?php
// Tidemark from PHP's SQLite3 class:
//   php -d sqlite3.extension_dir=/folder/of/it php.php EXTENSION DATABASE FOLDER [ROWS]
//
// Extensions: loadExtension('tidemark.so') takes a name within sqlite3.extension_dir, which php.ini or -d sets: neither
// the program nor SQL can. (Debian: php-cli, php-sqlite3)
//
// - PDO cannot load extensions before PHP 8.4 (there Pdo\Sqlite::loadExtension). Without, it sees a database's ordinary
//   tables, such as tidemark_sink and tidemark_export_log, and its datasets are "no such module: tidemark".
// - query() and execute() run a statement, and fetchArray() runs it AGAIN: an INSERT whose result is fetched from
//   stands there twice, and query("SELECT tidemark_export(...)") ticks twice and shows the second tick's answer,
//   nothing new. Use exec(), and querySingle(), which run it once.
// - tidemark_export and tidemark_claim refuse to run in a transaction, and while a result is not fetched to its end:
//   $result->finalize().
// - true and false are bound as 1 and 0; integers are 64 bits.
$extension = $argv[1];
$database = $argv[2];
$folder = realpath($argv[3]) ?: throw new Exception("there is no folder $argv[3]");
$rows = (int) ($argv[4] ?? 3);

$db = new SQLite3($database);
$db->enableExceptions(true);
$db->busyTimeout(5000);
$db->loadExtension(basename($extension));

$db->exec('CREATE VIRTUAL TABLE IF NOT EXISTS events USING tidemark(
  source TEXT NOT NULL, at TIMESTAMP_MS, ok BOOLEAN, body TEXT, partition_by=source)');
$sink = $db->prepare("INSERT OR IGNORE INTO tidemark_sink(sink, dataset, target, format, columns)
  VALUES ('archive', 'events', 'file://' || replace(replace(replace(?, '%', '%25'), '?', '%3F'), '#', '%23'), 'ndjson',
    '[\"since\", \"source\", \"ok\", \"body\"]')");
$sink->bindValue(1, $folder);
$sink->execute();

$since = $db->querySingle('SELECT coalesce(max(since), 0) FROM events');
$db->exec('BEGIN IMMEDIATE'); // the write lock at once: a writer waits its turn instead of failing midway
$insert = $db->prepare("INSERT INTO events VALUES ('php', ?, ?, ?)");
for ($n = 1; $n <= $rows; $n++) {
    $insert->bindValue(1, (int) (microtime(true) * 1000));
    $insert->bindValue(2, $n % 2 === 1);
    $insert->bindValue(3, "row $n of process " . getmypid());
    $insert->execute();
}
$db->exec('COMMIT');

$newer = $db->prepare('SELECT since, source, ok, body FROM events WHERE since > ? ORDER BY since');
$newer->bindValue(1, $since);
$result = $newer->execute();
while ($row = $result->fetchArray(SQLITE3_NUM)) {
    echo implode(' ', $row), "\n";
}
$result->finalize();

foreach (['first', 'second'] as $tick) {
    $did = json_decode($db->querySingle("SELECT tidemark_export('archive')"));
    echo "$tick tick: $did->rows rows, $did->failed failed\n";
}

// A failed batch is tried again by a later tick; until then its row says why.
$failed = $db->query("SELECT error FROM tidemark_batch WHERE sink = 'archive' AND error IS NOT NULL");
while ($row = $failed->fetchArray(SQLITE3_NUM)) {
    echo "failed: $row[0]\n";
}
$failed->finalize();
$db->close();
