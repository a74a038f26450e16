"""What the tests of sql/examples share: a database in a folder of its own, the stock shell, a table to compare with.

`twin` is an ordinary table that has every row ever written to `logs`.
"""
import argparse
import contextlib
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "sql" / "examples"
LONG_S = 60  # for what takes a moment
QUICK = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # has no syncs to wait for

bench = argparse.Namespace()  # the command's arguments: module, shell, preload, kill_at

SCHEMA = """
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT NOT NULL, ts TIMESTAMP_MS, level TEXT, component TEXT, body TEXT,
  attrs JSON, partition_by=source, segment_rows=16);
CREATE TABLE twin(
  since INTEGER PRIMARY KEY, source TEXT, ts INTEGER, level TEXT, component TEXT, body TEXT, attrs TEXT);
"""

WRITE = """
WITH RECURSIVE c(n) AS (SELECT %d UNION ALL SELECT n + 1 FROM c WHERE n < %d)
INSERT INTO logs SELECT 's' || (n %% 3), n * 700000, 'info', nullif('c' || (n %% 5), 'c0'),
  CASE WHEN n %% 7 THEN 'word' || (n %% 11) || ' in ä' || n END, CASE n %% 4 WHEN 0 THEN '{"n":' || n || '}'
  WHEN 1 THEN 'no' END FROM c;
INSERT INTO twin SELECT since, * FROM logs WHERE since > (SELECT coalesce(max(since), 0) FROM twin) ORDER BY since;
"""


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="tidemark.", dir=QUICK)
        self.addCleanup(self.folder.cleanup)
        self.database = os.path.join(self.folder.name, "test.db")
        self.written = 0
        self.environment = dict(os.environ, HOME=self.folder.name, LC_ALL="C.UTF-8", TIDEMARK=bench.module)
        preload = " ".join(filter(None, [bench.preload, bench.kill_at and bench.kill_at + " libsqlite3.so.0"]))
        self.add_program("sqlite3", "LD_PRELOAD='%s' exec '%s' \"$@\"" % (preload, bench.shell))
        self.sql(SCHEMA)

    def shell(self):
        environment = dict(self.environment, **({"LD_PRELOAD": bench.preload} if bench.preload else {}))
        return subprocess.Popen([bench.shell, "-batch", "-cmd", ".load '%s'" % bench.module, self.database],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                                text=True)

    def start(self, *words, stdin=subprocess.DEVNULL, **environment):
        """A command as people run it."""
        path = os.pathsep.join([self.folder.name, os.environ["PATH"]])
        return subprocess.Popen(words, env=dict(self.environment, PATH=path, **environment), stdin=stdin,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def command(self, *words, **options):
        """Its status, what it printed, and its errors."""
        process = self.start(*words, **options)
        output, errors = process.communicate(timeout=LONG_S)
        return process.returncode, output, errors

    def add_program(self, name, text):
        """One that command() finds first."""
        program = pathlib.Path(self.folder.name, name)
        program.write_text("#!/bin/sh\n" + text + "\n", encoding="utf-8")
        program.chmod(0o755)

    def sql(self, sql):
        process = self.shell()
        output, errors = process.communicate(sql, timeout=LONG_S)
        self.assertEqual((process.returncode, errors), (0, ""))
        return output.rstrip("\n")

    def write(self, count=60):
        self.sql(WRITE % (self.written + 1, self.written + count))
        self.written += count

    def read(self, sql):
        """What ordinary tables hold, as any client of SQLite sees them."""
        with contextlib.closing(sqlite3.connect(self.database)) as db:
            return db.execute(sql).fetchall()

    def content(self):
        with open(self.database, "rb") as file:
            return file.read()


def main():
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shell", default=shutil.which("sqlite3"))
    parser.add_argument("--preload", default="")
    parser.add_argument("--kill-at", type=os.path.abspath)
    parser.add_argument("module", type=os.path.abspath)
    parser.add_argument("tests", nargs="*")
    parser.parse_args(namespace=bench)
    unittest.main(argv=[sys.argv[0], *bench.tests])
