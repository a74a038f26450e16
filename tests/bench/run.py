#!/usr/bin/env python3
"""Tidemark beside its peers, on the same rows:  run.py BUILD [option...]   (sh tests/run.sh --bench builds and runs it)

  --rows N,...     how many rows, each number a run of its own (default 1000000; 1e7 may be written so)
  --rounds N       how often each thing is measured (default 5; the median counts; with more than 2e6 rows a third)
  --only NAME,...  only these of the C program's measurements; "exports" stands for what DuckDB has its part in
  --peers NAME,... of duckdb (the default, fetched from the npm registry), chdb (ClickHouse, half a gigabyte), or none
  --folder DIR     where the files go (default BUILD/bench); what a sync costs depends on it
  --write          put table and picture into tests/bench (README.md, results); of all lines, and so without --only

An ordinary SQLite table and Tidemark take turns in one process (bench.c); the exports of Tidemark and DuckDB take turns
as processes, and both sync the files they write. All figures go to DIR/figures.json. A row that is not the same
everywhere ends the run with status 1; a bar that is missed is said in the table.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

import picture
import table

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))
from npm import read_packages, unpack_all  # noqa: E402

SAMPLE = ROOT / "tests/data/logs.ndjson.zst"
WRITES = ["insert_big", "insert_1000", "commit_full", "commit_normal", "size_flushed"]
REST = ["scan", "sum", "count", "filter", "filter_scattered", "time_range", "last_sealed", "idle_read", "prune",
        "memory", "last_tail", "tick", "size_compacted"]
FEW = 2000000  # up to so many rows each round is run; above, a third of them
BEGIN, END = "<!-- figures: written by tests/bench/run.py --write -->", "<!-- end of figures -->"


class Bench:
    """A run with one number of rows. figures[name][side] has median, cpu, rows and unit."""

    def __init__(self, build, folder, options, rows):
        self.build = build
        self.folder = folder / f"{rows}"
        self.rounds = options.rounds if rows <= FEW else max(1, options.rounds // 3)
        self.rows = rows
        self.only = options.only
        self.peers = options.peers
        self.figures = {}
        self.folder.mkdir(parents=True, exist_ok=True)

    def wanted(self, names):
        return [name for name in names if not self.only or name in self.only]

    def own(self, names, *arguments, rounds=None):
        """Runs the C program, keeps what it prints and gives it, too."""
        if not names:
            return []
        command = [self.build / "tests/bench/bench", "--module", self.build / "ext/tidemark.so", "--sample", SAMPLE,
                   "--folder", self.folder, "--rows", str(self.rows), "--rounds", str(rounds or self.rounds),
                   "--only", ",".join(names), *arguments]
        lines = []
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                lines.append(json.loads(line))
                print(line, end="", flush=True)
        if process.returncode != 0:
            sys.exit("the benchmark's program failed")
        for line in lines:
            self.keep(line)
        return lines

    def keep(self, line):
        side = {key: line[key] for key in ("median", "cpu", "rows", "unit") if key in line}
        self.figures.setdefault(line["name"], {})[line["side"]] = side

    def duckdb(self, task, *arguments):
        answer = node(self.build, "duckdb.mjs", task, self.folder, *arguments)
        print(json.dumps({"side": "duckdb", "task": task, **answer}), flush=True)
        return answer

    def lines(self):
        """The file of all rows as NDJSON, made when the first peer asks for it."""
        lines = self.folder / "rows.ndjson"
        if not lines.exists():
            with open(lines, "wb") as file:
                subprocess.run([self.build / "tests/bench/generate", SAMPLE, str(self.rows)], stdout=file, check=True)
        return lines

    def load_duckdb(self):
        lines = self.lines()
        loaded = self.duckdb("load", lines)
        if loaded["rows"] != self.rows:
            sys.exit(f"DuckDB has {loaded['rows']} rows, not {self.rows}")
        self.sizes()["DuckDB database"] = loaded["bytes"] / self.rows
        self.sizes()["NDJSON"] = lines.stat().st_size / self.rows
        with subprocess.Popen(["zstd", "-q", "-3", "-c", lines], stdout=subprocess.PIPE) as process:
            compressed = sum(len(part) for part in iter(lambda: process.stdout.read(1 << 20), b""))
        self.sizes()["NDJSON, zstd 3"] = compressed / self.rows

    def sizes(self):
        return self.figures.setdefault("sizes", {})

    def export(self, form):
        """Tidemark's and DuckDB's in turns; then the rows of both are read back."""
        name = f"export_{form}"
        own, peer = [], []
        for i in range(self.rounds):
            for side in ((own, peer), (peer, own))[i % 2]:
                if side is own:
                    own += [line for line in self.own([name], "--keep", rounds=1) if line["name"] == name]
                else:
                    peer.append(self.duckdb(form, f"duckdb.{form}"))
        self.figures[name] = {
            "tidemark": side_of([line["median"] for line in own], [line["cpu"] for line in own], self.rows),
            "duckdb": side_of([each["seconds"] for each in peer], [each["cpu"] for each in peer], self.rows)}
        size = {"median": peer[0]["bytes"] / self.rows, "unit": "bytes a row"}
        self.figures[f"duckdb_{form}_bytes"] = {"duckdb": size}
        wanted = self.duckdb("sums")["sums"]
        copied = "duckdb.parquet/*/*.parquet" if form == "parquet" else "duckdb.ndjson"
        for pattern in (f"{name}/logs/*/*.{form}", copied):
            found = self.duckdb("sums_of", self.folder / pattern)["sums"]
            if found != wanted:
                sys.exit(f"{pattern} holds {found}, DuckDB's table {wanted}")

    def exports(self):
        for form in ("parquet", "ndjson"):
            self.export(form)
        single = self.duckdb("single", "duckdb.single.parquet")
        self.sizes()["DuckDB Parquet, one file"] = single["bytes"] / self.rows
        self.sizes()["DuckDB Parquet by source"] = self.figures["duckdb_parquet_bytes"]["duckdb"]["median"]
        self.sizes()["Tidemark's Parquet"] = self.figures["export_parquet_bytes"]["tidemark"]["median"]

    def asides(self):
        """The queries that DuckDB is asked for information."""
        ends = self.duckdb("rows", "SELECT min(epoch_ms(ts))::DOUBLE, max(epoch_ms(ts))::DOUBLE FROM logs")["rows"][0]
        span = ends[1] - ends[0]
        bounds = [f"make_timestamp_ms({int(ends[0] + span * part)})::TIMESTAMP_MS" for part in (2 / 3, 2 / 3 + 0.01)]
        texts = {"sum": "SELECT sum(bytes) FROM logs", "count": "SELECT count(*) FROM logs",
                 "filter": "SELECT ts, source, body FROM logs WHERE status = 503",
                 "filter_scattered": "SELECT ts, source, body FROM logs WHERE status = 404",
                 "time_range": f"SELECT * FROM logs WHERE ts >= {bounds[0]} AND ts < {bounds[1]}"}
        for name in table.ASIDE:
            spent = [self.duckdb("query", texts[name]) for _ in range(self.rounds)]
            self.figures.setdefault(name, {})["duckdb"] = side_of([each["seconds"] for each in spent],
                                                                  [each["cpu"] for each in spent], self.rows)

    def clickhouse(self):
        place = self.folder / "clickhouse"
        shutil.rmtree(place, ignore_errors=True)
        found = node(self.build, "clickhouse.mjs", place, self.lines())
        if found["rows"] != self.rows:
            sys.exit(f"ClickHouse has {found['rows']} rows, not {self.rows}")
        self.sizes()["ClickHouse, zstd 3"] = found["bytes"] / self.rows

    def run(self):
        self.own(self.wanted(WRITES) or ["size_flushed"])
        if "duckdb" in self.peers and (not self.only or "exports" in self.only):
            self.load_duckdb()
            self.exports()
            self.asides()
        if "chdb" in self.peers:
            self.clickhouse()
        self.own(self.wanted(REST), "--keep")
        for name, words in (("size_flushed", "Tidemark, flushed"), ("size_compacted", "Tidemark, compacted")):
            if name in self.figures:
                self.sizes()[words] = self.figures[name]["tidemark"]["median"]
                self.sizes()["SQLite table and index"] = self.figures[name]["table"]["median"]
        shutil.rmtree(self.folder)
        return self.figures


def side_of(walls, cpus, rows):
    return {"median": statistics.median(walls), "cpu": statistics.median(cpus), "rows": rows, "unit": "s"}


def node(build, driver, *arguments):
    """Runs a driver in JavaScript beside the packages and gives what it prints."""
    done = subprocess.run(["node", build / "interop" / driver, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"{driver} {arguments[0]} failed")
    return json.loads(done.stdout)


def fetch_peers(build, peers):
    """The packages that tests/interop pins: what is there already is not fetched again."""
    readers = {"-"} | ({"chdb"} & set(peers))
    wanted = [package for package in read_packages(ROOT / "tests/interop/packages.txt")
              if package.reader in readers and not package.name.startswith("hy")]
    problems = unpack_all(wanted, build / "interop")
    if problems:
        sys.exit("\n".join([*problems, "(--peers none runs without them)"]))
    for path in HERE.glob("*.mjs"):
        shutil.copy(path, build / "interop")


def machine():
    """The conditions, in words."""
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                  if line.startswith("model name")), os.uname().machine)
    version = subprocess.run(["sqlite3", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[0]
    return f"{os.cpu_count()} cores ({model}), SQLite {version}"


def write_results(figures, rows):
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    (results / "picture.svg").write_text(picture.svg(figures, rows))
    title = "# What each costs as the log grows\n\nBy time on the processor.\n\n"
    if len(figures) > 1:
        (results / "growth.md").write_text(title + table.growth(figures))
    title = f"# What is held against what\n\nAt {rows:,} rows; rows a second, times and bytes as ratios to the peer.\n\n"
    (results / "bars.md").write_text(title + table.bars(figures, rows))
    readme = HERE / "README.md"
    before, _, rest = readme.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    readme.write_text(f"{before}{BEGIN}\n{rows:,} rows, {machine()}:\n\n{table.markdown(figures, rows)}{END}{after}")


def read_arguments():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=True)
    names = lambda words: [word for word in words.split(",") if word]  # noqa: E731
    parser.add_argument("build", type=pathlib.Path)
    numbers = lambda words: sorted(int(float(word)) for word in names(words))  # noqa: E731
    parser.add_argument("--rows", type=numbers, default=[1000000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", type=names, default=[])
    parser.add_argument("--peers", type=names, default=["duckdb"])
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    unknown = set(options.only) - {*WRITES, *REST, "exports"} | set(options.peers) - {"duckdb", "chdb", "none"}
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    if options.write and (options.only or "duckdb" not in options.peers):
        parser.error("--write needs every line of the table: leave out --only, and keep duckdb among the peers")
    return options


def main():
    options = read_arguments()
    build = options.build.resolve()
    folder = (options.folder or build / "bench").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if options.peers != ["none"]:
        fetch_peers(build, options.peers)
    figures = {}
    for rows in options.rows:
        figures[rows] = Bench(build, folder, options, rows).run()
        (folder / "figures.json").write_text(json.dumps(figures, indent=1))
    shown = 1000000 if 1000000 in figures else max(figures)
    if options.write:
        write_results(figures, shown)
    print(table.markdown(figures, shown))
    print(table.bars(figures, shown))
    if len(figures) > 1:
        print(table.growth(figures))


if __name__ == "__main__":
    main()
