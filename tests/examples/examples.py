#!/usr/bin/env python3
"""The files of sql/examples as people run them: in the stock shell, again, killed at each statement, after a rewind.

  examples.py TIDEMARK [--shell SQLITE3] [--preload LIBRARY] [TEST...]

What is expected is what plain SQL says of an ordinary table, `twin`, that has every row ever written.
"""
import argparse
import contextlib
import json
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
sys.path.insert(0, str(ROOT / "tests" / "forward"))
from receiver import Receiver  # noqa: E402

MODULE = ""
SHELL = "sqlite3"
PRELOAD = ""
LONG_S = 60  # for what takes a moment

SCHEMA = """
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT NOT NULL, ts TIMESTAMP_MS, level TEXT, component TEXT, body TEXT,
  attrs JSON, partition_by=source, segment_rows=16);
CREATE TABLE twin(
  since INTEGER PRIMARY KEY, source TEXT, ts INTEGER, level TEXT, component TEXT, body TEXT, attrs TEXT);
"""

WRITE = """
WITH RECURSIVE c(n) AS (SELECT %d UNION ALL SELECT n + 1 FROM c WHERE n < %d)
INSERT INTO logs SELECT 's' || (n %% 3), n * 700000, 'info', nullif('c' || (n %% 5), 'c0'),
  CASE WHEN n %% 7 THEN 'word' || (n %% 11) || ' in ä' || n END,
  CASE n %% 4 WHEN 0 THEN '{"n":' || n || '}' WHEN 1 THEN 'no' END
  FROM c;
INSERT INTO twin SELECT since, * FROM logs WHERE since > (SELECT coalesce(max(since), 0) FROM twin) ORDER BY since;
"""


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="tidemark.")
        self.addCleanup(self.folder.cleanup)
        self.database = os.path.join(self.folder.name, "test.db")
        self.written = 0
        self.environment = dict(os.environ, HOME=self.folder.name, LC_ALL="C.UTF-8", TIDEMARK=MODULE)
        self.sql(SCHEMA)

    def shell(self):
        environment = dict(self.environment, **({"LD_PRELOAD": PRELOAD} if PRELOAD else {}))
        return subprocess.Popen([SHELL, "-batch", "-cmd", ".load '%s'" % MODULE, self.database], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)

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


