#!/usr/bin/env python3
"""CSV and iso timestamps as Python's csv, json and datetime read them, against what SQL says:  csv_read.py MODULE"""
import base64
import csv
import datetime
import glob
import io
import json
import struct
import subprocess

import archive

SETUP = r"""
CREATE VIRTUAL TABLE logs USING tidemark(
  source TEXT, s TIMESTAMP_S, ms TIMESTAMP_MS, us TIMESTAMP_US, ns TIMESTAMP_NS, ok BOOLEAN, value REAL, body TEXT,
  attrs JSON, data BLOB, partition_by=source);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
INSERT INTO logs
  SELECT CASE i % 3 WHEN 0 THEN 'a,b' WHEN 1 THEN NULL ELSE 'web' END, t, t * 1000 + i % 1000, t * 1000000 + i * 331,
    CASE WHEN abs(t) < 9000000000 THEN t * 1000000000 + i * 331777 END, i % 2,
    CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN 1e300 / i WHEN 2 THEN i ELSE i / 7.0 - 100 END,
    CASE i % 9 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'say "hi", ' || i WHEN 3 THEN char(13, 10) || i
      WHEN 4 THEN ' ' WHEN 5 THEN char(13) WHEN 6 THEN '"' WHEN 7 THEN 'é 🌊,' ELSE 'plain ' || i END,
    CASE i % 4 WHEN 0 THEN NULL ELSE json_object('i', i, 'text', 'a, b') END,
    CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN x'' ELSE randomblob(i % 40) END
  FROM (SELECT i, (i - 1500) * 41300017 AS t FROM n);
INSERT INTO tidemark_sink(sink, dataset, target, format, options, columns) VALUES
  ('plain', 'logs', 'file://@DIR@/plain', 'csv', NULL, NULL),
  ('iso', 'logs', 'file://@DIR@/iso', 'csv.zst', '{"iso":true}', '["since","partition","s","ms","us","ns"]'),
  ('lines', 'logs', 'file://@DIR@/lines', 'ndjson', '{"iso":true}', '["since","partition","s","ms","us","ns"]');
"""
# Numbers as their bits: the shell's JSON has 15 digits.
ROWS = """SELECT json_array(source, s, ms, us, ns, ok,
    CASE WHEN value IS NOT NULL THEN hex(ieee754_to_blob(value)) END, body, attrs,
    CASE WHEN data IS NOT NULL THEN hex(data) END) FROM logs WHERE partition = '{}' ORDER BY since;"""
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def objects(database, folder):
    return sorted(glob.glob(f"{database.home}/{folder}/logs/**/*.*", recursive=True))


def parse(text):
    """The rows of CSV bytes. Python's reader gives '' for an empty field and for "" alike: what is NULL, and what the
    empty text, is read from the bytes by a reader of its own below."""
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def fields(text):
    """RFC 4180 by hand: a list of rows whose fields are None when nothing stands there."""
    rows, row, at = [], [], 0
    while at < len(text):
        value = None
        if text[at] == '"':
            value = ""
            while True:
                end = text.index('"', at + 1)
                value += text[at + 1:end]
                at = end + 1
                if text[at:at + 1] != '"':
                    break
                value += '"'
        else:
            end = at
            while text[end] not in ",\r":
                end += 1
            value = text[at:end] if end > at else None
            at = end
        row.append(value)
        if text[at] == ",":
            at += 1
        else:
            assert text[at:at + 2] == "\r\n", text[at:at + 20]
            at += 2
            rows.append(row)
            row = []
    assert not row
    return rows


def check_values(database):
    seen = 0
    for name in objects(database, "plain"):
        with open(name, "rb") as file:
            text = file.read().decode()
        found = fields(text)
        assert [[value or "" for value in row] for row in found] == parse(text), name
        assert found[0] == ["source", "s", "ms", "us", "ns", "ok", "value", "body", "attrs", "data"]
        wanted = database.rows(ROWS.format(name.split("/")[-2]))
        assert len(found) == len(wanted) + 1, name
        for row, want in zip(found[1:], wanted):
            source, s, ms, us, ns, ok, value, body, attrs, data = want
            assert row[0] == source and row[7] == body and row[8] == attrs, (row, want)
            assert [number and int(number) for number in row[1:5]] == [s, ms, us, ns]
            assert row[5] == ("true" if ok else "false")
            bits = struct.pack(">d", float(row[6])).hex().upper() if row[6] is not None else None
            assert bits == value, (row, want)
            assert row[9] is None if data is None else base64.b64decode(row[9], validate=True).hex().upper() == data
            seen += 1
    assert seen == 3000, seen


def check_time(text, value, digits):
    """A text against the integer it stands for."""
    scale = 10 ** digits
    seconds, fraction = divmod(value, scale)
    if not -62135596800 <= seconds < 253402300800:  # datetime knows the years 1 to 9999
        return
    moment = (EPOCH + datetime.timedelta(seconds=seconds)).replace(tzinfo=None)
    wanted = moment.isoformat(timespec="seconds") + (f".{fraction:0{digits}d}" if digits else "") + "Z"
    assert text == wanted, (text, wanted)


def check_iso(database):
    times = {}
    for since, *values in database.rows("SELECT json_array(since, s, ms, us, ns) FROM logs;"):
        times[since] = values
    found = []
    for name in objects(database, "iso"):
        plain = subprocess.run(["zstd", "-dcq", name], stdout=subprocess.PIPE, check=True).stdout.decode()
        found += [[int(row[0])] + row[2:] for row in fields(plain)[1:]]
    for name in objects(database, "lines"):
        with open(name, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        found += [[row[column] for column in ("since", "s", "ms", "us", "ns")] for row in rows]
    assert len(found) == 2 * len(times) == 6000
    for since, *texts in found:
        for text, value, digits in zip(texts, times[since], (0, 3, 6, 9)):
            assert (text is None) == (value is None)
            if value is not None:
                check_time(text, value, digits)


def check(database):
    database.run(".system mkdir plain iso lines\n" + SETUP.replace("@DIR@", database.home))
    exported = database.rows("SELECT tidemark_export();")
    assert "error" not in str(exported), exported
    check_values(database)
    check_iso(database)


if __name__ == "__main__":
    archive.main(check)
