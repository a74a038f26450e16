#!/usr/bin/perl
# Tidemark from Perl's DBI:  perl.pl EXTENSION DATABASE FOLDER [ROWS]      (Debian: libdbd-sqlite3-perl)
#
# Extensions: $dbh->sqlite_enable_load_extension(1), then the SQL function load_extension(path), which says what is
# wrong; $dbh->sqlite_load_extension($path) fails with the words of an error before it, or "not an error".
#
# - tidemark_export and tidemark_claim refuse to run in a transaction. With AutoCommit => 0 DBD::SQLite begins one
#   before every statement, SELECT too, so that they never run there, not even right after commit: connect with
#   AutoCommit => 1, and write begin_work and commit.
# - A statement that was not fetched to its end holds a snapshot, which they refuse as well: $sth->finish, or the
#   select*_array* methods, which end it.
# - Perl's false is the empty text, which BOOLEAN does not take: write 0, or 0 + $ok.
# - Values are bound as text. Columns of a type turn '5' into 5; a column of type ANY keeps the text: bind with
#   SQL_INTEGER.
use strict;
use warnings;
use Cwd qw(abs_path);
use DBI;
use JSON::PP qw(decode_json);
use Time::HiRes qw(time);

my ($extension, $database, $folder, $rows) = @ARGV;
my $dbh = DBI->connect("dbi:SQLite:dbname=$database", '', '', {AutoCommit => 1, RaiseError => 1, PrintError => 0});
$dbh->sqlite_busy_timeout(5000);
$dbh->sqlite_enable_load_extension(1);
$dbh->do('SELECT load_extension(?)', undef, $extension);
$dbh->sqlite_enable_load_extension(0);

$dbh->do('CREATE VIRTUAL TABLE IF NOT EXISTS events USING tidemark(
  source TEXT NOT NULL, at TIMESTAMP_MS, ok BOOLEAN, body TEXT, partition_by=source)');
$dbh->do(q{INSERT OR IGNORE INTO tidemark_sink(sink, dataset, target, format, columns)
  VALUES ('archive', 'events', 'file://' || replace(replace(replace(?, '%', '%25'), '?', '%3F'), '#', '%23'), 'ndjson',
    '["since", "source", "ok", "body"]')},
    undef, abs_path($folder));

my ($since) = $dbh->selectrow_array('SELECT coalesce(max(since), 0) FROM events');
$dbh->begin_work;    # BEGIN IMMEDIATE: a writer waits its turn instead of failing midway
my $insert = $dbh->prepare(q{INSERT INTO events VALUES ('perl', ?, ?, ?)});
$insert->execute(int(time * 1000), $_ % 2, "row $_ of process $$") for 1 .. $rows // 3;
$dbh->commit;

my $newer = $dbh->selectall_arrayref('SELECT since, source, ok, body FROM events WHERE since > ? ORDER BY since',
    undef, $since);
print "@$_\n" for @$newer;

for my $tick (qw(first second)) {
    my $did = decode_json($dbh->selectrow_array(q{SELECT tidemark_export('archive')}));
    print "$tick tick: $did->{rows} rows, $did->{failed} failed\n";
}

# A failed batch is tried again by a later tick; until then its row says why.
my $errors = $dbh->selectcol_arrayref(
    q{SELECT error FROM tidemark_batch WHERE sink = 'archive' AND error IS NOT NULL});
print "failed: $_\n" for @$errors;
$dbh->disconnect;
