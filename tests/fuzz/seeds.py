#!/usr/bin/env python3
"""Where the corpora begin, from real bytes:  seeds.py MODULE FOLDER [target...]

Writes FOLDER/TARGET/NAME in the shape that each target's comment draws: from the databases in tests/golden, and from
what MODULE (tidemark.so) writes in a scratch folder. Run by hand when a target is new; `tests/run.sh --fuzz --keep`
makes the corpus small again.
"""
import pathlib
import sqlite3
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden"


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def sized(*runs):
    return b"".join(struct.pack("<H", len(run)) + run for run in runs)


def golden_segments():
    """(meta, chunks) of each segment of the golden databases; chunks in the order of the segment's columns."""
    for path in sorted(GOLDEN.glob("*/tidemark.db")):
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        tables = db.execute("SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE TABLE%meta BLOB NOT NULL%'")
        for (table,) in tables.fetchall():
            chunk_table = quoted(table.removesuffix("_segment") + "_chunk")
            for first, count, meta in db.execute(f"SELECT chunk, chunks, meta FROM {quoted(table)}").fetchall():
                rows = db.execute(f"SELECT data FROM {chunk_table} WHERE id >= ? AND id < ? ORDER BY id",
                                  (first, first + count))
                yield meta, [data for (data,) in rows]


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
        shift += 7


def with_empty_chunks(meta, chunks):
    """The chunks with b'' for the columns that have none, as the entries in meta say."""
    at = 13
    for _ in range(3):
        _, at = varint(meta, at)
    columns, at = varint(meta, at)
    rest, placed = list(chunks), []
    for _ in range(2 + columns):
        size, at = varint(meta, at)
        placed.append(rest.pop(0) if size > 0 else b"")
        if size > 0:
            _, at = varint(meta, at)
            at += 8
    return placed


def made_segments():
    """The same of segments of the newest format, of few rows in few columns: one column of each kind of text."""
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    db.load_extension(str(pathlib.Path(sys.argv[1]).resolve().with_suffix("")))
    for rows in 1, 3, 40, 150:
        db.execute(f"""CREATE VIRTUAL TABLE d{rows} USING tidemark(i INTEGER, r REAL, t TEXT, level TEXT, b BLOB, any,
                       none, partition_by=level)""")
        db.execute(f"""WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {rows})
          INSERT INTO d{rows} SELECT n * n, n / 4.0, printf('GET /page/%d HTTP/1.1 took %03d ms', n * 7919 % 5000, n % 97),
            'info', CASE n % 3 WHEN 0 THEN x'00ff' ELSE zeroblob(n % 5) END,
            CASE n % 5 WHEN 0 THEN n WHEN 1 THEN n / 3.0 WHEN 2 THEN 'word ' || n % 3 WHEN 3 THEN x'41' END, NULL FROM n""")
        db.commit()
        db.execute(f"SELECT tidemark_flush('d{rows}')").fetchall()
        meta = db.execute(f"SELECT meta FROM d{rows}_segment").fetchone()[0]
        yield meta, [data for (data,) in db.execute(f"SELECT data FROM d{rows}_chunk ORDER BY id")]


def segment_seeds():
    for meta, chunks in [*golden_segments(), *made_segments()]:
        placed = with_empty_chunks(meta, chunks)
        if len(placed) <= 16 and sum(map(len, placed)) < 6000:
            yield bytes([3]) + sized(meta, *placed)


def frames_of(meta, chunk, header_size):
    """(templates, frame, its rows) of a chunk's frames."""
    rows, _ = varint(meta, 13)
    at, templates = 9, 0
    if chunk[0] > 1:
        templates, at = varint(chunk, at)
        at += 4 if templates > 0 else 0
    place = header_size + templates
    for first in range(0, rows, 4096):
        size, at = varint(chunk, at)
        at += 4
        yield chunk[header_size:header_size + templates], chunk[place:place + size], min(rows - first, 4096)
        place += size


def header_sizes(meta):
    at = 13
    for _ in range(3):
        _, at = varint(meta, at)
    columns, at = varint(meta, at)
    sizes = []
    for _ in range(2 + columns):
        size, at = varint(meta, at)
        header = 0
        if size > 0:
            header, at = varint(meta, at)
            at += 8
        sizes.append(header)
    return sizes


def frame_seeds():
    for meta, chunks in [*golden_segments(), *made_segments()]:
        for column, (chunk, header) in enumerate(zip(with_empty_chunks(meta, chunks), header_sizes(meta))):
            for templates, frame, rows in frames_of(meta, chunk, header) if chunk else ():
                if len(frame) + len(templates) < 4000 or column % 5 == 2 and len(frame) < 16000:
                    yield bytes([2 if column > 1 else 1]) + struct.pack("<H", rows - 1) + sized(templates) + frame


