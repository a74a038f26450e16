"""What left, and what the database says about it, read with the standard library alone and without Tidemark."""
import collections
import hashlib
import json
import re
import sqlite3

OBJECT = re.compile(r"events/(source=[a-z]+)/(\d{20})-(\d{20})\.[0-9a-f]{32}\.ndjson")


def read_objects(folder):
    """The rows by object name. A name that is not of that shape, or a row beside its range, is an error."""
    objects = {}
    for path in sorted((folder / "events").rglob("*")):
        if path.is_dir():
            continue
        name = str(path.relative_to(folder))
        partition, since, until = OBJECT.fullmatch(name).groups()
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            assert int(since) < row["since"] <= int(until) and partition == f"source={row['source']}", (name, row)
        objects[name] = rows
    return objects


def check_log(database, folder, objects):
    """Each object is one row of the log, the log is contiguous, the watermark is its end, and nothing is under way."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    ends = {}
    logged = {}
    for partition, kind, since, until, rows, name in connection.execute(
            "SELECT partition, kind, since, until, rows, object FROM tidemark_export_log ORDER BY id"):
        assert kind == "batch" and since == ends.get(partition, 0) < until, (partition, kind, since, until)
        ends[partition] = until
        logged[name.removeprefix("file://").removeprefix(f"{folder}/")] = rows
    assert logged == {name: len(rows) for name, rows in objects.items()}, (logged, list(objects))
    watermarks = dict(connection.execute("SELECT partition, since FROM tidemark_watermark WHERE sink = 'archive'"))
    assert watermarks == ends, (watermarks, ends)
    last = {f"source={row['source']}": row["since"] for rows in objects.values() for row in rows}
    assert watermarks == last, (watermarks, last)
    assert connection.execute("SELECT count(*) FROM tidemark_batch").fetchone() == (0,)
    connection.close()


def check(scratch, committed, lost):
    """committed: (source, process) -> how many rows it committed; lost: those of processes that were killed, which
    committed all or nothing. Each row is there once, and nothing else; gives how many of the lost were there."""
    folder = scratch / "archive"
    objects = read_objects(folder)
    check_log(scratch / "events.db", folder, objects)
    rows = [row for name in objects for row in objects[name]]
    assert len({row["since"] for row in rows}) == len(rows), "a since is there twice"
    found = collections.defaultdict(list)
    for row in sorted(rows, key=lambda row: row["since"]):
        n, process = re.fullmatch(r"row (\d+) of process (\d+)", row["body"]).groups()
        assert row["ok"] is (int(n) % 2 == 1), row
        found[row["source"], int(process)].append(int(n))
    arrived = {who for who in lost if who in found}
    expected = {who: list(range(1, count + 1)) for who, count in {**committed, **lost}.items() if count > 0}
    expected = {who: rows for who, rows in expected.items() if who in committed or who in arrived}
    assert found == expected, (found, expected)
    return len(arrived)


def fingerprint(scratch):
    """Every file's bytes."""
    files = [path for path in sorted(scratch.rglob("*")) if path.is_file()]
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
