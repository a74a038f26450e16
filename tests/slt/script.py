"""A sqllogictest file: its blocks, and how the result of a query is written in it."""
import hashlib
import re
import subprocess

INTEGER = re.compile(r"[ \t\n\v\f\r]*([+-]?\d+)")


class Block:
    """A statement (kind 'ok' or 'error') or a query (kind 'query': types, sort, label, and the result expected)."""

    def __init__(self, line, kind, sql, types="", sort="nosort", label=None, expected=None):
        self.line = line
        self.kind = kind
        self.sql = sql
        self.types = types
        self.sort = sort
        self.label = label
        self.expected = expected


def read(path):
    """The text of FILE.test.zst, or of a file that is not compressed."""
    if path.suffix == ".zst":
        data = subprocess.run(["zstd", "-dcq", str(path)], stdout=subprocess.PIPE, check=True).stdout
    else:
        data = path.read_bytes()
    return data.decode("ascii").replace("\r\n", "\n")  # some were made elsewhere


def _is_left_out(lines):
    """Takes the conditions off the front of a block: whether SQLite is to pass it over."""
    left_out = False
    while lines and lines[0].startswith(("skipif", "onlyif")):
        condition, engine = lines.pop(0).split()[:2]
        left_out |= (engine == "sqlite") == (condition == "skipif")
    return left_out


def _query(line, words, lines):
    if "----" not in lines:
        raise ValueError(f"line {line}: a query without ----")
    at = lines.index("----")
    sort, label = (words[2:] + ["nosort", None][len(words) - 2:])[:2]
    if sort not in ("nosort", "rowsort", "valuesort") or set(words[1]) - set("IRT"):
        raise ValueError(f"line {line}: no such query: {' '.join(words)}")
    return Block(line, "query", "\n".join(lines[:at]), words[1], sort, label, lines[at + 1:])


def parse(text):
    """The blocks for SQLite, in order."""
    number = 1
    for chunk in text.split("\n\n"):
        line, number = number, number + chunk.count("\n") + 2
        lines = [one for one in chunk.split("\n") if not one.startswith("#")]
        while lines and not lines[0]:
            lines.pop(0)
        while lines and not lines[-1]:
            lines.pop()
        if _is_left_out(lines) or not lines:
            continue
        words = lines.pop(0).split()
        if words[0] == "hash-threshold":
            continue
        if words[0] == "halt":
            return
        if words[0] == "statement" and words[1] in ("ok", "error"):
            yield Block(line, words[1], "\n".join(lines))
        elif words[0] == "query":
            yield _query(line, words, lines)
        else:
            raise ValueError(f"line {line}: no such block: {' '.join(words)}")


def _as_number(value, number):
    """What SQLite's column_int64 and column_double make of a value."""
    if isinstance(value, (int, float)):
        return number(value)
    found = INTEGER.match(value if isinstance(value, str) else value.decode("latin-1"))
    return number(found.group(1)) if found else number(0)


def _written(value, kind):
    if value is None:
        return "NULL"
    if kind == "I":
        return str(_as_number(value, int))
    if kind == "R":
        return f"{_as_number(value, float):.3f}"
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    return "".join(one if " " <= one <= "~" else "@" for one in text) if text else "(empty)"


def difference(block, rows):
    """What is wrong with a query's rows, in a sentence; None: they are what the file expects."""
    if any(len(row) != len(block.types) for row in rows):
        return f"{len(rows[0])} columns, expected were {len(block.types)}"
    rows = [[_written(value, kind) for value, kind in zip(row, block.types)] for row in rows]
    if block.sort == "rowsort":
        rows.sort()
    values = [value for row in rows for value in row]
    if block.sort == "valuesort":
        values.sort()
    digest = hashlib.md5("".join(value + "\n" for value in values).encode()).hexdigest()
    hashed = [f"{len(values)} values hashing to {digest}"]
    if block.expected in (values, hashed):
        return None
    got = hashed if block.expected and " values hashing to " in block.expected[0] else values
    return f"gave {' '.join(got) or 'nothing'}\nexpected {' '.join(block.expected) or 'nothing'}"