class Sink:
    """A sink in plain SQL: the file `script`, whose table `actual` selects and which `expected` says of the twin."""

    def run_script(self):
        self.sql((EXAMPLES / self.script).read_text())

    def assert_exact(self):
        self.assertEqual(self.sql(self.actual), self.sql(self.expected))
        self.assertEqual(self.sql("SELECT tidemark_check('logs')"), "ok")

    def statements(self):
        """The script in pieces that each end a statement, or a command of the shell."""
        pieces, piece = [], ""
        for line in (EXAMPLES / self.script).read_text().splitlines(keepends=True):
            piece += line
            if line.startswith(".") or sqlite3.complete_statement(piece):
                pieces.append(piece)
                piece = ""
        return pieces

    def kill_behind(self, pieces):
        process = self.shell()
        process.stdin.write("".join(pieces) + "\n.print reached\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "reached\n")
        process.kill()
        process.communicate()

    def test_new_rows_and_none(self):
        for _ in range(3):
            self.write()
            self.run_script()
            self.assert_exact()
            before = self.content()
            self.run_script()
            self.assertEqual(self.content(), before)

    def test_killed_behind_each_statement(self):
        pieces = self.statements()
        self.assertIn("COMMIT", pieces[-1])
        self.write()
        for count in range(1, len(pieces)):
            self.kill_behind(pieces[:count])
        self.assertEqual(self.read("SELECT * FROM tidemark_export_log"), [])
        self.kill_behind(pieces)
        self.assert_exact()
        self.write()
        self.kill_behind(pieces[:-1])
        self.run_script()
        self.assert_exact()

    def test_rolled_back(self):
        self.write()
        self.run_script()
        self.write()
        self.sql((EXAMPLES / self.script).read_text().replace("COMMIT;", "ROLLBACK;"))
        self.run_script()
        self.assert_exact()

    def test_retention_and_rewind(self):
        self.write()
        self.run_script()
        self.sql("SELECT tidemark_set('logs', 'retention_rows', 15); SELECT tidemark_prune('logs')")
        self.write(7)
        name = self.script.split(".", maxsplit=1)[0]
        self.sql("SELECT tidemark_rewind('%s', 'logs', 'source=s1', 0, 'again');" % name)
        rewinds = self.read("SELECT count(*) FROM tidemark_export_log WHERE kind = 'rewind' AND rows > 0")
        self.assertEqual(rewinds, [(1,)])
        self.run_script()
        self.assert_exact()
        self.sql("SELECT tidemark_prune('logs'); SELECT tidemark_maintain('logs')")
        self.write(7)
        self.run_script()
        self.assert_exact()


class Rollup(Sink, Case):
    script = "rollup.sql"
    actual = "SELECT * FROM rollup ORDER BY hour, source"
    expected = """SELECT ts / 3600000, source, count(*), sum(ifnull(length(CAST(body AS BLOB)), 0)) FROM twin
      GROUP BY 1, 2 ORDER BY 1, 2"""


class Latest(Sink, Case):
    script = "latest.sql"
    actual = "SELECT * FROM latest ORDER BY source, component"
    expected = """SELECT source, ifnull(component, ''), since, ts, level, body FROM twin t WHERE NOT EXISTS (
      SELECT 1 FROM twin WHERE source = t.source AND since > t.since
        AND ifnull(component, '') = ifnull(t.component, '')) ORDER BY 1, 2"""


class Search(Sink, Case):
    """The index has the rows that are there, and no other."""

    script = "search.sql"
    actual = """SELECT rowid, body FROM search ORDER BY 1;
      SELECT rowid FROM search WHERE search MATCH 'word3' ORDER BY 1;
      INSERT INTO search(search) VALUES ('integrity-check')"""
    expected = """SELECT since, body FROM twin WHERE since IN (SELECT since FROM logs) ORDER BY 1;
      SELECT since FROM twin WHERE since IN (SELECT since FROM logs) AND body LIKE 'word3 %' ORDER BY 1"""

    def test_deleted_rows_leave(self):
        self.write()
        self.run_script()
        self.sql("DELETE FROM logs WHERE since % 4 = 1")
        self.run_script()
        self.assert_exact()


class Forward(Case):
    def setUp(self):
        super().setUp()
        self.receiver = Receiver().start()
        self.addCleanup(self.receiver.stop)
        self.environment.update(MAX_ROWS="9", no_proxy="*")

    def run_script(self):
        environment = dict(self.environment, PATH=os.path.dirname(SHELL) + ":" + os.environ["PATH"])
        if PRELOAD:  # sh and curl have it too, whose leaks are their own
            environment.update(LD_PRELOAD=PRELOAD, ASAN_OPTIONS="detect_leaks=0")
        return subprocess.run(["sh", EXAMPLES / "forward.sh", self.database, self.receiver.url], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONG_S)

    def assert_exact(self):
        done = self.run_script()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        received = sorted((json.loads(line) for line in self.receiver.lines()), key=lambda row: row["since"])
        names = ("since", "source", "ts", "level", "component", "body", "attrs")
        expected = [dict(zip(names, row)) for row in self.read("SELECT %s FROM twin ORDER BY since" % ", ".join(names))]
        for row in expected:
            row["attrs"] = json.loads(row["attrs"]) if (row["attrs"] or "").startswith("{") else row["attrs"]
        self.assertEqual(received, expected)
        self.assertEqual(self.read("SELECT * FROM tidemark_batch"), [])

    def test_answers_that_are_lost(self):
        self.write(30)
        for step in ({"drop": "after"}, {"drop": "before"}, {"status": 503}):
            self.receiver.script.extend([{}, step])
            self.assertNotEqual(self.run_script().returncode, 0)
            self.write(2)
        self.assert_exact()
        keys = [headers["Idempotency-Key"] for _, headers, _ in self.receiver.requests]
        self.assertLess(len(set(keys)), len(keys), "what was sent again had its key of before")

    def test_nothing_new_sends_nothing(self):
        self.write(5)
        self.assert_exact()
        requests = len(self.receiver.requests)
        self.assert_exact()
        self.assertEqual(len(self.receiver.requests), requests)


@unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd-analyze here")
class Units(unittest.TestCase):
    def test_systemd_finds_nothing_wrong(self):
        units = [EXAMPLES / "tidemark-tick.timer", EXAMPLES / "tidemark-tick.service"]
        done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, timeout=LONG_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


def main():
    global MODULE, SHELL, PRELOAD
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shell", default=shutil.which("sqlite3"))
    parser.add_argument("--preload", default="")
    parser.add_argument("module")
    parser.add_argument("tests", nargs="*")
    options = parser.parse_args()
    MODULE, SHELL, PRELOAD = os.path.abspath(options.module), options.shell, options.preload
    unittest.main(argv=[sys.argv[0], *options.tests])


if __name__ == "__main__":
    main()
