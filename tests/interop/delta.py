"""The option table=delta: checkpoints as hyparquet reads them against the commits, the files that the log names as
DuckDB reads them, and, when ClickHouse is asked for ("chdb"), the table as delta-kernel-rs in it does, against SQL.
(DuckDB's own reader of Delta tables is an extension that it fetches from a host of its own, and is not looked at.)"""
import glob
import json
import os
import urllib.parse

from readers import LARGE, Checks, node, sqlite

checks = Checks()
here = os.getcwd()
COLUMNS = ["since", "source", "day", "ok", "s", "ms", "us", "ns", "n", "x", "body", "attrs", "data", "any"]
TIMES = {"day": 1000000, "s": 1000000, "ms": 1000, "us": 1}  # microseconds of one


def setup():
    os.mkdir("lake")
    sqlite("d.db", f"""
CREATE VIRTUAL TABLE d USING tidemark(source TEXT, day TIMESTAMP_S, ok BOOLEAN, s TIMESTAMP_S, ms TIMESTAMP_MS NOT NULL,
  us TIMESTAMP_US, ns TIMESTAMP_NS, n INTEGER, x REAL, body TEXT, attrs JSON, data BLOB, any ANY,
  partition_by=(source, day, ok));
INSERT INTO tidemark_sink(sink, dataset, target, format, options, columns, max_rows)
  VALUES('lake', 'd', 'file://{here}/lake', 'parquet', '{{"table":"delta"}}', '{json.dumps(COLUMNS)}', 7);""")


def insert(rows, extra=""):
    sqlite("d.db", f"""
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < {rows})
INSERT INTO d(source, day, ok, s, ms, us, ns, n, x, body, attrs, data, any{', trace' if extra else ''})
  SELECT CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN 'a/b %41+c' WHEN 2 THEN '__HIVE_DEFAULT_PARTITION__'
      WHEN 3 THEN 'é=?#' ELSE 'web' END,
    CASE i % 2 WHEN 0 THEN NULL ELSE -86401 END, nullif(i % 3, 2), nullif(i % 4 * 1000 - 1, 999),
    i * 86400000 - 86400001, i - 5, i * 1000000001,
    CASE i % 3 WHEN 0 THEN NULL WHEN 1 THEN 9223372036854775807 - i ELSE -i END,
    CASE i % 4 WHEN 0 THEN NULL ELSE i / 8.0 - 3 END,
    CASE i % 6 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE 'text é ' || i END, json_object('i', i),
    CASE i % 3 WHEN 0 THEN x'' WHEN 1 THEN x'00ff' END, CASE i % 2 WHEN 0 THEN i ELSE 'x"' || i END
    {extra} FROM c;""")


def export():
    exported = json.loads(sqlite("d.db", "SELECT tidemark_export('lake', 'now');"))
    good = exported["failed"] == 0 and not exported["more"] and exported["altered"] == 0
    checks.check("all is exported", good, exported)


def rows_of_sql(columns):
    """Every value as text, timestamps as microseconds; ANY is JSON."""
    values = []
    for column in columns:
        if column in TIMES:
            values.append(f"({column} * {TIMES[column]}) || ''")
        elif column == "x":
            values.append("CASE WHEN x IS NOT NULL THEN format('%.3f', x) END")
        elif column == "data":
            values.append("CASE WHEN data IS NOT NULL THEN hex(data) END")
        elif column == "any":
            values.append("CASE WHEN any IS NOT NULL THEN json_quote(any) || '' END")
        else:
            values.append(f"{column} || ''")
    lines = sqlite("d.db", f"SELECT json_array({', '.join(values)}) FROM d ORDER BY since;").splitlines()
    rows = [json.loads(line) for line in lines]
    for row in rows:
        ok = columns.index("ok")
        row[ok] = row[ok] and {"0": "false", "1": "true"}[row[ok]]
    return rows


def commits():
    actions = []
    for name in sorted(glob.glob("lake/d/_delta_log/*.json")):
        with open(name, encoding="utf-8") as file:
            actions.append([json.loads(line) for line in file])
    return actions


def state_at(version):
    """What the commits up to a version come to."""
    adds, txns, rest = {}, {}, {}
    for actions in commits()[:version + 1]:
        for action in actions:
            (kind, value), = action.items()
            if kind == "add":
                adds[value["path"]] = value
            elif kind == "txn":
                txns[value["appId"]] = value
            elif kind != "commitInfo":
                rest[kind] = value
    return adds, txns, rest


