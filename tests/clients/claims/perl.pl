# What sql/examples/clients/perl.pl says does not work, tried:  perl.pl EXTENSION   (in a folder of its own)
use strict;
use warnings;
use Cwd qw(abs_path);
use DBI qw(:sql_types);

mkdir 'archive';
my $dbh = DBI->connect('dbi:SQLite:dbname=claims.db', '', '', {AutoCommit => 1, RaiseError => 1, PrintError => 0});

sub attempt {
    my ($what, $statement, @values) = @_;
    my @row = eval { $dbh->selectrow_array($statement, undef, @values) };
    my $error = $@ =~ s/ at \S+ line \d+\.\n//r;
    print "$what: ", ($@ ? $error : "@row"), "\n";
}

attempt('not enabled', 'SELECT load_extension(?)', $ARGV[0]);
$dbh->sqlite_enable_load_extension(1);
print "a wrong path: $@" =~ s/ at \S+ line \d+\.$//r unless eval { $dbh->sqlite_load_extension('/nowhere.so') };
attempt('a wrong path in SQL', 'SELECT load_extension(?)', '/nowhere.so');
$dbh->sqlite_load_extension($ARGV[0]);
$dbh->do('CREATE VIRTUAL TABLE claims USING tidemark(ok BOOLEAN, n INTEGER, x ANY)');
$dbh->do(q{INSERT INTO tidemark_sink(sink, dataset, target, format)
  VALUES ('archive', 'claims', 'file://' || ?, 'ndjson')},
    undef, abs_path('archive'));

attempt('false', 'INSERT INTO claims VALUES (?, ?, ?)', 1 == 0, 5, 5);
attempt('0 + false', 'INSERT INTO claims VALUES (?, ?, ?)', 0 + (1 == 0), 5, 5);
attempt('types of 5', 'SELECT ok, typeof(n), typeof(x) FROM claims');
my $typed = $dbh->prepare('INSERT INTO claims VALUES (1, 5, ?)');
$typed->bind_param(1, 5, SQL_INTEGER);
$typed->execute;
attempt('with SQL_INTEGER', 'SELECT typeof(x) FROM claims WHERE since > ?', 1);

my $tick = q{SELECT tidemark_export('archive') ->> 'rows'};
$dbh->begin_work;
attempt('a tick after begin_work', $tick);
$dbh->rollback;
$dbh->{AutoCommit} = 0;
attempt('a tick with AutoCommit off', $tick);
$dbh->commit;
attempt('and right after commit', $tick);
$dbh->commit;
$dbh->{AutoCommit} = 1;
my $open = $dbh->prepare('SELECT since FROM claims');
$open->execute;
$open->fetchrow_array;
attempt('a tick with a statement open', $tick);
$open->finish;
attempt('and with it finished', $tick);
