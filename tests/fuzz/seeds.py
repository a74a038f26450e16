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
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden"


def database():
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    db.load_extension(str(pathlib.Path(sys.argv[1]).resolve().with_suffix("")))
    return db


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
    db = database()
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

def exported(options, extension):
    """What three ticks of a sink leave in a folder: (name in it, bytes)."""
    with tempfile.TemporaryDirectory() as folder:
        db = database()
        db.execute("CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, ts TIMESTAMP_MS, body TEXT, partition_by=source)")
        db.execute("INSERT INTO tidemark_sink(sink, dataset, target, format, options) VALUES ('a', 'logs', ?, ?, ?)",
                   (f"file://{folder}", extension, options))
        db.commit()
        for tick in range(3):
            db.execute("INSERT INTO logs VALUES ('web', ?, 'GET /'), ('web', NULL, 'slow'), ('web', 1, 'slow')",
                       (1767225600000 + tick,))
            db.commit()
            db.execute("SELECT tidemark_export('a', 'now')").fetchall()
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.is_file():
                yield str(path.relative_to(folder)), path.read_bytes()


def delta_seeds():
    log = [(name, data) for name, data in exported('{"table": "delta"}', "parquet") if "_delta_log" in name]
    commits = [data for name, data in log if name.endswith(".json")]
    yield b"".join(bytes([0]) + sized(data) for data in commits)
    yield b"".join(bytes([0]) + sized(data) for data in commits[:1])
    kept = b"".join(b'{"tidemark":{"version":0,"adds":1,"shared":false}}\n' if i == 0 else line + b"\n"
                    for i, line in enumerate([b"", *commits[0].splitlines()]) if b"commitInfo" not in line)
    yield b"".join(bytes([0]) + sized(data) for data in commits) + bytes([2]) + sized(kept)
    yield bytes([0]) + sized(commits[0]) + bytes([2]) + sized(kept.replace(b"false", b"true"))
    yield from (bytes([0]) + sized(commits[0]) + bytes([3]) + sized(data) for name, data in log if "_tidemark" in name)
    yield bytes([0]) + sized(commits[0] + b'{"remove":{"path":"x","dataChange":true}}\n{"domainMetadata":{}}\n')


def object_seeds():
    for which, extension in enumerate(("ndjson", "csv", "ndjson.zst", "csv.zst", "parquet")):
        for name, data in exported(None, extension):
            if name.endswith(extension):
                yield bytes([which]) + data
    yield from (bytes([5]) + data for name, data in exported(None, "csv") if name.startswith("_tidemark/"))
    yield bytes([5]) + b'{"tick":9223372036854775807,"token":"ffffffffffffffff"}\n'
    yield bytes([6, 7]) + b"a stream of bytes " * 40


def export_seeds():
    for which in range(5):
        for seed in rows_seeds():
            yield bytes([which, which & 1, which]) + bytes([40, which, 1] * which) + seed[2:]


json_seeds = text_seeds(*((ord(text[0]), text[1:]) for text in (
    '{"a": [1, 2.5e-3, true, null, "x\\u00e9\\n"], "b": {}}', "[]", '"\\ud83d\\ude00"', "-0.0e+1", " [ 1 , 2 ] ", '{"":""}',
    '{"zstd_level": 9, "iso": true, "table": "delta"}', "[" * 201 + "]" * 201, '"\\/\\b\\f\\r\\t"', "9223372036854775807")))

sink_seeds = text_seeds(
    (0, "file:///tmp/a%20b\nndjson.zst\n[\"since\",\"ts\",\"body\"]\nlevel IS NULL\n{\"zstd_level\":9}"),
    (0, "file:///x\nparquet\n\nsource = 'web' AND ts > 0\n{\"table\":\"delta\"}"),
    (0, "file:///x/../y\ncsv\n[\"partition\"]\nlength(body) BETWEEN 1 AND 5\n{\"iso\":true}"),
    (0, "\n\n[\"body\",\"attrs\"]\njson_extract(attrs, '$.a') IN (1, 2)\n"), (0, "s3://b\nndjson\n\n(SELECT 1)"),
    (1, '{"target":"file:///x","format":"csv","columns":["ts"],"filter":null,"options":null,"log_id":"0123"}'),
    (1, '{"target":null,"format":null,"columns":["body"],"schema_version":4,"layout":1}'),
    (2, "90 days"), (2, "1.5 hours"), (2, "250 ms"), (2, "1e3"), (2, "99999999999 weeks"), (2, ".5min"))

answer_seeds = text_seeds(
    (0, "120"), (0, "Sun, 06 Nov 1994 08:49:37 GMT\nSun, 06 Nov 1994 08:49:07 GMT"), (0, "Sunday, 06-Nov-94 08:49:37 GMT"),
    (0, "Sun Nov  6 08:49:37 1994"), (0, "99999999999999999999"),
    (1, "\x6b\0\0" + '{"refused":[{"line":2,"reason":"bad"},{"line":1,"reason":""}]}'), (1, "\x6b\0\0" + '{"refused":[]}'),
    (1, "\x91\1\x0fRetry-After\0" + "10\0"), (1, "\x35\1\x15Tidemark-Tick\0" + "12 abcd\0no"), (1, "\x64\0\0ok"),
    (2, '<?xml version="1.0"?><Error><Code>NoSuchKey</Code><Message>a &lt;b&gt; &#x41;<![CDATA[x]]></Message></Error>'),
    (2, "<Error><Code>PermanentRedirect</Code><Region>eu-north-1</Region><!-- x --></Error>"),
    (2, "<a:Error xmlns:a='x'><a:Code>SlowDown</a:Code></a:Error>"))


