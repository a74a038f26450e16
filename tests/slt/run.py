#!/usr/bin/python3
"""Runs files of SQLite's sqllogictest suite on datasets, wherever their rows are: README.md has the format and the places.

  run.py [--placement NAME] MODULE FILE.test.zst...   compares every query's result with the file's
  run.py --self-test MODULE                           the runner itself: results that are wrong are found
"""
import argparse
import os
import pathlib
import sqlite3
import sys
import tempfile

import script
from placement import PLACEMENTS, Plain

LONG = "TIDE_TEST_LONG" in os.environ


class Failure(Exception):
    pass


class Extent:
    """How many blocks of a file are for SQLite: a file that was cut, or a parser that passes blocks over, must not look
    like success. And what is run of them if not all: one query of `stride`, another one in each place, up to the block
    `last`."""

    def __init__(self, statements, queries, stride=1, last=sys.maxsize):
        self.all = (statements, queries)
        self.stride = 1 if LONG else stride
        self.last = sys.maxsize if LONG else last

    def has(self, number, block, place):
        return number <= self.last and (block.kind != "query" or number % self.stride == place % self.stride)


EXTENTS = {
    "evidence_in1.test": Extent(27, 187),
    "index_delete_10_slt_good_0.test": Extent(6476, 4254, last=700),
    "random_aggregates_slt_good_0.test": Extent(12, 10000, stride=10),
    "random_select_slt_good_0.test": Extent(12, 10000, stride=10),
    "select1.test": Extent(31, 1000, stride=4),
    "select2.test": Extent(31, 1000, stride=4),
}


def run_block(place, block, labels):
    if block.kind == "query":
        place.settle()
        rows = place.db.execute(block.sql).fetchall()
        wrong = script.difference(block, rows)
        if wrong:
            raise Failure(wrong)
        if block.label and labels.setdefault(block.label, block.expected) != block.expected:
            raise Failure(f"another result than the first query with label {block.label}")
        return
    try:
        place.statement(block.sql)
    except sqlite3.Error as error:
        if block.kind == "ok":
            raise Failure(f"refused: {error}") from error
        return
    if block.kind == "error":
        raise Failure("not refused")


def run_script(text, placement, module, extent):
    """Runs a script in one place: (statements, queries, what was done)."""
    ran = {"statements": 0, "queries": 0}
    labels = {}
    blocks = list(script.parse(text))
    queries = sum(block.kind == "query" for block in blocks)
    if extent.all != (len(blocks) - queries, queries):
        raise Failure(f"{len(blocks) - queries} statements and {queries} queries, expected were {extent.all}")
    with tempfile.TemporaryDirectory(prefix="tidemark.") as folder:
        place = placement(lambda: connect(folder + "/slt.db", module))
        try:
            for number, block in enumerate(blocks):
                if not extent.has(number, block, PLACEMENTS.index(placement) if placement in PLACEMENTS else 0):
                    continue
                ran["queries" if block.kind == "query" else "statements"] += 1
                try:
                    run_block(place, block, labels)
                except (Failure, AssertionError, ValueError, sqlite3.Error) as error:
                    raise Failure(f"line {block.line}: {block.sql}\n{error}") from error
            place.settle()
            return ran["statements"], ran["queries"], place.summary()
        finally:
            place.close()


