#!/usr/bin/env python3
"""Continuous use: 5,000 rows a second, two sinks, retention, and the scripts of sql/ from timers.

  run.py [--short] [--rate N] [--shell SQLITE3] [--preload LIBRARY] BUILD [MINUTES]

A writer and a connection that ticks live as long as the soak (lives.py). Every five seconds sql/tick.sql in a shell of
its own and that connection take turns to ship what is new, to a folder and to a receiver on the loopback; every ten,
sql/maintain.sql seals, prunes and compacts. It prints a table of minutes and holds at the end: memory, WAL and database
file are bounded, each tick shipped all that was committed when it began, each sink has each row once, the log is
contiguous and nothing is wrong with the dataset. Nothing asserts on a time.

--short takes the seconds of MINUTES (1) as fast as they go; else (60) they are the clock's. The last line is "N passed,
N failed".
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
from ledger import Ledger, Receiving, read_folder  # noqa: E402
from lives import Records  # noqa: E402

SQL = HERE.parents[1] / "sql"
PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else "python3"  # one that loads extensions
TICK_S = 5
MAINTAIN_S = 10
QUICK = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # the short form does not wait for a disk's syncs
MIB = 1 << 20
WAL_BOUND = 16 * MIB  # SQLite takes it back at 4 MiB, when no reader or big transaction is in the way
SINKS = ("archive", "forward")

SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE VIRTUAL TABLE logs USING tidemark(
  id INTEGER NOT NULL, source TEXT NOT NULL, ts TIMESTAMP_MS, level TEXT, component TEXT, body TEXT, attrs JSON,
  partition_by=source, retention_rows=%(keep)d, segment_rows=%(segment)d);
INSERT INTO tidemark_sink(sink, dataset, target, format)
  VALUES ('archive', 'logs', 'file://%(folder)s/archive', 'ndjson.zst'), ('forward', 'logs', '%(url)s', 'ndjson');
"""

Sample = collections.namedtuple("Sample", "second rows writer ticker wal file lag")


class Life:
    """A process of lives.py."""

    def __init__(self, role, bench):
        self._process = subprocess.Popen([PYTHON, HERE / "lives.py", role, bench.module, bench.database], text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=bench.environment)
        self.start("0")  # loads, and opens what it works with
        self.finish()

    def start(self, line):
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def finish(self):
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"a long-lived connection ended with status {self._process.wait()}")
        return json.loads(line)

    def rss(self):
        with open(f"/proc/{self._process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS:"))

    def stop(self):
        self._process.stdin.close()
        self._process.wait()


class Bench:
    """Where a soak happens, and the stock shell there."""

    def __init__(self, build, folder, shell, preload):
        self.module = str((build / "ext" / "tidemark.so").resolve())
        self.folder = folder
        self.database = os.path.join(folder, "soak.db")
        self._shell = shell
        self.environment = dict(os.environ, HOME=folder, LC_ALL="C.UTF-8", no_proxy="*", PYTHONDONTWRITEBYTECODE="1")
        self.environment.pop("LD_LIBRARY_PATH", None)  # meson's: on it the extension is found without being told
        if preload:
            self.environment.update(LD_PRELOAD=preload, ASAN_OPTIONS="halt_on_error=1:detect_leaks=0")

    def start(self, sql, *before):
        process = subprocess.Popen([self._shell, "-batch", *before, self.database], stdin=subprocess.PIPE, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.environment)
        process.stdin.write(sql)
        process.stdin.close()
        return process

    def start_script(self, name):
        return self.start((SQL / name).read_text(encoding="utf-8"), "-cmd", f".param set @extension {self.module}")

    def sql(self, sql):
        process = self.start(sql, "-bail", "-cmd", f".load {self.module}", "-cmd", f".load {self.module[:-3]}_net.so")
        output = process.stdout.read()
        if process.wait() != 0:
            raise SystemExit(output)
        return output.strip()

    def read(self, sql):
        """What ordinary tables hold, as any client of SQLite sees them."""
        with contextlib.closing(sqlite3.connect(self.database, timeout=60)) as db:
            return db.execute(sql).fetchall()

    def size(self, suffix=""):
        try:
            return os.stat(self.database + suffix).st_size
        except FileNotFoundError:
            return 0


