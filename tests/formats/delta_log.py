#!/usr/bin/env python3
"""A Delta table's log replayed as delta-io/delta's PROTOCOL.md says, against what SQL says:  delta_log.py MODULE

Every commit's actions, the files that they name, what they say of the files, and where the table's own pointer goes.
The rows in the files and the checkpoints need readers of Parquet: tests/interop/delta.py.
"""
import json
import os
import re
import urllib.parse

import archive

SETUP = r"""
CREATE VIRTUAL TABLE logs USING tidemark(
  source TEXT, day TIMESTAMP_S, ok BOOLEAN, ms TIMESTAMP_MS NOT NULL, ns TIMESTAMP_NS, n INTEGER, x REAL, body TEXT,
  attrs JSON, data BLOB, any ANY, partition_by=(source, day, ok));
INSERT INTO tidemark_sink(sink, dataset, target, format, options, columns, max_rows) VALUES
  ('lake', 'logs', 'file://@DIR@/lake', 'parquet', '{"table":"delta"}',
   '["since","partition","ingested_at","source","day","ok","ms","ns","n","x","body","attrs","data","any"]', 3);
"""
ROWS = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 24)
INSERT INTO logs(source, day, ok, ms, n)
  SELECT CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN 'a/b %c' WHEN 2 THEN '__HIVE_DEFAULT_PARTITION__' ELSE 'é' END,
    CASE i % 3 WHEN 0 THEN NULL ELSE (i % 3) * 86400 - 1 END, i % 2, i, i FROM n;
"""
TYPES = {"since": "long", "partition": "string", "ingested_at": "timestamp", "source": "string", "day": "timestamp",
         "ok": "boolean", "ms": "timestamp", "ns": "long", "n": "long", "x": "double", "body": "string",
         "attrs": "string", "data": "binary", "any": "string"}
DAYS = {None: None, 86399: "1970-01-01T23:59:59.000000Z", 172799: "1970-01-02T23:59:59.000000Z"}


class Table:
    """A table's state, and the versions that made it."""

    def __init__(self, folder):
        self.folder = folder
        self.adds, self.txns, self.protocol, self.meta = {}, {}, None, None
        names = sorted(name for name in os.listdir(f"{folder}/_delta_log") if re.fullmatch(r"\d{20}\.json", name))
        assert names == [f"{version:020d}.json" for version in range(len(names))], names
        self.versions = len(names)
        for name in names:
            with open(f"{folder}/_delta_log/{name}", encoding="utf-8") as file:
                self.commit([json.loads(line) for line in file])

    def commit(self, actions):
        kinds = [kind for action in actions for kind in action]
        assert len(kinds) == len(actions), "an action a line"
        assert re.fullmatch(r"Tidemark/\d+\.\d+\.\d+", actions[0]["commitInfo"]["engineInfo"])
        for kind in ("commitInfo", "metaData", "protocol", "add", "txn"):
            assert kinds.count(kind) <= 1, kinds
        for action in actions:
            (kind, value), = action.items()
            if kind == "add":
                assert value["path"] not in self.adds, "a file is added once"
                self.adds[value["path"]] = value
            elif kind == "txn":
                assert self.txns.get(value["appId"], 0) < value["version"]
                self.txns[value["appId"]] = value["version"]
            elif kind == "metaData":
                self.meta = value
            elif kind == "protocol":
                self.protocol = value
            else:
                assert kind == "commitInfo", kind


def check_schema(table, added):
    schema = json.loads(table.meta["schemaString"])
    assert schema["type"] == "struct"
    found = [(field["name"], field["type"]) for field in schema["fields"]]
    assert found == list({**TYPES, **added}.items()), found
    assert all(field["nullable"] is True and field["metadata"] == {} for field in schema["fields"])
    assert table.meta["partitionColumns"] == ["source", "day", "ok"]
    assert table.meta["format"] == {"provider": "parquet", "options": {}}
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", table.meta["id"])
    assert table.protocol == {"minReaderVersion": 1, "minWriterVersion": 2}


