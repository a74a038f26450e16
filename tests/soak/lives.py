#!/usr/bin/env python3
"""The two connections that live as long as a soak:  lives.py write|tick MODULE DATABASE

A line on standard input is answered by one on standard output. write: N appends N rows in transactions of 50 to 500,
some of them rolled back first, and is answered by how many are committed by now; tick: anything is a tick of all sinks,
answered by what tidemark_export says.
"""
import json
import pathlib
import random
import sqlite3
import subprocess
import sys

SAMPLE = pathlib.Path(__file__).resolve().parents[1] / "data" / "logs.ndjson.zst"
START_MS = 1767225600000  # 2026-01-01
BUSY_S = 60
NAMES = ("id", "source", "ts", "level", "component", "body", "attrs")


class Records:
    """The rows of a soak: those of the sample, again and again, with an id from 0 and a time of their own."""

    def __init__(self):
        text = subprocess.run(["zstd", "-dc", SAMPLE], stdout=subprocess.PIPE, check=True).stdout.decode()
        self._records = [json.loads(line) for line in text.splitlines()]

    def source(self, id):
        return self._records[id % len(self._records)]["source"]

    def row(self, id):
        """As a sink gets it: attrs is an object."""
        return dict(self._records[id % len(self._records)], id=id, ts=START_MS + id // 5)

    def values(self, id):
        row = self.row(id)
        row["attrs"] = json.dumps(row["attrs"])
        return [row[name] for name in NAMES]


class Writer:
    def __init__(self, db):
        self._db = db
        self._records = Records()
        self._random = random.Random(1)
        self._committed = 0
        self._transactions = 0

    def answer(self, line):
        end = self._committed + int(line)
        while self._committed < end:
            count = min(self._random.randint(50, 500), end - self._committed)
            rows = [self._records.values(id) for id in range(self._committed, self._committed + count)]
            self._transactions += 1
            if self._transactions % 50 == 0:
                self._append(rows, "ROLLBACK")
            self._append(rows, "COMMIT")
            self._committed += count
        return self._committed

    def _append(self, rows, end):
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany("INSERT INTO logs VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        self._db.execute(end)


class Ticker:
    def __init__(self, db):
        self._db = db

    def answer(self, _):
        return self._db.execute("SELECT tidemark_export()").fetchall()[0][0]


def main():
    role, module, database = sys.argv[1:]
    db = sqlite3.connect(database, timeout=BUSY_S, isolation_level=None)
    db.execute("PRAGMA synchronous = NORMAL")
    db.enable_load_extension(True)
    db.load_extension(module)
    db.load_extension(module.replace(".so", "_net.so"))
    life = {"write": Writer, "tick": Ticker}[role](db)
    for line in sys.stdin:
        print(life.answer(line), flush=True)


if __name__ == "__main__":
    main()