def without_nulls(value):
    return {key: without_nulls(item) if isinstance(item, dict) and key != "partitionValues" else item
            for key, item in value.items() if item is not None}


def check_checkpoints():
    names = sorted(glob.glob("lake/d/_delta_log/*.checkpoint.parquet"))
    checks.check("there are checkpoints", len(names) > 1, names)
    for name in names:
        adds, txns, rest = state_at(int(os.path.basename(name)[:20]))
        rows = node("checkpoint.mjs", f"{here}/{name}")
        actions = [without_nulls(row) for row in rows]
        checks.check("a row of a checkpoint is one action", all(len(action) == 1 for action in actions), actions)
        found = {"add": {}, "txn": {}}
        for action in actions:
            (kind, value), = action.items()
            if kind == "add":
                found["add"][value["path"]] = value
            elif kind == "txn":
                found["txn"][value["appId"]] = value
            else:
                found[kind] = value
        checks.equal("a checkpoint has as many rows as the state", len(rows), len(adds) + len(txns) + 2)
        checks.equal("files of a checkpoint", found.pop("add"), adds)
        checks.equal("txns of a checkpoint", found.pop("txn"), txns)
        checks.equal("protocol and metaData of a checkpoint", found, rest)


def in_duckdb(column):
    if column in TIMES:
        return f"epoch_us({column})::VARCHAR"
    if column == "x":
        return "format('{:.3f}', x)"
    return "hex(data)" if column == "data" else f'"{column}"::VARCHAR'


def check_duckdb(columns):
    files = [f"{here}/lake/d/{urllib.parse.unquote(path)}" for path in state_at(10**6)[0]]
    listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    found = node("duckdb.mjs", json.dumps([f"""SELECT {', '.join(map(in_duckdb, columns))} FROM read_parquet([{listed}],
      hive_partitioning=false, union_by_name=true) ORDER BY since"""]))[0]
    expected = rows_of_sql(columns)
    checks.equal("the files of the log in DuckDB", found, expected)


def in_clickhouse(column):
    if column in TIMES:
        return f"toString(toUnixTimestamp64Micro({column}))"
    if column == "x":
        return "if(x IS NULL, NULL, printf('%.3f', assumeNotNull(x)))"
    return "hex(data)" if column == "data" else f"toString({column})"


def clickhouse(columns, where=""):
    return node("chdb.mjs", f"""SELECT {', '.join(map(in_clickhouse, columns))}
      FROM deltaLakeLocal('{here}/lake/d') {where} ORDER BY since""")


def check_clickhouse(columns):
    expected = rows_of_sql(columns)
    checks.equal("the table in ClickHouse", clickhouse(columns), expected)
    at = columns.index("source")
    for text in ("a/b %41+c", "é=?#", "__HIVE_DEFAULT_PARTITION__"):
        checks.equal(f"its partition {text}", clickhouse(columns, f"WHERE source = '{text}'"),
                     [row for row in expected if row[at] == text])
    checks.equal("its partition of NULL", clickhouse(columns, "WHERE source IS NULL AND NOT ok"),
                 [row for row in expected if row[at] is None and row[columns.index("ok")] == "false"])
    for name in ("ms", "us", "ns", "n", "since"):
        number = columns.index(name)
        middle = next(row[number] for row in expected[len(expected) // 2:] if row[number] is not None)
        bound = f"fromUnixTimestamp64Micro({middle}, 'UTC')" if name in TIMES else middle
        for sign, keep in ((">", lambda value: value > int(middle)), ("<=", lambda value: value <= int(middle))):
            checks.equal(f"its rows with {name} {sign} {middle}", clickhouse(columns, f"WHERE {name} {sign} {bound}"),
                         [row for row in expected if row[number] is not None and keep(int(row[number]))])


setup()
insert(60)
export()
insert(40)
export()
check_checkpoints()
check_duckdb(COLUMNS)
if "chdb" in LARGE:
    check_clickhouse(COLUMNS)
sqlite("d.db", """SELECT tidemark_add_column('d', 'trace TEXT');
UPDATE tidemark_sink SET columns = json_insert(columns, '$[#]', 'trace');""")
insert(30, ", 'trace ' || i")
export()
check_checkpoints()
check_duckdb([*COLUMNS, "trace"])
if "chdb" in LARGE:
    check_clickhouse([*COLUMNS, "trace"])
checks.end()