def check_files(database, table):
    """Each add is a batch of the export log, and its values are the partition's."""
    batches = {}
    for partition, until, rows, size, obj in database.rows(
            "SELECT json_array(partition, until, rows, bytes, object) FROM tidemark_export_log;"):
        batches[obj] = (partition, until, rows, size)
    found = {"logs/" + urllib.parse.unquote(path): add for path, add in table.adds.items()}
    assert found.keys() == batches.keys(), found.keys() ^ batches.keys()
    values = {partition: {"source": source, "day": DAYS[day], "ok": "true" if ok else "false"}
              for partition, source, day, ok in
              database.rows("SELECT DISTINCT json_array(partition, source, day, ok) FROM logs;")}
    for name, add in found.items():
        partition, _, rows, size = batches[name]
        assert add["partitionValues"] == values[partition], (add, values[partition])
        assert add["size"] == size == os.path.getsize(f"{database.home}/lake/{name}")
        assert add["dataChange"] is True and add["modificationTime"] > 1_600_000_000_000
        assert json.loads(add["stats"])["numRecords"] == rows
    untils = {}
    for partition, until, _, _ in batches.values():
        untils[partition] = max(until, untils.get(partition, 0))
    log_id, = database.rows("SELECT json_array(log_id) FROM tidemark_dataset;")[0]
    assert table.txns == {f"{log_id}/lake/{partition}/0": until for partition, until in untils.items()}


def check_bounds(database, table):
    """What the statistics say lies in a file, which readers pass over when it cannot hold what they look for."""
    for obj, *bounds in database.rows("""SELECT json_array(object, min(l.since), max(l.since), min(ms), max(ms), min(n),
        max(n), count(*) - count(ns)) FROM tidemark_export_log e CROSS JOIN logs l ON l.partition = e.partition
        AND l.since > e.since AND l.since <= e.until GROUP BY object;"""):
        stats = json.loads(table.adds[urllib.parse.quote(obj.split("/", 1)[1], safe="/=~")]["stats"])
        least, greatest = stats["minValues"], stats["maxValues"]
        found = [least["since"], greatest["since"], least["ms"], greatest["ms"], least["n"], greatest["n"]]
        bounds[2:4] = [f"1970-01-01T00:00:00.{ms:03d}Z" for ms in bounds[2:4]]
        assert found == bounds[:6], (stats, bounds)
        assert stats["nullCount"]["ns"] == bounds[6] and not {"source", "day", "ok"} & stats["nullCount"].keys(), stats


def check_pointer(table):
    with open(f"{table.folder}/_delta_log/_last_checkpoint", encoding="utf-8") as file:
        pointer = json.load(file)
    version = pointer["version"]
    assert 0 <= table.versions - 1 - version < 10, (pointer, table.versions)
    assert pointer["numOfAddFiles"] == version + 1
    name = f"{table.folder}/_delta_log/{version:020d}.checkpoint.parquet"
    assert pointer["sizeInBytes"] == os.path.getsize(name)


def export(database):
    exported = database.rows("SELECT tidemark_export('lake', 'now');")[0]
    assert exported["failed"] == 0 and not exported["more"], exported


def check(database):
    database.run(".system mkdir lake\n" + SETUP.replace("@DIR@", database.home) + ROWS)
    export(database)
    table = Table(f"{database.home}/lake/logs")
    check_schema(table, {})
    check_files(database, table)
    check_bounds(database, table)
    check_pointer(table)
    database.run("SELECT tidemark_add_column('logs', 'trace TEXT');" + ROWS +
                 "UPDATE tidemark_sink SET columns = json_insert(columns, '$[#]', 'trace');")
    export(database)
    table = Table(f"{database.home}/lake/logs")
    check_schema(table, {"trace": "string"})
    check_files(database, table)
    check_pointer(table)
    database.run("SELECT tidemark_rewind('lake', 'logs', partition, 0, 'again') FROM tidemark_watermark LIMIT 1;")
    export(database)
    assert Table(f"{database.home}/lake/logs").versions == table.versions
    check_schema(Table(f"{database.home}/lake/logs.g1"), {"trace": "string"})


if __name__ == "__main__":
    archive.main(check)