def connect(file, module):
    db = sqlite3.connect(file, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(str(module))
    db.execute("PRAGMA synchronous=OFF")
    return db


def run_file(path, placements, module):
    name = path.name.removesuffix(".zst")
    for placement in placements:
        try:
            statements, queries, summary = run_script(script.read(path), placement, module, EXTENTS[name])
        except Failure as failure:
            print(f"{name}, {placement.name}: {failure}")
            return False
        print(f"{name}, {placement.name}: {statements} statements, {queries} queries{summary}")
    return True


GOOD = """hash-threshold 8

statement ok
CREATE TABLE t(a INTEGER, b FLOAT, c VARCHAR(8))

statement ok
INSERT INTO t VALUES(2, 0.5, 'x'), (1, NULL, ''), (10, 2, 'y')

statement error
INSERT INTO nowhere VALUES(1)

skipif sqlite
query I nosort
SELECT 'left out'
----
1

onlyif mysql # left out as well
statement ok
SELECT DIV

onlyif sqlite
query IRT rowsort label-1
SELECT a, b, c FROM t
----
1
NULL
(empty)
10
2.000
y
2
0.500
x

query I valuesort
SELECT a FROM t
----
3 values hashing to 91ff90854a35e9226df03b9b06c2f9c8

query I nosort
SELECT a FROM t ORDER BY a DESC
----
10
2
1

query I nosort
SELECT a FROM t WHERE a > 99
----
"""

# What is changed in it: each has to be found in every place.
WRONG = [
    ("0.500", "0.501"),
    ("(empty)", "NULL"),
    ("1\nNULL", "1\n0"),
    ("2.000\ny", "2.000"),
    ("10\n2\n1\n", "2\n10\n1\n"),
    ("10\n2\n1\n", "10\n2\n1\n0\n"),
    ("91ff", "91fe"),
    ("3 values", "4 values"),
    ("a > 99", "a > 9"),
    ("query IRT rowsort", "query IRT nosort"),
    ("query I valuesort", "query II valuesort"),
    ("query I nosort\nSELECT a FROM t ORDER", "query I nosort label-1\nSELECT a FROM t ORDER"),
    ("statement error\nINSERT INTO nowhere", "statement ok\nINSERT INTO nowhere"),
    ("statement ok\nINSERT", "statement error\nINSERT"),
    ("statement ok\nINSERT", "statement ok\nUPDATE t SET a = 0 WHERE false;\n\nstatement ok\nINSERT"),
    ("SELECT DIV\n\n", "SELECT DIV\n\nhalt\n\n"),
]
EXTENT = Extent(3, 4)


def is_found(text, placement, module):
    try:
        run_script(text, placement, module, EXTENT)
    except Failure:
        return True
    return False


def insert_elsewhere(place, table, sql):
    """Where the rows are in no mode: some in the tail of an open transaction, some in a segment."""
    place.db.execute(sql)
    place.db.execute(f"SELECT tidemark_flush('{table}')").fetchall()
    if not place.db.in_transaction:
        place.db.execute("BEGIN")
    place.db.execute(sql)
    place.db.execute(f"DELETE FROM {table} WHERE since > (SELECT max(since) FROM {table}) / 2")


def self_test(module):
    missed = []
    for placement in PLACEMENTS:
        if run_script(GOOD, placement, module, EXTENT)[:2] != EXTENT.all:
            missed.append(f"{placement.name}: blocks of a good script that were not run")
        for right, wrong in WRONG:
            if right not in GOOD or not is_found(GOOD.replace(right, wrong, 1), placement, module):
                missed.append(f"{placement.name}: {wrong!r} instead of {right!r}")
        astray = type("Astray", (placement,), {"place": lambda *_: None, "insert": insert_elsewhere})
        if placement is not Plain and not is_found(GOOD, astray, module):
            missed.append(f"{placement.name}: rows that are elsewhere")
    for one in missed:
        print(f"not found: {one}")
    return not missed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--placement", choices=[one.name for one in PLACEMENTS])
    parser.add_argument("module", type=pathlib.Path)
    parser.add_argument("files", type=pathlib.Path, nargs="*")
    arguments = parser.parse_args()
    module = arguments.module.resolve()
    if arguments.self_test:
        return 0 if self_test(module) else 1
    placements = [one for one in PLACEMENTS if arguments.placement in (None, one.name)]
    return 0 if all([run_file(path, placements, module) for path in arguments.files]) else 1


if __name__ == "__main__":
    sys.exit(main())