def listing_seeds():
    page = ("<ListBucketResult><IsTruncated>{}</IsTruncated><Contents><Key>a/{}</Key><Size>12</Size></Contents>"
            "<NextContinuationToken>t{}</NextContinuationToken></ListBucketResult>")
    yield bytes([3]) + page.format("true", 1, 1).encode() + b"\xff" + page.format("false", 2, 2).encode()
    page = ("<ListMultipartUploadsResult><IsTruncated>{}</IsTruncated><NextKeyMarker>k{}</NextKeyMarker><NextUploadIdMarker>"
            "u</NextUploadIdMarker><Upload><Key>a/b</Key><UploadId>u{}</UploadId></Upload></ListMultipartUploadsResult>")
    yield bytes([4]) + page.format("true", 1, 1).encode() + b"\xff" + page.format("false", 2, 2).encode()


url_seeds = text_seeds(*((ord(text[0]), text[1:]) for text in (
    "https://Host.example:443/a/b%20c?x=1", "http://127.0.0.1:8080/in", "http://[::1]/", "https://user:pw@host/", "https://h/#f",
    's3://bucket/pre/fix\n{"region":"eu-north-1","path_style":true,"part_size":8388608,"timeout":60}',
    's3://bucket\n{"endpoint":"http://localhost:9000","insecure_http":true,"access_key_env":"A","secret_key_env":"B"}',
    "file:///var/archive%2F..", "file://host/x", "http://a.localhost/\n{\"token_env\":\"TOKEN\",\"timeout\":5}",
    'https://h/p\n{"user":"u","password_env":"P","header":"X-Key","header_env":"K"}', "http://0x7f.1/", "http://127.1/")))

def text_of_numbers_seeds():
    times = (0, -1, 1, 253402300799, 253402300800, -62167219200, -62167219201, 951782400, 1709164800)
    yield b"".join(struct.pack("<q", time * unit) for time in times for unit in (1, 1000, 1000000) if abs(time * unit) < 2**62)
    yield b"".join(struct.pack("<d", real) for real in (0.1, -0.0, 5e-324, 1.7976931348623157e308, 1e23, 123456789012345680.0))
    yield struct.pack("<qqQ", -2**63, 2**63 - 1, 1)


SEEDS = {"text": text_of_numbers_seeds, "delta": delta_seeds, "object": object_seeds, "export": export_seeds, "json": json_seeds, "sink": sink_seeds,
         "answer": lambda: [*answer_seeds(), *listing_seeds()], "url": url_seeds,
         "tail": tail_seeds, "ddl": ddl_seeds, "partition": partition_seeds, "plan": plan_seeds,
         "segment": segment_seeds, "frame": frame_seeds, "rows": rows_seeds}


# What has to be refused, each for a reason of its own, though other files may reach the same places.
BY_HAND = {
    "json": text_seeds(*((ord(text[0]), text[1:]) for text in (
        "[01]", "-", "[1.]", ".5 ", "1e+", "+1", "[1,]", '{"a":1,}', '"\\x"', "nul", "[1\x0b]", '"a\tb"', "1 2", '{"a"}', "{1:2}",
        "[1}", '"\\ud800"', '"\\udc00\\ud800"', '"open', "Infinity", "'a'", "[,1]", "-0 ", "0x1F", "1_0", "  "))),
    "partition": text_seeds(
        (0, "day=01/source=a/a%20b%2F%3D%25=x"), (0, "day=1/source=%41/a%20b%2F%3D%25=x"), (0, "day=-0/source=a/a%20b%2F%3D%25=x"),
        (0, "day=1/source=%2f/a%20b%2F%3D%25=x"), (0, "day=1/source=a/b=x"), (0, "day=9223372036854775808/source=/a%20b%2F%3D%25=")),
    "ddl": text_seeds(
        (3, "'a' --"), (3, "1;"), (3, "(1)"), (3, "random()"), (3, "x'0'"), (3, "1e"), (3, "CURRENT_TIME"), (3, "0x"), (3, "1.5.2"),
        (2, "a DEFAULT (SELECT 1)"), (2, "a b c"), (0, "since"), (0, "a\nA"), (0, "a\npartition_by=(a, a)")),
    "sink": text_seeds(
        (0, "file://x\ncsv"), (0, "file:///a?b\ncsv"), (0, "file:///a%00b\ncsv"), (0, "file:///a\ncsv\n\n1) OR (1"),
        (0, "file:///a\ncsv\n\n1 --"), (0, "file:///a\ncsv\n\nEXISTS (SELECT 1)"), (0, "file:///a\ncsv\n\nload_extension('x')"),
        (0, 'file:///a\ncsv\n["body","BODY"]'), (2, "-1"), (2, "1e400"), (2, "nan"), (2, "9223372036854775807 ms"))}


def main():
    folder = pathlib.Path(sys.argv[2])
    for target in sys.argv[3:] or SEEDS:
        (folder / target).mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(SEEDS[target]()):
            (folder / target / f"seed-{number:02}").write_bytes(seed)
        for number, seed in enumerate(BY_HAND[target]() if target in BY_HAND else ()):
            (folder / target / f"hand-{number:02}").write_bytes(seed)


if __name__ == "__main__":
    main()
