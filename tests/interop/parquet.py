"""The format parquet: every value read back by DuckDB and hyparquet (and ClickHouse, when asked for), statistics and
page indexes held against the values, and the size against DuckDB's own files of the same rows."""
import glob
import hashlib
import json
import os
import pathlib
import struct
import subprocess
import time

from readers import LARGE, Checks, node, sqlite

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "logs.ndjson.zst"
checks = Checks()
here = os.getcwd()


def duckdb(*statements):
    """The results of each."""
    return node("duckdb.mjs", json.dumps(statements))


def exported(folder, dataset):
    return sorted(glob.glob(f"{here}/{folder}/{dataset}/**/*.parquet", recursive=True))


# ---- every type, and what is at its edges ----

# SQL of the value, and what is to be read: None, an int, a float, str or bytes.
COLUMNS = {
    "i": ("INTEGER", [("-9223372036854775808", -2**63), ("9223372036854775807", 2**63 - 1), ("NULL", None), ("0", 0)]),
    "r": ("REAL", [("1e999", float("inf")), ("-1e999", float("-inf")), ("5e-324", 5e-324), ("NULL", None), ("0.1", 0.1),
                   ("1e300", 1e300), ("-2.5", -2.5), ("-0.0", -0.0)]),
    "t": ("TEXT", [("''", ""), ("CAST(x'610062' AS TEXT)", "a\0b"), ("NULL", None), ("'\U0001F30A h\u00e9'", "\U0001F30A h\u00e9"),
                   ("CAST(x'61ff62c3' AS TEXT)", "a\ufffdb\ufffd"), ("replace(hex(zeroblob(500)), '0', 'x')", "x" * 1000)]),
    "j": ("JSON", [("'{\"a\":[1,null,\"x\"]}'", '{"a":[1,null,"x"]}'), ("'{a:1}'", '"{a:1}"'), ("NULL", None), ("'3'", "3")]),
    "b": ("BLOB", [("x''", b""), ("x'0001ff'", b"\0\1\xff"), ("NULL", None)]),
    "o": ("BOOLEAN", [("0", False), ("1", True), ("NULL", None)]),
    "ts": ("TIMESTAMP_S", [("-1", -1000), ("1700000000", 1700000000000), ("9223372036854775807", None), ("NULL", None)]),
    "tms": ("TIMESTAMP_MS", [("-86400001", -86400001), ("1772959500000", 1772959500000), ("NULL", None)]),
    "tus": ("TIMESTAMP_US", [("-1", -1), ("1772959500000001", 1772959500000001), ("NULL", None)]),
    "tns": ("TIMESTAMP_NS", [("-1", -1), ("1772959500000000001", 1772959500000000001), ("NULL", None)]),
    "a": ("ANY", [("1", "1"), ("2.5", "2.5"), ("'x\"'", '"x\\""'), ("x'0001'", '"AAE="'), ("NULL", None),
                  ("1e999", '"Infinity"'), ("-9223372036854775808", "-9223372036854775808")]),
    "n": ("INTEGER NOT NULL", [("7", 7), ("-7", -7)]),
    "e": ("TEXT", [("NULL", None)]),
    "p": ("TEXT", [("'p /\u00e9'", "p /\u00e9")]),
    "k": ("BOOLEAN", [("1", True)]),
}
ROWS = 24  # enough that each value comes more than once, beside others


def normal(value):
    """As hyparquet.mjs prints it."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return "d:" + struct.pack(">d", value).hex()
    if isinstance(value, int):
        return str(value)
    return "s:" + (value.encode() if isinstance(value, str) else value).hex()


def counted(value, kind):
    """Whether a value of that SQL is one that the format cannot hold in such a column."""
    return (value, kind) in {("'{a:1}'", "JSON"), ("CAST(x'61ff62c3' AS TEXT)", "TEXT"), ("1e999", "ANY"),
                             ("9223372036854775807", "TIMESTAMP_S")}


def all_types():
    names = ["since", *COLUMNS, "partition", "ingested_at"]
    os.mkdir("all")
    rows = [[values[i % len(values)] for _, values in COLUMNS.values()] for i in range(ROWS)]
    inserts = "\n".join(f"INSERT INTO d({', '.join(COLUMNS)}) VALUES({', '.join(sql for sql, _ in row)});" for row in rows)
    altered, *ingested_at = sqlite("all.db", f"""
