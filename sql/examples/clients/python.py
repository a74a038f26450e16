#!/usr/bin/python3
"""Tidemark from Python's sqlite3 module:  python.py EXTENSION DATABASE FOLDER [ROWS]

Extensions: enable_load_extension(True), then load_extension(path). A Python that was built without them, as those of
macOS often are, has no such method: use another Python there, or the package apsw or pysqlite3.

- tidemark_export and tidemark_claim refuse to run in a transaction, and Python begins one by itself before INSERT:
  commit first, by `with connection:` as here, or connect with isolation_level=None and write BEGIN and COMMIT.
- A cursor that was not read to its end holds a snapshot, and they refuse that too: fetchall(), or close() it.
- IMMEDIATE takes the write lock at BEGIN, so that a writer waits its turn (timeout=, 5 s) instead of failing midway.
- True and False are what BOOLEAN takes; integers are 64 bits, above that Python raises OverflowError.
"""
import json
import os
import sqlite3
import sys
import time

extension, database, folder = sys.argv[1:4]
rows = int(sys.argv[4]) if len(sys.argv) > 4 else 3

connection = sqlite3.connect(database, isolation_level="IMMEDIATE")
connection.enable_load_extension(True)
connection.load_extension(extension)
connection.enable_load_extension(False)

with connection:
    connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS events USING tidemark("
                       "source TEXT NOT NULL, at TIMESTAMP_MS, ok BOOLEAN, body TEXT, partition_by=source)")
    connection.execute("INSERT OR IGNORE INTO tidemark_sink(sink, dataset, target, format, columns) VALUES "
                       "('archive', 'events',"
                       " 'file://' || replace(replace(replace(?, '%', '%25'), '?', '%3F'), '#', '%23'),"
                       " 'ndjson', '[\"since\", \"source\", \"ok\", \"body\"]')",
                       (os.path.abspath(folder),))

since = connection.execute("SELECT coalesce(max(since), 0) FROM events").fetchone()[0]
with connection:
    connection.executemany("INSERT INTO events VALUES ('python', ?, ?, ?)",
                           [(time.time_ns() // 1_000_000, n % 2 == 1, f"row {n} of process {os.getpid()}")
                            for n in range(1, rows + 1)])

for row in connection.execute("SELECT since, source, ok, body FROM events WHERE since > ? ORDER BY since", (since,)):
    print(*row)

for tick in "first", "second":
    did = json.loads(connection.execute("SELECT tidemark_export('archive')").fetchone()[0])
    print(f"{tick} tick: {did['rows']} rows, {did['failed']} failed")

# A failed batch is tried again by a later tick; until then its row says why.
for error, in connection.execute("SELECT error FROM tidemark_batch WHERE sink = 'archive' AND error IS NOT NULL"):
    print("failed:", error)
connection.close()
