#!/usr/bin/python3
"""Holds what tidemark_metrics says, as Prometheus' client parses it, against plain SQL on the sinks' tables.

  parse.py [--shell SQLITE3] [--preload LIBRARY] MODULE GOLDEN.db
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError:
    print("skipped: it takes python3-prometheus-client")
    sys.exit(77)

HOSTILE = b'a"\\b\nc,} 1 # EOF \xc3\xa9\xff\xc3'
ODD = 'odd "name\\'
WRITE = r"""
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source, retention_rows=2);
CREATE VIRTUAL TABLE "odd ""name\" USING tidemark(n INTEGER);
INSERT INTO tidemark_sink(sink, dataset, target, format, filter)
  VALUES ('files', 'logs', 'file://@DIR@/archive', 'ndjson', 'body <> ''skip''');
INSERT INTO tidemark_sink(sink, dataset, hold) VALUES (CAST(x'@HOSTILE@' AS TEXT), 'logs', 0);
INSERT INTO logs VALUES ('web', 'one'), ('web', 'skip'), ('web', 'two'), ('db', 'three'), ('db', 'four');
SELECT tidemark_flush('logs');
SELECT tidemark_export('files');
SELECT tidemark_rewind('files', 'logs', 'source=db', 0, 'again');
SELECT tidemark_export('files');
INSERT INTO logs VALUES ('web', 'five'), ('web', 'six'), ('new', 'seven');
SELECT tidemark_prune('logs');
INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('lost', 'logs', 'file://@DIR@/gone', 'csv');
INSERT INTO logs VALUES ('web', 'eight'), ('web', 'nine'), ('web', 'ten');
SELECT tidemark_export('lost');
UPDATE tidemark_sink SET state = 'paused' WHERE sink = 'lost';
DELETE FROM tidemark_export_log WHERE id = (SELECT min(id) FROM tidemark_export_log WHERE partition = 'source=db');
DELETE FROM logs WHERE body = 'seven';
INSERT INTO "odd ""name\" VALUES (1), (2);
"""

# What the parts of a sample's name stand for in SQL.
BOTH = "(SELECT sink, dataset, %s n FROM tidemark_export_log UNION ALL SELECT sink, dataset, %s FROM tidemark_export_total)"
OF_LOG = {"batches": ("kind = 'batch'", "batches"), "exported_rows": ("iif(kind = 'batch', rows, 0)", "rows"),
          "skipped_rows": ("skipped", "skipped"), "dead_rows": ("dead", "dead"),
          "gap_rows": ("iif(kind = 'gap', rows, 0)", "gap_rows"),
          "rewound_rows": ("iif(kind = 'rewind', rows, 0)", "rewound_rows"), "exported_bytes": ("bytes", "bytes")}
OF_LAG = {"lag_rows": "total(rows)", "lag_bytes": "total(bytes)", "lag_partitions": "total(rows > 0)",
          "lag_worst_partition_rows": "max(rows)"}
OF_BATCH = {"open_batches": "count(b.batch)", "failing_batches": "count(b.error)",
            "batch_attempts": "coalesce(max(b.attempts), 0)"}
OF_STAT = {"rows": "rows", "written_rows_total": "written", "deleted_rows_total": "deleted", "segments": "segments",
           "tail_rows": "tail_rows", "raw_bytes": "raw_bytes", "stored_bytes": "stored_bytes"}


def of_sinks():
    for name, columns in OF_LOG.items():
        yield name + "_total", f"""SELECT s.sink, s.dataset, coalesce((SELECT sum(n) FROM {BOTH % columns} e
            WHERE e.sink = s.sink AND e.dataset = s.dataset), 0) FROM tidemark_sink s"""
    for name, what in OF_LAG.items():
        yield name, f"SELECT sink, dataset, {what} FROM tidemark_lag GROUP BY 1, 2"
    for name, what in OF_BATCH.items():
        yield name, f"""SELECT s.sink, s.dataset, {what} FROM tidemark_sink s
            LEFT JOIN tidemark_batch b USING (sink, dataset) GROUP BY 1, 2"""
    yield "last_commit_timestamp_seconds", """SELECT sink, dataset, max(committed_at) / 1000.0
        FROM tidemark_export_log WHERE kind = 'batch' GROUP BY 1, 2"""
    yield "next_try_timestamp_seconds", """SELECT sink, dataset, max(not_before) / 1000.0
        FROM tidemark_sink_count JOIN tidemark_sink_state USING (sink, dataset)
        WHERE not_before > 0 AND folder = place GROUP BY 1, 2"""
    yield "held_rows", """SELECT s.sink, s.dataset, coalesce(h.value ->> 'rows', 0) FROM tidemark_sink s
        LEFT JOIN json_each(tidemark_prune('logs', 'dry-run'), '$.held') h ON h.value ->> 'sink' = s.sink"""


def of_datasets():
    for name, column in OF_STAT.items():
        yield name, f"SELECT dataset, sum({column}) FROM tidemark_stat GROUP BY 1"
    yield "partitions", "SELECT dataset, partitions FROM tidemark_dataset"
    yield "pruned_rows_total", "SELECT dataset, pruned FROM tidemark_dataset"


class Shell:
    def __init__(self, arguments, folder):
        self.command = [arguments.shell, "-batch", "-bail", "-cmd", f".load '{arguments.module.resolve()}'"]
        self.folder = folder
        self.environment = dict(os.environ, HOME=folder, LC_ALL="C.UTF-8")
        if arguments.preload:
            self.environment["LD_PRELOAD"] = arguments.preload

    def run(self, sql, database="test.db"):
        done = subprocess.run([*self.command, database], input=sql.encode(), capture_output=True, cwd=self.folder,
                              env=self.environment, check=False)
        if done.returncode != 0 or done.stderr:
            sys.exit(f"{sql}\n{done.stderr.decode(errors='replace')}")
        return done.stdout.decode("utf-8")

    def figures(self, sql, labels):
        """The rows of a query: a number by the names before it."""
        names = ["a", "b"][:labels]
        found = self.run(f"WITH q({','.join(names)}, n) AS ({sql}) SELECT json_group_array(json_array("
                         f"{','.join(f'hex({name})' for name in names)}, n)) FROM q;")
        return {tuple(as_label(bytes.fromhex(name)) for name in row[:-1]): row[-1] for row in json.loads(found)}


def as_label(name):
    return name.decode("utf-8", "backslashreplace")


def parse(output):
    """Sample name -> labels of the order below, those that it has -> value."""
    found = {}
    for family in text_string_to_metric_families(output):
        for sample in family.samples:
            key = tuple(sample.labels[name] for name in ("sink", "dataset", "state", "error")
                        if name in sample.labels)
            found.setdefault(sample.name, {})[key] = sample.value
    return found


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found}, expected {wanted}")


def check_figures(shell):
    found = parse(shell.run("SELECT tidemark_metrics();"))
    for name, sql in of_sinks():
        expect(name, found.get("tidemark_sink_" + name, {}), shell.figures(sql, 2))
        if name not in ("dead_rows_total",) and not any(found["tidemark_sink_" + name].values()):
            sys.exit(f"tidemark_sink_{name} is 0 throughout, so that nothing is compared")
    for name, sql in of_datasets():
        expect(name, found["tidemark_dataset_" + name], shell.figures(sql, 1))
    states = sorted((key[0], key[2]) for key, value in found["tidemark_sink_state"].items() if value == 1)
    expect("states", states, [(as_label(HOSTILE), "active"), ("files", "active"), ("lost", "paused")])


def check_damage(shell):
    """A dataset whose tables say what cannot be has no figures, and the other has."""
    before = parse(shell.run("SELECT tidemark_metrics();"))
    shell.run(".dbconfig defensive off\nUPDATE logs_partition SET written = -1;")
    found = parse(shell.run("SELECT tidemark_metrics();"))
    expect("readable", found["tidemark_dataset_readable"], {("logs",): 0, (ODD,): 1})
    expect("rows", found["tidemark_dataset_rows"], {(ODD,): before["tidemark_dataset_rows"][(ODD,)]})
    expect("sinks", found.get("tidemark_sink_lag_rows"), None)
    ((dataset, message),) = found["tidemark_dataset_error_info"]
    expect("named", (dataset, "logs_partition" in message), ("logs", True))


def check_reading(shell, golden):
    """A file of the first Tidemark, read-only; and one schema of two."""
    copy = pathlib.Path(shell.folder, "golden.db")
    shutil.copy(golden, copy)
    found = parse(shell.run("SELECT tidemark_metrics();", "file:golden.db?mode=ro"))
    expect("readable", set(found["tidemark_dataset_readable"].values()), {1.0})
    expect("untouched", copy.read_bytes() == golden.read_bytes(), True)
    for which, wanted in (("", {"main", "aux"}), ("NULL", {"main", "aux"}), ("'aux'", {"aux"})):
        output = shell.run(f"ATTACH 'golden.db' AS aux; SELECT tidemark_metrics({which});")
        schemas = {sample.labels.get("schema") for family in text_string_to_metric_families(output)
                   for sample in family.samples}
        expect("schemas", schemas - {None}, wanted)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shell", default="sqlite3")
    parser.add_argument("--preload", help="a library for the shell's LD_PRELOAD: the sanitizer's")
    parser.add_argument("module", type=pathlib.Path)
    parser.add_argument("golden", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tidemark.") as folder:
        os.mkdir(folder + "/archive")
        shell = Shell(arguments, folder)
        shell.run(WRITE.replace("@DIR@", folder).replace("@HOSTILE@", HOSTILE.hex()))
        check_figures(shell)
        check_reading(shell, arguments.golden)
        check_damage(shell)


if __name__ == "__main__":
    main()
