#!/usr/bin/env python3
"""The files of sql/examples as people run them: in the stock shell, again, killed at each statement, after a rewind.

  examples.py [--shell PATH] [--preload LIBRARY] TIDEMARK [TEST...]

What is expected is what plain SQL says of an ordinary table, `twin`, that has every row ever written.
"""
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import unittest

import case
from case import EXAMPLES, LONG_S, ROOT, Case

sys.path.insert(0, str(ROOT / "tests" / "forward"))
from receiver import Receiver  # noqa: E402


class Sink:
    """A sink in plain SQL: the file `script`, whose table `actual` selects and which `expected` says of the twin."""

    def run_script(self):
        self.sql((EXAMPLES / self.script).read_text())

    def assert_exact(self):
        self.assertEqual(self.sql(self.actual), self.sql(self.expected))
        self.assertEqual(self.sql("SELECT tidemark_check('logs')"), "ok")

    def make_anew(self):
        """Another log of the same name, whose numbers begin again, with fewer rows."""
        self.sql("DROP TABLE logs; DROP TABLE twin;" + case.SCHEMA)
        self.written = 1000
        self.write(5)

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


    def test_rows_without_a_time(self):
        self.write(3)
        self.run_script()
        for _ in range(2):
            self.sql("INSERT INTO logs(source, body) VALUES ('s1', 'no time')")
            self.run_script()
        hour = "SELECT DISTINCT ingested_at / 3600000 FROM logs WHERE ts IS NULL"
        self.assertEqual(self.sql(f"SELECT sum(n) FROM rollup WHERE hour IN ({hour})"), "2")
        self.sql("SELECT tidemark_rewind('rollup', 'logs', 'source=s1', 0, 'again')")
        self.run_script()
        self.assertEqual(self.sql("SELECT sum(n), min(n) > 0 OR min(n) = 0 FROM rollup"), "5|1")

    def test_no_rewind_below_the_start(self):
        self.write(6)
        self.sql("INSERT INTO tidemark_sink(sink, dataset, start) VALUES ('rollup', 'logs', 'latest')")
        self.run_script()
        self.write(6)
        self.run_script()
        process = self.shell()
        _, errors = process.communicate("SELECT tidemark_rewind('rollup', 'logs', 'source=s1', 0, 'x')", timeout=LONG_S)
        self.assertIn("rollup has not counted what lies below its start", errors)
        self.assertEqual(self.sql("SELECT sum(n) FROM rollup"), "6")


class Latest(Sink, Case):
    script = "latest.sql"
    actual = "SELECT * FROM latest ORDER BY source, component"
    expected = """SELECT source, ifnull(component, ''), since, ts, level, body FROM twin t WHERE NOT EXISTS (
      SELECT 1 FROM twin WHERE source = t.source AND since > t.since
        AND ifnull(component, '') = ifnull(t.component, '')) ORDER BY 1, 2"""

    def test_a_log_made_anew(self):
        self.write()
        self.run_script()
        self.make_anew()
        self.run_script()
        self.assert_exact()

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

    def test_a_log_made_anew(self):
        self.write()
        self.run_script()
        self.make_anew()
        self.run_script()
        self.assert_exact()

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
        return self.start("sh", EXAMPLES / "forward.sh", self.database, self.receiver.url)

    def run_script(self):
        """Its status and what it says of errors."""
        status, _, errors = self.command("sh", EXAMPLES / "forward.sh", self.database, self.receiver.url)
        return status, errors

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
        for step in ({"drop": "after"}, {"drop": "before"}, {"status": 503}, {"status": 302}, {"status": 207}):
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

    STAND_IN = """
[ -z "${OTHER-}" ] || (unset OTHER; sh $IMPORT) || exit
for word; do case $word in --after-cursor=*) cursor=${word#*=} ;; esac; done
[ -n "${cursor-}" ] || exec cat "$SAMPLE"
sed "1,/\\"__CURSOR\\":\\"$cursor\\"/d" "$SAMPLE"
"""

    def setUp(self):
        super().setUp()
        self.sample = pathlib.Path(self.folder.name, "sample")
        self.add_program("journalctl", self.STAND_IN)
        self.environment.update(SAMPLE=str(self.sample))

    def run_script(self, script=EXAMPLES / "import-journald.sh"):
        """Its status and what it says of errors."""
        status, _, errors = self.command("sh", script, self.database)
        return status, errors

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
                self.assertEqual(self.run_script(), (0, ""))
                self.assertEqual(self.bodies(), [text.hex().upper() for text in texts] * count)
        self.assertEqual(self.sql("SELECT unit, priority, min(ts), max(ts) FROM journal GROUP BY unit, priority"),
                         "it's.service|6|%d|%d" % (10**15 + 1, 10**15 + self.written))

    def test_what_journalctl_said(self):
        """Colours, bytes that are no text, a field of several values, one that is too long, none."""
        shutil.copy(pathlib.Path(__file__).with_name("journal.ndjson"), self.sample)
        self.assertEqual(self.run_script(), (0, ""))
        entries = [json.loads(line) for line in self.sample.read_text(encoding="utf-8").splitlines()]
        kept = self.sql("SELECT json_array(hex(body), json(fields)) FROM journal ORDER BY since").split("\n")
        self.assertEqual([json.loads(row) for row in kept],
                         [[text_of(entry.get("MESSAGE")).hex().upper(), entry] for entry in entries])

    def test_two_at_once(self):
        """The other begins and ends while this one reads the journal."""
        for _ in range(2):
            self.extend("one", "two")
            self.environment.update(OTHER="1", IMPORT="%s %s" % (EXAMPLES / "import-journald.sh", self.database))
            self.assertEqual(self.run_script()[0], 0)
        self.assertEqual(len(self.bodies()), 4)

    def test_killed_between_rows_and_cursor(self):
        text = (EXAMPLES / "import-journald.sh").read_text()
        script = pathlib.Path(self.folder.name, "killed.sh")
        script.write_text(text.replace("\nUPDATE journal_cursor", "\n.system kill -9 $PPID\nUPDATE journal_cursor"))
        self.extend("one", "two")
        self.assertNotEqual(self.run_script(script)[0], 0)
        self.assertEqual(self.run_script()[0], 0)
        self.assertEqual(len(self.bodies()), 2)

    def test_half_an_entry_adds_none(self):
        self.extend("one", "two")
        self.assertEqual(self.run_script()[0], 0)
        self.extend("three")
        whole = self.sample.read_text()
        self.sample.write_text(whole + whole.splitlines()[0][:40])
        self.assertNotEqual(self.run_script()[0], 0)
        self.assertEqual(len(self.bodies()), 2)
        self.sample.write_text(whole)
        self.assertEqual(self.run_script()[0], 0)
        self.assertEqual(len(self.bodies()), 3)