CREATE VIRTUAL TABLE d USING tidemark({', '.join(f'{name} {kind}' for name, (kind, _) in COLUMNS.items())},
  partition_by=(p, k));
{inserts}
INSERT INTO tidemark_sink(sink, dataset, target, format, columns)
  VALUES('s', 'd', 'file://{here}/all', 'parquet', '{json.dumps(names)}');
SELECT json_extract(tidemark_export('s'), '$.altered');
SELECT ingested_at FROM d ORDER BY since;""").split()
    checks.equal("values that cannot be held are counted", int(altered), sum(
        any(counted(sql, kind) for (sql, _), (kind, _) in zip(row, COLUMNS.values())) for row in rows))
    [path] = exported("all", "d")
    expected = [[str(i + 1), *(normal(value) for _, value in row), normal("p=p%20%2F%C3%A9/k=1"), at]
                for i, (row, at) in enumerate(zip(rows, ingested_at))]
    checks.equal("every value in hyparquet", node("hyparquet.mjs", "rows", path), expected)
    for zone in ("UTC", "America/New_York"):
        os.environ["TZ"] = zone
        found = duckdb(f"SET TimeZone='{zone}'", f"""SELECT {', '.join(map(in_duckdb, names))}
          FROM read_parquet('{path}', hive_partitioning=false)""")[1]
        checks.equal(f"every value in DuckDB under {zone}", [[with_hex(value) for value in row] for row in found],
                     [[in_microseconds(value) if name == "tns" else value for name, value in zip(names, row)]
                      for row in expected])
    del os.environ["TZ"]
    if "chdb" in LARGE:
        found = node("chdb.mjs", f"SELECT {', '.join(map(in_clickhouse, names))} FROM file('{path}', Parquet) "
                     "SETTINGS input_format_parquet_enable_json_parsing = 0, use_hive_partitioning = 0")
        checks.equal("every value in ClickHouse", found, expected)
    all_types_schema(path)


def kind_of(name):
    return {"since": "INTEGER", "partition": "TEXT", "ingested_at": "TIMESTAMP_MS"}.get(name) or COLUMNS[name][0].split()[0]


def in_duckdb(name):
    """SQL for a column as hyparquet.mjs prints it."""
    kind = kind_of(name)
    if kind in ("TEXT", "JSON", "ANY"):
        return f"'s:' || lower(hex(encode({name}::VARCHAR)))"
    if kind == "BLOB":
        return f"'s:' || lower(hex({name}))"
    if kind == "REAL":
        return f"'d:' || {name}::BIT::VARCHAR"
    if kind.startswith("TIMESTAMP"):
        return f"epoch_{'ms' if kind.endswith('_S') else kind[-2:].lower()}({name})::VARCHAR"
    return name if kind == "BOOLEAN" else f"{name}::VARCHAR"


def in_microseconds(value):
    """DuckDB has no nanoseconds with a time zone: it cuts them off, towards 0."""
    return value and str((abs(int(value)) // 1000) * (-1000 if value[0] == "-" else 1000))


def with_hex(value):
    """A double's 64 bits in DuckDB as its 16 hexadecimal digits."""
    return f"d:{int(value[2:], 2):016x}" if isinstance(value, str) and value.startswith("d:") else value


def in_clickhouse(name):
    kind = kind_of(name)
    if kind in ("TEXT", "JSON", "ANY", "BLOB"):
        return f"concat('s:', lower(hex({name})))"
    if kind == "REAL":
        return f"concat('d:', leftPad(lower(hex(reinterpretAsUInt64({name}))), 16, '0'))"
    if kind.startswith("TIMESTAMP"):
        unit = {"S": "Milli", "MS": "Milli", "US": "Micro", "NS": "Nano"}[kind.rsplit("_", 1)[1]]
        return f"toString(toUnixTimestamp64{unit}({name}))"
    return name if kind == "BOOLEAN" else f"toString({name})"


