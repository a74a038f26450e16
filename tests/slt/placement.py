"""The places where a dataset's rows can be. Each takes a file's statements, in the dialect of SQLite's suite, keeps every
row where it promises, and shows that it is there before a query is asked."""
import json
import re

CREATE = re.compile(r"CREATE TABLE (\w+)\((.*)\)\s*$", re.DOTALL)
INSERT = re.compile(r"INSERT INTO (\w+)")
DELETE = re.compile(r"DELETE FROM (\w+)")
DROP = re.compile(r"DROP TABLE (\w+)\s*$")
INDEX = re.compile(r"CREATE (UNIQUE )?INDEX ")
OTHERS = [(re.compile(r"\bFLOAT\b"), "REAL"), (re.compile(r"\bVARCHAR\(\d+\)"), "TEXT"),
          (re.compile(r" PRIMARY KEY\b"), ""), (re.compile(r" UNIQUE\b"), "")]


class Plain:
    """Ordinary tables: what the file expects is right, and the runner sees it."""
    name = "plain"

    def __init__(self, connect):
        self.db = connect()

    def statement(self, sql):
        self.db.execute(sql)

    def settle(self):
        """Puts every row where the mode says, and asserts that it is there."""

    def summary(self):
        return ""

    def close(self):
        self.db.close()


class Placement(Plain):
    """Datasets. What a mode does is in the methods that it overrides."""

    def __init__(self, connect):
        super().__init__(connect)
        self.other = connect()  # sees what is committed
        self.changed = set()
        self.settled = 0
        self.db.execute("PRAGMA journal_mode=WAL")

    def statement(self, sql):
        if INDEX.match(sql):
            return
        create, insert, delete, drop = (one.match(sql) for one in (CREATE, INSERT, DELETE, DROP))
        if create:
            self.create(create.group(1), create.group(2))
        elif insert:
            self.insert(insert.group(1), sql)
            self.changed.add(insert.group(1))
        elif delete:
            self.db.execute(sql)
            self.changed.add(delete.group(1))
        elif drop:
            self.db.execute(sql)
            self.changed.discard(drop.group(1))
        else:
            raise ValueError(f"no such statement on a dataset: {sql}")

    def create(self, table, columns):
        for pattern, ours in OTHERS:
            columns = pattern.sub(ours, columns)
        self.db.execute(f"CREATE VIRTUAL TABLE {table} USING tidemark({columns}, autoflush=0)")

    def insert(self, table, sql):
        self.db.execute(sql)

    def settle(self):
        for table in sorted(self.changed):
            self.place(table)
            self.show(table)
            if self.value(f"SELECT tidemark_check('{table}')") != "ok":
                raise AssertionError(f"{table}: {self.value(f'SELECT tidemark_check({table!r})')}")
            self.settled += 1
        self.changed.clear()

    def place(self, table):
        """Moves a dataset's rows."""

    def show(self, table):
        """Asserts that a dataset's rows are where they should be."""
        raise NotImplementedError

    def value(self, sql, db=None):
        row = (db or self.db).execute(sql).fetchone()
        return None if row is None else row[0]

    def stat(self, table):
        """rows, rows in the tail (also those deleted), segments, deleted rows that are still in segments, highest
        revision of a segment"""
        return self.db.execute(
            "SELECT (SELECT coalesce(sum(rows), 0) FROM tidemark_stat WHERE dataset = ?1),"
            " (SELECT coalesce(sum(tail_rows), 0) FROM tidemark_stat WHERE dataset = ?1),"
            " (SELECT count(*) FROM tidemark_segment WHERE dataset = ?1),"
            " (SELECT coalesce(sum(deleted), 0) FROM tidemark_segment WHERE dataset = ?1),"
            " (SELECT coalesce(max(revision), 0) FROM tidemark_segment WHERE dataset = ?1)", (table,)).fetchone()

    def summary(self):
        return f", rows settled {self.settled} times"

    def close(self):
        self.other.close()
        super().close()


def expect(table, what, holds):
    if not holds:
        raise AssertionError(f"the rows of {table} are not where this mode has them: {what}")


class Memory(Placement):
    name = "memory"

    def __init__(self, connect):
        super().__init__(connect)
        self.db.execute("BEGIN")

    def show(self, table):
        expect(table, self.stat(table), self.db.in_transaction and self.stat(table)[2] == 0)
        # nobody else sees so much as the table
        expect(table, "committed", self.value("SELECT count(*) FROM sqlite_schema", self.other) == 0)


class Tail(Placement):
    name = "tail"

    def show(self, table):
        rows, tail_rows, segments, _, _ = self.stat(table)
        expect(table, self.stat(table), not self.db.in_transaction and segments == 0 and tail_rows >= rows)
        expect(table, "not committed", self.value(f"SELECT count(*) FROM {table}", self.other) == rows)


class Sealed(Placement):
    name = "sealed"

    def place(self, table):
        self.db.execute(f"SELECT tidemark_flush('{table}')").fetchall()

    def show(self, table):
        rows, tail_rows, segments, _, _ = self.stat(table)
        expect(table, self.stat(table), tail_rows == 0 and (segments > 0 or rows == 0))


class Compacted(Placement):
    name = "compacted"

    def __init__(self, connect):
        super().__init__(connect)
        self.runs = 0

    def insert(self, table, sql):
        self.db.execute(sql)
        first = self.value(f"SELECT max(since) FROM {table}")
        self.db.execute(f"SELECT tidemark_flush('{table}')").fetchall()
        self.db.execute(sql)
        self.db.execute(f"SELECT tidemark_flush('{table}')").fetchall()
        self.db.execute(f"DELETE FROM {table} WHERE since > {first}")
        self.db.execute(f"INSERT INTO {table} SELECT * FROM {table} LIMIT 1")
        self.db.execute(f"DELETE FROM {table} WHERE since > {first}")

    def place(self, table):
        self.db.execute(f"SELECT tidemark_flush('{table}')").fetchall()
        self.runs += json.loads(self.value(f"SELECT tidemark_compact('{table}')"))["runs"]

    def show(self, table):
        rows, tail_rows, segments, deleted, revision = self.stat(table)
        expect(table, self.stat(table), tail_rows == 0 and deleted == 0)
        expect(table, self.stat(table), segments == 1 and revision > 0 if rows > 0 else segments == 0)

    def summary(self):
        if self.settled > 0 and self.runs == 0:
            raise AssertionError("nothing was compacted")
        return f"{super().summary()}, {self.runs} runs of segments compacted"


PLACEMENTS = [Plain, Memory, Tail, Sealed, Compacted]
