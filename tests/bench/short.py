"""The benchmark, so short that it measures nothing: all of it runs, and what it compares is the same everywhere. Times
are not looked at.  short.py BENCH GENERATE MODULE"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

import picture
import table

HERE = pathlib.Path(__file__).resolve().parent
ROWS = 5000
NAMES = ["source", "ts", "level", "component", "status", "bytes", "duration", "body", "attrs"]


def make_sample(path):
    """Some of the records, for they are read many times."""
    lines = run("zstd", "-dcq", HERE.parent / "data/logs.ndjson.zst").stdout.splitlines(keepends=True)
    path.write_text("".join(lines[::20]))
    subprocess.run(["zstd", "-q", path], check=True)


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)


def generate(rows, *seed):
    done = run(GENERATE, SAMPLE, str(rows), *seed)
    assert done.returncode == 0, done.stderr
    return done.stdout


def bench(folder, *arguments):
    return run(BENCH, "--module", MODULE, "--sample", SAMPLE, "--folder", folder, "--rows", str(ROWS), "--rounds", "1",
               *arguments)


class Generator(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = generate(ROWS)
        cls.rows = [json.loads(line) for line in cls.text.splitlines()]

    def test_a_seed_gives_the_same_rows_and_another_seed_others(self):
        self.assertEqual(generate(ROWS), self.text)
        self.assertNotEqual(generate(ROWS, "2"), self.text)

    def test_fewer_rows_are_the_first_of_more(self):
        self.assertEqual(generate(100), "".join(line + "\n" for line in self.text.splitlines()[:100]))

    def test_rows_are_like_those_of_a_log(self):
        self.assertEqual(len(self.rows), ROWS)
        self.assertTrue(all(list(row) == NAMES for row in self.rows))
        self.assertEqual(len({row["source"] for row in self.rows}), 16)
        times = [row["ts"] for row in self.rows]
        self.assertEqual(times, sorted(times))
        self.assertTrue(250 < len(self.text) / ROWS < 300)
        statuses = {row["status"] for row in self.rows} - {None}
        self.assertTrue(all(200 <= status < 600 for status in statuses), statuses)
        octets = [int(octet) for row in self.rows if row["attrs"] for octet in row["attrs"]["client"].split(".")]
        self.assertLessEqual(max(octets), 255)

    def test_what_web_servers_alone_have_is_null_in_the_others(self):
        for row in self.rows:
            web = row["source"].startswith("web-")
            self.assertEqual([row[name] is not None for name in ("status", "duration", "attrs")], [web] * 3)

    def test_few_attributes_come_twice(self):
        attrs = [json.dumps(row["attrs"]) for row in self.rows if row["attrs"]]
        self.assertGreater(len(set(attrs)), 0.99 * len(attrs))


class Measurements(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="tidemark.")
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.done = bench(cls.folder)
        cls.lines = [json.loads(line) for line in cls.done.stdout.splitlines()]

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def figures(self):
        figures = {}
        for line in self.lines:
            figure = figures.setdefault(line["name"], {})
            figure.update({line["side"]: line} if "side" in line else line)
        return figures

    def test_both_sides_gave_the_same_answers(self):
        self.assertEqual((self.done.returncode, self.done.stderr), (0, ""))

    def test_every_line_of_the_table_is_measured(self):
        peers = {"duckdb_parquet_bytes": {"duckdb": {"median": 20.0}}}
        figures = {ROWS: {**self.figures(), **peers}}
        missing = [line.name for line in table.LINES if line.peer != "DuckDB COPY" and line.kind != "growth"
                   and table.ratio_of(line, figures, ROWS) is None]
        self.assertEqual(missing, [])
        self.assertEqual(len(table.markdown(figures, ROWS).splitlines()), 2 + len(table.LINES) - 1)
        self.assertEqual(len(table.bars(figures, ROWS).splitlines()), 2 + len(table.LINES) - 3)

    def test_exports_hold_the_rows_of_the_generator(self):
        paths = self.folder.glob("export_ndjson/logs/*/*.ndjson")
        exported = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
        made = [json.loads(line) for line in generate(ROWS).splitlines()]
        place = lambda row: (row["ts"], row["source"], row["body"])  # noqa: E731
        self.assertTrue(sorted(exported, key=place) == sorted(made, key=place))
        self.assertEqual(len(list(self.folder.glob("export_parquet/logs/*/*.parquet"))), 16)

    def test_the_picture_is_one(self):
        figures = {ROWS: {**self.figures(), "sizes": {"NDJSON": 275.0, "Tidemark, flushed": 11.0}}}
        root = xml.dom.minidom.parseString(picture.svg(figures, ROWS)).documentElement
        self.assertEqual(root.tagName, "svg")

    def test_a_measurement_that_is_unknown_is_refused(self):
        done = bench(self.folder, "--only", "scan,scam")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", "there is no measurement scam\n"))

    def test_sides_that_differ_end_the_run(self):
        """One row less in the table."""
        name = self.folder / "logs.table.db"
        removed = run("sqlite3", name, "DELETE FROM logs WHERE since = 17")
        self.assertEqual((removed.returncode, removed.stderr), (0, ""))
        done = bench(self.folder, "--keep", "--only", "scan")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("not the same number", done.stderr)


class Table(unittest.TestCase):
    """The sums of the table, on figures that are worked out by hand."""

    FIGURES = {
        "insert_big": {"tidemark": {"median": 2.0, "cpu": 1.5}, "table": {"median": 3.0, "cpu": 3.0}},
        "idle_read": {"tidemark": {"median": 1e-5}, "table": {"median": 2.5e-6}},
        "count": {"tidemark": {"median": 25e-6, "cpu": 20e-6}, "table": {"median": 5e-6}},
        "size_flushed": {"tidemark": {"median": 11.0}, "table": {"median": 200.0}},
        "export_parquet": {"tidemark": {"median": 1.0}, "duckdb": {"median": 1.25}},
        "duckdb_parquet_bytes": {"duckdb": {"median": 20.0}},
    }

    def ratio(self, name, clock=table.WALL):
        line = next(line for line in table.LINES if line.name == name)
        ratio = table.ratio_of(line, {1000: self.FIGURES}, 1000, clock)
        return round(ratio, 6), table.verdict(line, ratio), table.times_better(line, {1000: self.FIGURES}, 1000)

    def test_rates_are_the_inverse_of_times(self):
        self.assertEqual(self.ratio("insert_big")[:2], (1.5, "bar"))
        self.assertEqual(self.ratio("insert_big", table.CPU)[:2], (2.0, "aim"))

    def test_times_are_compared_as_they_are(self):
        self.assertEqual(self.ratio("idle_read"), (4.0, "aim", 0.25))

    def test_exports_are_held_against_duckdb(self):
        self.assertEqual(self.ratio("export_parquet"), (1.25, "bar", 1.25))

    def test_a_count_is_in_nanoseconds_a_row_on_the_processor(self):
        self.assertEqual(self.ratio("count"), (20.0, "aim", 0.2))

    def test_sizes_are_held_against_partitioned_parquet(self):
        self.assertEqual(self.ratio("size_flushed")[:2], (0.55, "aim"))

    def test_growth_is_of_what_one_row_costs(self):
        figures = {10: {"sum": {"tidemark": {"median": 1e-6}}, "idle_read": {"tidemark": {"median": 1e-6}}},
                   1000: {"sum": {"tidemark": {"median": 2e-4}}, "idle_read": {"tidemark": {"median": 3e-6}}}}
        self.assertEqual(table.growth(figures).splitlines()[2:],
                         ["| idle read | 1.00 us | 3.00 us | 3.00 |",
                          "| sum of one column | 100 ns a row | 200 ns a row | 2.00 |"])

    def test_what_is_short_is_said(self):
        line = next(line for line in table.LINES if line.name == "scan")
        self.assertEqual([table.verdict(line, ratio) for ratio in (0.69, 0.7, 1.0)], ["short", "bar", "aim"])

    def test_growth_compares_the_ends(self):
        figures = {10000000: {name: {"tidemark": {"median": seconds}} for name, seconds in
                              (("tick_small", 0.5), ("tick", 0.55))}}
        line = next(line for line in table.LINES if line.name == "tick")
        self.assertAlmostEqual(table.ratio_of(line, figures, 100000), 1.1)


if __name__ == "__main__":
    BENCH, GENERATE, MODULE = sys.argv[1:4]
    if os.access("/dev/shm", os.W_OK):  # syncs cost nothing there
        tempfile.tempdir = "/dev/shm"
    with tempfile.TemporaryDirectory(prefix="tidemark.") as scratch:
        make_sample(pathlib.Path(scratch) / "sample")
        SAMPLE = pathlib.Path(scratch) / "sample.zst"
        unittest.main(argv=sys.argv[:1])