def all_types_schema(path):
    """Types as DuckDB's parquet_schema names them: physical, repetition, logical."""
    units = {"TIMESTAMP_S": "MILLIS", "TIMESTAMP_MS": "MILLIS", "TIMESTAMP_US": "MICROS", "TIMESTAMP_NS": "NANOS"}
    layout = {"INTEGER": ("INT64", ""), "REAL": ("DOUBLE", ""), "TEXT": ("BYTE_ARRAY", "String"), "JSON": ("BYTE_ARRAY", "Json"),
              "ANY": ("BYTE_ARRAY", "String"), "BLOB": ("BYTE_ARRAY", ""), "BOOLEAN": ("BOOLEAN", "")}
    rows = duckdb(f"SELECT name, type, repetition_type, coalesce(logical_type, '') FROM parquet_schema('{path}')")[0][1:]
    required = {"since", "partition", "ingested_at", "n"}
    checks.equal("NOT NULL is REQUIRED, all else OPTIONAL", {row[0] for row in rows if row[2] == "REQUIRED"}, required)
    for name, kind, _, logical in rows:
        wanted = layout.get(kind_of(name))
        if wanted:
            checks.check(f"type of {name}", kind == wanted[0] and wanted[1].lower() in logical.lower() and (wanted[1] or not logical),
                         f"{kind} {logical}")
        else:
            unit = units[kind_of(name)]
            checks.check(f"type of {name}", kind == "INT64" and "isAdjustedToUTC=1" in logical and f"{unit}=<null>" not in logical
                         and logical.count("<null>") == 2, f"{kind} {logical}")


# ---- many rows: row groups, pages, statistics, size ----

LOGS = "since", "source", "ts", "level", "component", "body", "attrs"
TIMES = 5  # how often the sample's rows come, each time a day later
LEVEL = 3


def load_logs(database, times):
    with open("logs.ndjson", "wb") as into:
        subprocess.run(["zstd", "-dcq", str(DATA)], stdout=into, check=True)
    os.mkdir(f"logs{times}")
    sqlite(database, f"""
CREATE TABLE raw(line TEXT);
.mode ascii
.separator "\\037" "\\n"
.import logs.ndjson raw
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, ts TIMESTAMP_MS NOT NULL, level TEXT, component TEXT, body TEXT, attrs JSON);
INSERT INTO logs SELECT line->>'source', (line->>'ts') + day * 86400000, line->>'level', line->>'component', line->>'body',
  line->'attrs' FROM (SELECT value AS day FROM json_each('[{", ".join(map(str, range(times)))}]')) CROSS JOIN raw;
INSERT INTO tidemark_sink(sink, dataset, target, format, columns, options)
  VALUES('s', 'logs', 'file://{here}/logs{times}', 'parquet', '{json.dumps(LOGS)}', '{{"zstd_level":{LEVEL}}}');""")


def digest(database):
    """What hyparquet.mjs says of the same rows, from SQLite itself."""
    lines = sqlite(database, """
.mode list
.separator "\t"
SELECT since, 's:' || lower(hex(source)), ts, 's:' || lower(hex(level)), 's:' || lower(hex(component)), 's:' || lower(hex(body)),
  's:' || lower(hex(attrs)) FROM logs ORDER BY since;""")
    return hashlib.sha256(lines.encode()).hexdigest()


def copy_seconds(path):
    """DuckDB writes the rows itself: how long it takes, and the size."""
    copy = f"COPY t TO '{here}/duck.parquet' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL {LEVEL})"
    results = duckdb("SET threads=1", f"CREATE TABLE t AS SELECT * FROM '{path}'", "SELECT epoch_ms(get_current_timestamp())", copy,
                     "SELECT epoch_ms(get_current_timestamp())")
    return (int(results[4][0][0]) - int(results[2][0][0])) / 1000, os.path.getsize("duck.parquet")


def logs(times):
    database = f"logs{times}.db"
    load_logs(database, times)
    started = time.monotonic()
    sqlite(database, "SELECT tidemark_export('s');")
    ours = time.monotonic() - started
    [path] = exported(f"logs{times}", "logs")
    checks.equal(f"{times} x logs: every value in hyparquet", node("hyparquet.mjs", "digest", path), digest(database))
    if "chdb" in LARGE:
        sums = "count(), sum({length}(body)), sum({status}) FROM {source} WHERE level = 'info' AND since > 1000"
        theirs = node("chdb.mjs", "SELECT " + sums.format(
            length="length", status="JSONExtractInt(toString(attrs), 'status')", source=f"file('{path}')"))
        others = duckdb("SELECT " + sums.format(length="strlen", status="(attrs->>'status')::BIGINT", source=f"'{path}'"))
        checks.equal(f"{times} x logs: sums in ClickHouse", list(map(int, theirs[0])), list(map(int, others[0][0])))
    seconds, size = copy_seconds(path)
    ratio = os.path.getsize(path) / size
    checks.check(f"{times} x logs: {ratio:.2f} of the size of DuckDB's own file", ratio <= 1, f"{os.path.getsize(path)} against {size}")
    print(f"{times} x logs: {seconds / ours:.2f} of the rows a second of DuckDB's COPY from memory on one thread")
    return path