def text_of(message):
    if isinstance(message, list):
        return bytes(message) if isinstance(message[0], int) else "\n".join(message).encode()
    return (message or "").encode()


class Timers(Case):
    """What a timer calls ticks and keeps house, in the places of this test."""

    def setUp(self):
        super().setUp()
        os.rename(self.database, os.path.join(self.folder.name, "my.db"))
        self.database = os.path.join(self.folder.name, "my.db")
        self.sql("INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('a', 'logs', 'file://%s', 'ndjson');"
                 % self.folder.name)
        self.write(20)

    def here(self, text):
        return text.replace("/var/lib/tidemark", self.folder.name).replace("/usr/share/tidemark", str(ROOT))

    def run_line(self, line, stdin=subprocess.DEVNULL, **environment):
        environment["LD_LIBRARY_PATH"] = os.path.dirname(case.bench.module)
        status, output, errors = self.command("sh", "-c", line, stdin=stdin, **environment)
        self.assertEqual((status, errors), (0, ""))
        return output

    def shipped(self):
        return sum(len(file.read_text().splitlines()) for file in pathlib.Path(self.folder.name).rglob("*.ndjson"))

    def test_crontab(self):
        lines = [line for line in self.here((EXAMPLES / "crontab").read_text()).splitlines() if line[0] != "#"]
        variables = dict(line.split("=", maxsplit=1) for line in lines if line[0].isalpha())
        for line in lines[len(variables):]:
            self.assertEqual(self.run_line(line.split(maxsplit=5)[5], **variables), "")
        self.assertEqual(self.shipped(), 20)
        self.assertEqual(self.sql("SELECT sum(tail_rows) FROM tidemark_stat"), "0", "housekeeping seals")

    def test_service(self):
        lines = self.here((EXAMPLES / "tidemark-tick.service").read_text()).splitlines()
        unit = dict(line.split("=", maxsplit=1) for line in lines if "=" in line and line[0] != "#")
        with open(unit["StandardInput"].removeprefix("file:"), encoding="utf-8") as script:
            output = self.run_line(unit["ExecStart"].removeprefix("/usr/bin/"), script)
        self.assertIn("a (logs): 20 rows", output)
        self.assertEqual(self.shipped(), 20)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd-analyze here")
    def test_systemd_finds_nothing_wrong(self):
        units = [EXAMPLES / "tidemark-tick.timer", EXAMPLES / "tidemark-tick.service"]
        done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, timeout=LONG_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    case.main()
