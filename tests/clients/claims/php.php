<?php
// What sql/examples/clients/php.php says does not work, tried:  php.php EXTENSION   (in a folder of its own)

function attempt($what, $action) {
    try {
        $answer = json_encode($action());
    } catch (Exception $error) {
        $answer = $error->getMessage();
    }
    echo "$what: $answer\n";
}

mkdir('archive');
$extension = $argv[1];
$name = basename($extension);
$db = new SQLite3('claims.db');
$db->enableExceptions(true);
attempt('extension_dir set by the program', fn () => ini_set('sqlite3.extension_dir', dirname($extension)));
attempt('loaded in SQL', fn () => $db->querySingle("SELECT load_extension('$extension')"));
attempt('by its name', fn () => $db->loadExtension($name));
$db->exec('CREATE VIRTUAL TABLE claims USING tidemark(ok BOOLEAN, body TEXT)');
$db->exec("INSERT INTO tidemark_sink(sink, dataset, target, format)
  VALUES ('archive', 'claims', 'file://" . getcwd() . "/archive', 'ndjson')");

$count = fn () => $db->querySingle('SELECT count(*) FROM claims');
$insert = $db->prepare("INSERT INTO claims VALUES (?, 'a row')");
$insert->bindValue(1, true);
attempt('execute', fn () => $insert->execute() && true);
attempt('rows', $count);
attempt('execute and fetchArray', fn () => $insert->execute()->fetchArray());
attempt('rows', $count);
attempt('exec', fn () => $db->exec("INSERT INTO claims VALUES (0, 'by exec')"));
attempt('rows', $count);

$tick = "SELECT tidemark_export('archive') ->> 'rows'";
attempt('a tick by query and fetchArray', fn () => $db->query($tick)->fetchArray(SQLITE3_NUM)[0]);
attempt('batches that left', fn () => $db->querySingle('SELECT count(*) FROM tidemark_export_log'));
$db->exec("INSERT INTO claims VALUES (false, 'one more')");
attempt('a tick by querySingle', fn () => $db->querySingle($tick));

$db->exec('BEGIN');
attempt('a tick in a transaction', fn () => $db->querySingle($tick));
$db->exec('COMMIT');
$result = $db->query('SELECT since FROM claims');
$result->fetchArray();
attempt('a tick with a result open', fn () => $db->querySingle($tick));
$result->finalize();
attempt('and with it finalized', fn () => $db->querySingle($tick));

if (PHP_VERSION_ID < 80400) {
    $pdo = new PDO('sqlite:claims.db');
    attempt('PDO has loadExtension', fn () => method_exists($pdo, 'loadExtension'));
    attempt('PDO loading in SQL', fn () => $pdo->query("SELECT load_extension('$extension')"));
    attempt('PDO and the dataset', fn () => $pdo->query('SELECT * FROM claims'));
    $log = 'SELECT sink, "until" FROM tidemark_export_log';
    attempt('PDO and the log', fn () => $pdo->query($log)->fetchAll(PDO::FETCH_NUM));
}
