#!/bin/sh
# What sql/examples/clients/shell.sh says does not work, tried:  shell.sh EXTENSION   (in a folder of its own)
shell() { sqlite3 -batch "$@" 2>&1; }

mkdir archive
shell claims.db <<EOF
.load '$1'
CREATE VIRTUAL TABLE claims USING tidemark(ok BOOLEAN, body TEXT);
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('archive', 'claims', 'file://$PWD/archive', 'ndjson');
INSERT INTO claims VALUES (TRUE, 'TRUE'), (FALSE, 'FALSE');
SELECT 'booleans', since, ok, body FROM claims;
EOF

echo "a transaction, its COMMIT on the same line, and then on one of its own:"
shell claims.db <<EOF
.load '$1'
BEGIN; SELECT tidemark_export('archive'); COMMIT;
COMMIT;
SELECT tidemark_export('archive') ->> 'rows';
EOF

echo "a locked file, without .timeout:"
shell claims.db <<EOF
.load '$1'
BEGIN IMMEDIATE;
.system sqlite3 -batch claims.db -cmd '.load $1' "INSERT INTO claims VALUES (TRUE, 'locked out')" 2>&1
EOF

echo "-safe:"
shell -safe claims.db ".load $1"
shell -safe claims.db "SELECT load_extension('$1')"

echo "on after an error, with status:"
shell claims.db <<EOF
SELECT nonsense;
SELECT 'the next statement';
EOF
echo "$?"
