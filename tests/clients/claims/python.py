"""What sql/examples/clients/python.py says does not work, tried:  python.py EXTENSION   (in a folder of its own)"""
import os
import sqlite3
import sys


def attempt(what, statement, *values):
    try:
        print(f"{what}: {connection.execute(statement, values).fetchall()}")
    except (sqlite3.Error, OverflowError) as error:
        print(f"{what}: {type(error).__name__}: {error}")


os.mkdir("archive")
connection = sqlite3.connect("claims.db")
attempt("not enabled", "SELECT load_extension(?)", sys.argv[1])
connection.enable_load_extension(True)
connection.load_extension(sys.argv[1])
connection.execute("CREATE VIRTUAL TABLE claims USING tidemark(ok BOOLEAN, big INTEGER, body TEXT)")
connection.execute("INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES "
                   "('archive', 'claims', 'file://' || ?, 'ndjson')", (os.path.abspath("archive"),))
connection.commit()

attempt("an INSERT", "INSERT INTO claims VALUES (?, ?, ?)", True, 2**63 - 1, "implicit")
attempt("and a tick before commit", "SELECT tidemark_export('archive') ->> 'rows'")
connection.commit()
cursor = connection.execute("SELECT since FROM claims UNION ALL SELECT 2 UNION ALL SELECT 3")
cursor.fetchone()
attempt("with a cursor open", "SELECT tidemark_export('archive') ->> 'rows'")
cursor.close()
attempt("with it closed", "SELECT tidemark_export('archive') ->> 'rows'")
attempt("False", "INSERT INTO claims VALUES (?, NULL, NULL)", False)
attempt("2 to the 63rd", "INSERT INTO claims VALUES (NULL, ?, NULL)", 2**63)
connection.commit()
attempt("read", "SELECT since, ok, big FROM claims WHERE since > ?", 0)
connection.isolation_level = None
attempt("autocommit INSERT", "INSERT INTO claims VALUES (?, NULL, NULL)", True)
attempt("and a tick", "SELECT tidemark_export('archive') ->> 'rows'")