class Soak:
    def __init__(self, bench, seconds, rate, paced):
        self.bench, self.seconds, self.rate, self.paced = bench, seconds, rate, paced
        self.faults = collections.defaultdict(list)
        self.samples = []
        self.sample_s = 60 if seconds >= 600 else 5
        self.keep = rate * seconds // 20  # of each source: all that is kept is there after a fifth of the time
        self.committed = 0
        self.records = Records()
        self.received = Ledger(self.records)
        self.receiver = Receiving(self.received).start()
        os.mkdir(os.path.join(bench.folder, "archive"))
        bench.sql(SCHEMA % {"keep": self.keep, "segment": max(16, min(65536, self.keep // 4)), "folder": bench.folder,
                            "url": self.receiver.url})
        self.writer, self.ticker = Life("write", bench), Life("tick", bench)
        self.ticks = self.due = self.sampled_at = 0
        self.tick = self.upkeep = None
        self.wal = 0

    def run(self):
        began = time.monotonic()
        for second in range(1, self.seconds + 1):
            self.writer.start(str(self.rate))
            if second % TICK_S == 0:
                self.finish_tick()
            if second % self.sample_s == 0:
                self.sample(second, time.monotonic() - began)
            if second % TICK_S == 0:
                self.start_tick()
            if second % MAINTAIN_S == 0:
                self.finish_upkeep()
                self.upkeep = self.bench.start_script("maintain.sql")
            self.committed = self.writer.finish()
            self.wal = max(self.wal, self.bench.size("-wal"))
            if self.paced:
                time.sleep(max(0, began + second - time.monotonic()))
        self.finish_tick()
        self.finish_upkeep()
        self.writer.stop()
        self.ticker.stop()
        # What came after the last tick leaves with this one, and then all but `keep` rows of each source may go.
        self.due = self.committed
        self.tick = self.bench.start_script("tick.sql")
        self.finish_tick()
        self.upkeep = self.bench.start_script("maintain.sql")
        self.finish_upkeep()

    def start_tick(self):
        """The shell and the long-lived connection take turns."""
        self.ticks += 1
        self.due = self.committed
        if self.ticks % 2:
            self.tick = self.bench.start_script("tick.sql")
        else:
            self.tick = self.ticker
            self.ticker.start("now")

    def finish_tick(self):
        if self.tick is None:
            return
        if self.tick is self.ticker:
            did = self.ticker.finish()
            if any(sink["failed"] for sink in did["sinks"]):
                self.faults["ticks"].append(json.dumps(did))
        else:
            self.finish_script(self.tick, "ticks")
        self.tick = None
        for sink, rows in self.delivered().items():
            if rows < self.due:
                self.faults["lag"].append(f"{sink} had {rows:,} rows after a tick that began at {self.due:,}")

    def finish_upkeep(self):
        if self.upkeep is not None:
            self.finish_script(self.upkeep, "upkeep")
            self.upkeep = None

    def finish_script(self, process, what):
        output = process.stdout.read()
        if process.wait() != 0:
            self.faults[what].append(output)

    def delivered(self):
        return dict.fromkeys(SINKS, 0) | dict(self.bench.read(
            "SELECT sink, sum(rows) FROM tidemark_export_log WHERE kind = 'batch' GROUP BY sink"))

    def sample(self, second, elapsed):
        earlier = self.samples[-1].rows if self.samples else 0
        lag = self.committed - min(self.delivered().values())
        self.samples.append(Sample(second, self.committed, self.writer.rss(), self.ticker.rss(), self.wal,
                                   self.bench.size(), lag))
        self.wal = 0
        if len(self.samples) == 1:
            print("minute        rows   rows/s  writer MiB  ticker MiB  WAL MiB  file MiB      lag")
        sample = self.samples[-1]
        mib = [value / MIB for value in sample[2:6]]
        print("%6.2f %11s %8s %11.1f %11.1f %8.1f %9.1f %8s" % (
            second / 60, f"{sample.rows:,}", f"{(sample.rows - earlier) / (elapsed - self.sampled_at):,.0f}", *mib,
            f"{lag:,}"), flush=True)
        self.sampled_at = elapsed


def growth(samples, name, slack):
    """What grew after the first third: the median of the last third against that of the second."""
    values = [getattr(sample, name) for sample in samples]
    third = len(values) // 3
    before, after = statistics.median(values[third:2 * third]), statistics.median(values[2 * third:])
    if after > before * 1.1 + slack:
        return [f"grew from {before / MIB:.1f} to {after / MIB:.1f} MiB"]
    return []


def contiguous(bench, committed):
    faults = []
    ends, rows = {}, collections.Counter()
    for sink, partition, kind, since, until, count in bench.read(
            "SELECT sink, partition, kind, since, until, rows FROM tidemark_export_log ORDER BY id"):
        if kind != "batch" or since != ends.get((sink, partition), 0):
            faults.append(f"{sink}, {partition}: a {kind} begins at {since}, after {ends.get((sink, partition), 0)}")
        ends[sink, partition] = until
        rows[sink] += count
    faults += [f"{sink} has {rows[sink]:,} rows in its log, not {committed:,}"
               for sink in SINKS if rows[sink] != committed]
    return faults


def kept(soak):
    """Retention left the newest rows of each source, and no other."""
    left, expected = collections.Counter(), []
    for id in range(soak.committed - 1, -1, -1):
        source = soak.records.source(id)
        if left[source] < soak.keep:
            left[source] += 1
            expected.append(id)
    expected = f"{len(expected)}|{min(expected)}|{sum(expected)}"
    found = soak.bench.sql("SELECT count(*), min(id), sum(id) FROM logs;")
    return [] if found == expected else [f"count, least and sum of the ids left are {found}, not {expected}"]


def verdict(soak, with_memory):
    archived = Ledger(soak.records)
    files = read_folder(os.path.join(soak.bench.folder, "archive"), archived)
    print(f"{soak.committed:,} rows; {soak.ticks + 1} ticks; {files} files in the archive")
    check = soak.bench.sql("SELECT tidemark_check('logs');")
    wal = max(sample.wal for sample in soak.samples)
    faults = {
        "no tick failed": soak.faults["ticks"],
        "no maintenance failed": soak.faults["upkeep"],
        "each tick shipped all that was committed when it began": soak.faults["lag"],
        "the WAL is bounded": [f"it had {wal / MIB:.1f} MiB"] if wal > WAL_BOUND else [],
        "the database file is bounded": growth(soak.samples, "file", MIB // 4),
        "the archive has each row once": archived.faults(soak.committed),
        "the receiver has each row once": soak.received.faults(soak.committed),
        "the log is contiguous": contiguous(soak.bench, soak.committed),
        "nothing is wrong with the dataset": [] if check == "ok" else [check],
        "retention left the newest rows of each source": kept(soak)}
    if with_memory:
        faults["the writer's memory is flat"] = growth(soak.samples, "writer", 4 * MIB)
        faults["the ticking connection's memory is flat"] = growth(soak.samples, "ticker", 4 * MIB)
    for what, found in faults.items():
        print(f"{what}: {'ok' if not found else 'FAILED'}")
        for fault in found[:5]:
            print(f"  {fault}")
    failed = sum(1 for found in faults.values() if found)
    print(f"{len(faults) - failed} passed, {failed} failed")
    return failed == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--rate", type=int, default=5000, help="rows a second")
    parser.add_argument("--shell", default=shutil.which("sqlite3"))
    parser.add_argument("--preload", default="", help="the sanitizer's library: memory is not looked at then")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("minutes", type=int, nargs="?")
    options = parser.parse_args()
    seconds = 60 * (options.minutes or (1 if options.short else 60))
    with tempfile.TemporaryDirectory(prefix="tidemark.", dir=QUICK if options.short else None) as folder:
        bench = Bench(options.build, folder, options.shell, options.preload)
        soak = Soak(bench, seconds, options.rate, not options.short)
        soak.run()
        return 0 if verdict(soak, not options.preload) else 1


if __name__ == "__main__":
    sys.exit(main())
