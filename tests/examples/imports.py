#!/usr/bin/env python3
"""What sql/examples imports from files, each row once: again, grown, rotated, two at once, killed, refused.

  imports.py --kill-at LIBRARY TIDEMARK [--shell SQLITE3] [--preload LIBRARY] [TEST...]

What is expected is what Python's csv and json read in the same files.
"""
import csv
import json
import os
import pathlib
import shlex
import shutil
import subprocess

import case


class Import(case.Case):
    """The file `script` takes `file` into `table`, whose `columns` are what expected() reads there."""

    def setUp(self):
        super().setUp()
        self.file = pathlib.Path(self.folder.name, "it's $a file." + self.kind)
        self.generation = 1  # of the files that had this name
        self.rotated = []  # what was expected of the earlier ones
        # Of what the script starts, sqlite3 alone is to be killed.
        self.environment["PATH"] = os.pathsep.join([self.folder.name, os.environ["PATH"]])

    def run_script(self, kill_at=None):
        script = case.EXAMPLES / f"import-{self.kind}.sh"
        environment = dict(self.environment, **({"TIDE_KILL_AT": str(kill_at)} if kill_at else {}))
        return subprocess.run(["sh", script, self.database, self.file.name], env=environment, cwd=self.folder.name,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=case.LONG_S)

    def imported(self):
        there = self.read(f"SELECT 1 FROM sqlite_schema WHERE name = '{self.table}'")
        output = self.sql(f".mode json\nSELECT {self.columns} FROM {self.table} ORDER BY since;") if there else ""
        return [tuple(row.values()) for row in json.loads(output or "[]")]

    def rotate(self):
        self.rotated += self.expected()
        self.file.replace(self.file.with_name(f"rotated.{self.generation}"))
        self.generation += 1

    def assert_imported(self, new):
        done = self.run_script()
        self.assertEqual((done.returncode, done.stderr, done.stdout), (0, "", f"{new} new rows\n"))
        self.assertEqual(self.imported(), self.rotated + self.expected())

    def assert_refused(self, words):
        before = self.content()
        done = self.run_script()
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        self.assertIn(words, done.stderr)
        self.assertEqual(self.content(), before)

    def write_text(self, text):
        with open(self.file, "a", encoding="utf-8", newline="") as file:
            file.write(text)


class Life:
    """What both kinds of files go through."""

    def test_again_and_grown(self):
        self.extend(0, 4)
        self.assert_imported(4)
        before = self.content()
        self.assert_imported(0)
        self.assertEqual(self.content(), before)
        self.extend(4, 7)
        self.assert_imported(3)

    def test_rotated(self):
        """Another file of the name is longer, shorter, or as long; lines without an id are where others were."""
        self.extend(1, 3)
        self.assert_imported(2)
        for first, end in ((4, 7), (5, 6), (2, 3)):
            self.rotate()
            self.extend(first, end)
            self.assert_imported(end - first)
            self.assert_imported(0)
        self.extend(0, 1)
        self.assert_imported(1)

    def test_two_at_once(self):
        """One has read the file when another takes what is there then: more of it, or the next file of the name."""
        script, cat = case.EXAMPLES / f"import-{self.kind}.sh", shutil.which("cat")
        words = shlex.join(["sh", str(script), self.database, self.file.name])
        self.add_program("cat", f'''{cat} "$@"
if [ -e next ]; then mv next {shlex.quote(self.file.name)}; {words} >other; fi''')
        self.extend(0, 2)
        for rotated, first, end in ((False, 2, 4), (False, 4, 5), (True, 5, 6)):
            read = self.file.read_bytes()
            if rotated:
                self.rotate()
            self.extend(first, end)
            self.file.replace(self.file.with_name("next"))
            self.file.write_bytes(read)
            done = self.run_script()
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(done.stdout, "")
            self.assertIn("another import of the file ended meanwhile: run it again", done.stderr)
            self.assertFalse(self.file.with_name("next").exists())
            self.assertEqual(self.imported(), self.rotated + self.expected())
            self.assert_imported(0)

    def test_settings_of_the_user(self):
        """Of two -init the last holds; a ~/.sqliterc is not for tests to write, its folder is asked of the system."""
        settings = pathlib.Path(self.folder.name, "settings")
        settings.write_text(".headers on\n.mode column\n", encoding="utf-8")
        program = pathlib.Path(self.folder.name, "sqlite3")
        self.add_program("sqlite3", program.read_text(encoding="utf-8").replace('"$@"', f"-init '{settings}' \"$@\""))
        self.extend(0, 2)
        self.assert_imported(2)
        self.extend(2, 3)
        self.assert_imported(1)

    def test_killed(self):
        """Each time all rows are there, or none of the new ones; what is run again ends with each once."""
        self.extend(0, 3)
        self.assert_imported(3)
        self.extend(3, 7)
        before, killed = self.expected()[:3], 0
        for at in range(1, 20, 4):
            killed += self.run_script(at).returncode != 0
            self.assertIn(self.imported(), (before, self.expected()))
        self.assertGreater(killed, 3)
        done = self.run_script()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.imported(), self.expected())

    def test_half_a_line_waits(self):
        self.extend(0, 2)
        self.assert_imported(2)
        whole = self.file.read_bytes()
        self.extend(2, 3)
        self.file.write_bytes(self.file.read_bytes()[:-9])
        self.assertGreater(self.file.stat().st_size, len(whole))
        self.assert_refused(f"{self.file.name} ends in the middle of a line")
        self.file.write_bytes(whole)
        self.extend(2, 3)
        self.assert_imported(1)

    def test_no_such_file(self):
        self.assert_refused("No such file")