def rows_seeds():
    yield bytes([2, 31]) + bytes(range(256))
    for line in range(4):  # lines of a log, small numbers, reals, texts that repeat
        yield bytes([2, 7]) + b"".join(bytes([6 | line << 3, n * 37 % 256, n % 3, n * 11 % 256]) for n in range(200))
        yield bytes([2, 3]) + b"".join(bytes([2 | line << 3, n, 4, n * 7 % 256]) for n in range(120))
        yield bytes([line, 9]) + b"".join(bytes([5 | 4 << 3]) + b"word"[:3] + bytes([97 + n % 3]) for n in range(60))
    yield bytes([5, 1]) + b"".join(bytes([1]) + struct.pack("<q", (-3) ** n) for n in range(40))
    yield bytes([1, 1]) + b"".join(bytes([3]) + struct.pack("<d", n * 1.5e-3) for n in range(90))


def tail_seeds():
    for path in sorted(GOLDEN.glob("*/tidemark.db")):
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        tables = db.execute("SELECT name FROM sqlite_schema WHERE name GLOB '*[_]tail'").fetchall()
        for (table,) in tables:
            for rows, data in db.execute(f"SELECT rows, data FROM {quoted(table)}").fetchall():
                yield bytes([0, (rows - 1) % 256, 0, rows % 3]) + data
    for seed in rows_seeds():
        yield bytes([1, 0, 0]) + seed[2:]
    yield bytes([0, 0, 0, 0, 1, 1, 1, 0, 2, 3, 1, 120]) + bytes(8)
    yield bytes([0, 1, 0, 0, 1, 2, 2, 0, 2, 1, 4, 4, 1, 0, 1, 0, 0, 2]) + struct.pack("<d", 2.5) + bytes(8)


def text_seeds(*texts):
    return lambda: (bytes([what]) + text.encode() for what, text in texts)


ddl_seeds = text_seeds(
    (0, "source TEXT NOT NULL\nts TIMESTAMP_MS\nlevel TEXT\nattrs JSON\npartition_by=source\nretention_age='90 days'"),
    (0, "a\n[b c] INTEGER -- x\n\"d\"\"e\" REAL /* y */ NOT NULL\npartition_by = (a, `b c`)\nsegment_rows=4096"),
    (0, "t TIMESTAMP_US\nb BLOB\nretention_by=t\nretention_rows=NULL\nretention_bytes=0\nzstd_level=19\nautoflush=0"),
    (0, "ok BOOLEAN\nn ANY\nunique=n\nretention_age=1.5 hours\npartition_by=ok"), (0, "adopt=1"), (0, "a PRIMARY KEY"),
    (1, "logs\nsource='web'"), (1, "main.\"a b\"\nn=-1\n[d]=x'00ff'"), (1, "logs\na=NULL\nb=TRUE\nc=+0x1F"),
    (1, "CREATE VIRTUAL TABLE web USING tidemark_partition(logs, source='web')"),
    (2, "trace TEXT"), (2, "n INTEGER NOT NULL DEFAULT 0"), (2, "t TIMESTAMP_NS DEFAULT -1"), (2, "r REAL DEFAULT 2.5e-3"),
    (3, "-2.5e3"), (3, "'it''s' rest"), (3, "x'0aFf'"), (3, "0x1F"), (3, "NULL"), (3, "- /* c */ 1"), (3, "false"))

partition_seeds = text_seeds(
    (0, "day=1767225600000/source=web/a%20b%2F%3D%25=x"), (0, "day=-1/source=%5F_HIVE_DEFAULT_PARTITION__/a%20b%2F%3D%25="),
    (0, "day=__HIVE_DEFAULT_PARTITION__/source=a%2Fb/a%20b%2F%3D%25=%00"), (1, "\1\0\0\0\0\0\0\0\3web\2/."),
    (1, "\0\0\0\0\0\0\0\0\x19__HIVE_DEFAULT_PARTITION__\0"), (2, ".."), (2, "."), (2, "a b/c"), (2, "Ö"))

plan_seeds = text_seeds(
    (0, "\1\1\1\0\0\0\0\0\0\0OSg"), (0, "\2\0\0DC1eC0i"), (0, "\2\x0d\x35abcdefSlPe"), (0, "\1\0C-1e"),
    (0, "\1\0C99999999999e"), (1, "\4\0\1\5\5\5\5\5\5\5\5\x0aA\1\2\0\1\1\2\2\3\3\4\4"), (1, "\0\1"))

SEEDS = {"tail": tail_seeds, "ddl": ddl_seeds, "partition": partition_seeds, "plan": plan_seeds,
         "segment": segment_seeds, "frame": frame_seeds, "rows": rows_seeds}


def main():
    folder = pathlib.Path(sys.argv[2])
    for target in sys.argv[3:] or SEEDS:
        (folder / target).mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(SEEDS[target]()):
            (folder / target / f"seed-{number:02}").write_bytes(seed)


if __name__ == "__main__":
    main()
