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

    def test_no_way_back_to_an_older_row(self):
        self.write()
        self.run_script()
        self.sql("DELETE FROM logs WHERE since > 20; SELECT tidemark_rewind('latest', 'logs', 'source=s1', 0, 'again')")
        self.run_script()
        self.assert_exact()


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

    def start_script(self):
        environment = dict(self.environment, PATH=os.path.dirname(SHELL) + ":" + os.environ["PATH"])
        if PRELOAD:  # sh and curl have it too, whose leaks are their own
            environment.update(LD_PRELOAD=PRELOAD, ASAN_OPTIONS="detect_leaks=0")
        return subprocess.Popen(["sh", EXAMPLES / "forward.sh", self.database, self.receiver.url], env=environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run_script(self):
        """Its status and what it says of errors."""
        process = self.start_script()
        _, errors = process.communicate(timeout=LONG_S)
        return process.returncode, errors

    def assert_exact(self):
        self.assertEqual(self.run_script(), (0, ""))
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
            self.assertNotEqual(self.run_script()[0], 0)
            self.write(2)
        self.assert_exact()
        keys = [headers["Idempotency-Key"] for _, headers, _ in self.receiver.requests]
        self.assertLess(len(set(keys)), len(keys), "what was sent again had its key of before")

    def test_two_at_once(self):
        self.write(5)
        self.receiver.script.append({"hold": "before"})
        first = self.start_script()
        self.assertTrue(self.receiver.reached.wait(LONG_S))
        self.assert_exact()
        self.receiver.go.set()
        _, errors = first.communicate(timeout=LONG_S)
        self.assertNotEqual((first.returncode, errors), (0, ""))
        self.assert_exact()

    def test_a_claim_that_fails_is_told(self):
        self.sql("DROP TABLE logs")
        status, errors = self.run_script()
        self.assertNotEqual(status, 0)
        self.assertIn("logs", errors)

    def test_nothing_new_sends_nothing(self):
        self.write(5)
        self.assert_exact()
        requests = len(self.receiver.requests)
        self.assert_exact()
        self.assertEqual(len(self.receiver.requests), requests)


class Journal(Case):
    """A stand-in for journalctl prints what is behind a cursor of a sample in its JSON form."""

    STAND_IN = """#!/bin/sh
[ -z "${OTHER-}" ] || (unset OTHER; sh $IMPORT) || exit
for word; do case $word in --after-cursor=*) cursor=${word#*=} ;; esac; done
[ -n "${cursor-}" ] || exec cat "$SAMPLE"
sed "1,/\\"__CURSOR\\":\\"$cursor\\"/d" "$SAMPLE"
"""

    def setUp(self):
        super().setUp()
        self.sample = pathlib.Path(self.folder.name, "sample")
        stand_in = pathlib.Path(self.folder.name, "bin", "journalctl")
        stand_in.parent.mkdir()
        stand_in.write_text(self.STAND_IN)
        stand_in.chmod(0o755)
        self.environment.update(SAMPLE=str(self.sample))
        self.environment["PATH"] = "%s:%s:%s" % (stand_in.parent, os.path.dirname(SHELL), os.environ["PATH"])

    def run_script(self, script=EXAMPLES / "import-journald.sh"):
        environment = dict(self.environment)
        if PRELOAD:
            environment.update(LD_PRELOAD=PRELOAD, ASAN_OPTIONS="detect_leaks=0")
        return subprocess.run(["sh", script, self.database], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONG_S)

    def extend(self, *messages):
        with open(self.sample, "a", encoding="utf-8") as file:
            for message in messages:
                self.written += 1
                entry = {"__CURSOR": "s=a;i=%x" % self.written, "__REALTIME_TIMESTAMP": str(10**15 + self.written),
                         "_SYSTEMD_UNIT": "it's.service", "PRIORITY": "6", "MESSAGE": message}
                file.write(json.dumps(entry, separators=(",", ":")) + "\n")

    def bodies(self):
        return self.sql("SELECT hex(body) FROM journal ORDER BY since").split("\n")

    def test_each_entry_once(self):
        binary = b"\x1b[31mr\xc3\xa4t\x00\xff\x1b[0m"
        messages = ["plain", None, list(binary), ["twice", "said"], "line\nand 'quote'"]
        texts = [b"plain", b"", binary, b"twice\nsaid", b"line\nand 'quote'"]
        for count in (1, 2):
            self.extend(*messages)
            for _ in range(2):
                done = self.run_script()
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(self.bodies(), [text.hex().upper() for text in texts] * count)
        self.assertEqual(self.sql("SELECT unit, priority, min(ts), max(ts) FROM journal GROUP BY unit, priority"),
                         "it's.service|6|%d|%d" % (10**15 + 1, 10**15 + self.written))

    def test_two_at_once(self):
        """The other begins and ends while this one reads the journal."""
        for _ in range(2):
            self.extend("one", "two")
            self.environment.update(OTHER="1", IMPORT="%s %s" % (EXAMPLES / "import-journald.sh", self.database))
            self.assertEqual(self.run_script().returncode, 0)
        self.assertEqual(len(self.bodies()), 4)

    def test_killed_between_rows_and_cursor(self):
        text = (EXAMPLES / "import-journald.sh").read_text()
        script = pathlib.Path(self.folder.name, "killed.sh")
        script.write_text(text.replace("\nUPDATE journal_cursor", "\n.system kill -9 $PPID\nUPDATE journal_cursor"))
        self.extend("one", "two")
        self.assertNotEqual(self.run_script(script).returncode, 0)
        self.assertEqual(self.run_script().returncode, 0)
        self.assertEqual(len(self.bodies()), 2)

    def test_half_an_entry_adds_none(self):
        self.extend("one", "two")
        self.assertEqual(self.run_script().returncode, 0)
        self.extend("three")
        whole = self.sample.read_text()
        self.sample.write_text(whole + whole.splitlines()[0][:40])
        self.assertNotEqual(self.run_script().returncode, 0)
        self.assertEqual(len(self.bodies()), 2)
        self.sample.write_text(whole)
        self.assertEqual(self.run_script().returncode, 0)
        self.assertEqual(len(self.bodies()), 3)


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