class Csv(Life, Import):
    kind = "csv"
    table = "logs"
    columns = "source, ts, level, component, body, attrs"

    def setUp(self):
        super().setUp()
        self.bodies = ['a "quoted", text', "two\nlines\n\nand a third", "", "größer", "it's", "\\", "plain"]

    def extend(self, first, end):
        with open(self.file, "a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            if file.tell() == 0:
                writer.writerow(("ts", "source", "level", "component", "body", "attrs"))
            writer.writerows((i, f"s{i % 2}", "info", "", self.bodies[i], '{"n": 1}') for i in range(first, end))

    def expected(self):
        with open(self.file, encoding="utf-8", newline="") as file:
            return [(row["source"], int(row["ts"]), *(row[name] or None for name in self.columns.split(", ")[2:]))
                    for row in csv.DictReader(file)]

    def test_lines_that_are_not_as_the_first(self):
        for line, words in (("1,s\n", "line 7: expected 6 columns"), ("1,s,,,,,,\n", "line 7: expected 6 columns"),
                            ('1,s,,,"no end,\n', "unterminated"), ("later,s,,,,\n", "TIMESTAMP_MS column logs.ts")):
            self.file.unlink(missing_ok=True)
            self.extend(0, 2)
            self.write_text(line)
            self.assert_refused(words)

    def test_an_empty_file(self):
        self.write_text("")
        self.assert_refused(f"{self.file.name} is empty")


class Ndjson(Life, Import):
    kind = "ndjson"
    table = "events"
    columns = "source, id, ts, body, entry"

    def extend(self, first, end):
        """The third of three has no id; an empty line stands before it."""
        for i in range(first, end):
            row = {"id": f"id-{i}", "source": f"s{i % 2}", "ts": i, "body": f'a "quoted"\ttext,\nit\'s ä\x1f{i}'}
            if i % 3 == 2:
                del row["id"]
                self.write_text("\n")
            self.write_text(json.dumps(row, ensure_ascii=i % 2 == 0) + "\n")

    def expected(self):
        rows = {}
        for number, line in enumerate(self.file.read_text(encoding="utf-8").split("\n"), 1):
            if line:
                row = json.loads(line)
                key = row.get("id", f"{self.file}:{self.generation}:{number}")
                rows.setdefault(key, (row["source"], key, row["ts"], row["body"], line))
        return list(rows.values())

    def test_another_file_with_the_same_ids(self):
        self.extend(0, 2)
        self.assert_imported(2)
        expected = self.expected()
        self.file = self.file.with_name("other.ndjson")
        self.extend(0, 2)
        self.assertEqual(self.run_script().stdout, "0 new rows\n")
        self.assertEqual(self.imported(), expected)

    def test_a_line_that_is_no_object_is_named(self):
        self.run_script()
        for line in ('{"id":\n', "[1]\n", "text\n", '{"id": "1", "body": "\x1f"}\n'):
            self.file.unlink(missing_ok=True)
            self.extend(0, 3)
            self.write_text(line)
            self.extend(4, 5)
            self.assert_refused(f"{self.file.name} is not imported: line 5 is not an object of JSON")


if __name__ == "__main__":
    case.main()