def statistics(path):
    """Of each row group, against the values in it."""
    columns = ", ".join(f"min({name})::VARCHAR, max({name})::VARCHAR, count(*) - count({name})" for name in ("since", "ts", "level"))
    groups, found, rows = duckdb(
        f"SELECT row_group_id, any_value(row_group_num_rows) FROM parquet_metadata('{path}') GROUP BY 1 ORDER BY 1",
        f"""SELECT row_group_id, path_in_schema, stats_min_value, stats_max_value, stats_null_count, min_is_exact, max_is_exact
            FROM parquet_metadata('{path}') WHERE path_in_schema IN ('since', 'ts', 'level') ORDER BY row_group_id, column_id""",
        f"SELECT count(*) FROM '{path}'")
    checks.check("there are several row groups", len(groups) > 1, groups)
    first = 0
    expected = []
    for group, count in groups:
        [values] = duckdb(f"""SELECT {columns} FROM read_parquet('{path}', file_row_number=true)
          WHERE file_row_number >= {first} AND file_row_number < {first + int(count)}""")[0]
        for at, name in enumerate(("since", "ts", "level")):
            expected.append([group, name, *values[at * 3:at * 3 + 3], True, True])
        first += int(count)
    checks.equal("row groups hold all rows", first, int(rows[0][0]))
    checks.equal("statistics of row groups are those of their values", found, expected)
    last = int(groups[0][1])
    counted = duckdb(*(f"SELECT count(*) FROM '{path}' WHERE since {test}" for test in (f"<= {last}", f"> {last}", f"= {last + 1}")))
    checks.equal("filters find what is on both sides of a row group's end", [int(count[0][0]) for count in counted],
                 [last, first - last, 1])


def page_indexes(path):
    found = node("hyparquet.mjs", "pages", path)
    checks.check("there are several pages", found["pages"] > 2 * len(LOGS), found["pages"])
    checks.equal("page indexes say what is in the pages", found["wrong"], [])


def added_column():
    """Two objects, the second with one column more, as one table."""
    os.mkdir("added")
    sqlite("added.db", f"""
CREATE VIRTUAL TABLE d USING tidemark(a INTEGER);
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES('s', 'd', 'file://{here}/added', 'parquet');
INSERT INTO d(a) VALUES (1), (2);
SELECT tidemark_export('s');
SELECT tidemark_add_column('d', 'b TEXT');
INSERT INTO d(a, b) VALUES (3, 'three');
SELECT tidemark_export('s');""")
    checks.equal("files from before and after a new column are one table",
                 duckdb(f"SELECT a, b FROM read_parquet('{here}/added/**/*.parquet', union_by_name=true) ORDER BY a")[0],
                 [["1", None], ["2", None], ["3", "three"]])


def metadata():
    os.mkdir("described")
    sqlite("described.db", f"""
CREATE VIRTUAL TABLE d USING tidemark(a INTEGER, p TEXT, partition_by=p);
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES('s', 'd', 'file://{here}/described', 'parquet');
INSERT INTO d VALUES (1, 'x'), (2, 'x');
SELECT tidemark_export('s');""")
    [path] = exported("described", "d")
    checks.equal("a partition is found by its folder and in the file",
                 duckdb(*(f"""SELECT p, sum(a)::BIGINT FROM read_parquet('{here}/described/**/*.parquet', hive_partitioning={hive})
                   WHERE p = 'x' GROUP BY p""" for hive in ("true", "false"))), [[["x", "3"]]] * 2)
    pairs = dict(duckdb(f"SELECT key::VARCHAR, value::VARCHAR FROM parquet_kv_metadata('{path}')")[0])
    log_id = pairs.pop("tidemark.log_id", "")
    checks.equal("the file says what it holds", pairs,
                 {"tidemark.dataset": "d", "tidemark.partition": "p=x", "tidemark.since": "0", "tidemark.until": "2",
                  "tidemark.schema_version": "2"})
    checks.check("and of which log", log_id and log_id in path, log_id)


all_types()
added_column()
metadata()
logs(1)
many = logs(TIMES)
statistics(many)
page_indexes(many)
checks.end()
