#!/usr/bin/env python3
"""The scripts of sql/, run as people run them, through the stock shell.

  test_scripts.py [--shell PATH] [--preload LIBRARY] MODULE CLOCK

What they say is held against tables that any SQLite reads (sqlite3 of Python, without the extension), against what was
written, and against the files that left.
"""
import argparse
import pathlib
import re
import sqlite3
import tempfile
import unicodedata

import world
from page import Page

FAILED = []


def check(condition, what, *seen):
    if not condition:
        FAILED.append(what)
        print(f"FAILED: {what}", *seen, sep="\n  ")


def said(done):
    return done.stdout.decode() + done.stderr.decode()


def expect(done, status, what, *words):
    text = said(done)
    check(done.returncode == status, f"{what}: status {done.returncode} instead of {status}", text)
    for word in words:
        check(word in text, f"{what}: {word!r} is not said", text)
    return text


def width(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def check_width(done, what):
    for line in done.stdout.decode().splitlines():
        check(width(line) <= 80, f"{what}: a line of {width(line)} columns", line)
        check(not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e]", line), f"{what}: a control character", repr(line))


def check_page(done, what):
    check(done.returncode == 0, f"{what}: status {done.returncode}", said(done))
    page = Page(done.stdout)
    check(not page.errors, f"{what}: {page.errors[:5]}")
    check(page.unscoped == 0, f"{what}: a table header without scope")
    check(len(set(page.svg.values())) == 1, f"{what}: an SVG without role, title or description", page.svg)
    check(not re.search(rb"(?i)<script|href=|src=|@import|url\(", done.stdout), f"{what}: something from elsewhere")
    return page


def the_way_in(shell):
    """From nothing to an archive, and each way of getting it wrong."""
    expect(shell.run("in.db", "install"), 1, "no extension", "tidemark was not found", "@extension")
    expect(shell.script("in.db", "tick"), 0, "tick of nothing", "install.sql")
    expect(shell.script("in.db", "maintain"), 0, "maintain nothing", "install.sql")
    expect(shell.script("in.db", "verify"), 0, "verify nothing", "no sink has shipped")
    expect(shell.script("in.db", "status"), 0, "status of nothing", "install.sql")
    check(not (shell.folder / "in.db").read_bytes(), "scripts that read wrote to an empty database")
    expect(shell.script("in.db", "install", ".param set @folder archives"), 1, "a relative folder", "absolute path")
    for name in ("install", "tick", "maintain", "verify", "status", "report"):
        expect(shell.script("in.db", name, ".param set @snik 1"), 1, f"{name} with a typo",
               f"{name}.sql knows the parameters")
    check(not (shell.folder / "in.db").read_bytes(), "a refused install wrote")
    first = expect(shell.script("in.db", "install", ".param set @keep '7 days'"), 0, "install",
                   f"{shell.folder}/archive")
    again = expect(shell.run("in.db", "install", f".load {shell.module}"), 0, "install again")
    check(again == re.sub("rows stay for.*\n", "", first), "install again says something else", first, again)
    with sqlite3.connect(shell.folder / "in.db") as db:
        sinks = db.execute("SELECT sink, format FROM tidemark_sink").fetchall()
        check(sinks == [("archive", "ndjson.zst")], "install makes one sink", sinks)
        keep, = db.execute("SELECT value FROM logs_config WHERE key = 'retention_age'").fetchone()
        check(keep == 7 * 86400000, "@keep is kept", keep)
    ticking(shell)


def ticking(shell):
    shell.make("in.db", "INSERT INTO logs(source, ts, body) VALUES ('web', 1, 'a'), ('db', 2, 'b');")
    expect(shell.script("in.db", "status"), 0, "status", "archive")
    expect(shell.script("in.db", "tick"), 1, "tick without its folder", "1 FAILED", "does not exist",
           "batch 1 of archive")
    expect(shell.script("in.db", "tick"), 1, "tick that waits", "nothing shipped, 2 partitions wait",
           "batch 1 of archive")
    (shell.folder / "archive").mkdir()
    expect(shell.script("in.db", "tick", ".param set @now 1"), 0, "tick", "archive (logs): 2 rows and", "2 batches")
    expect(shell.script("in.db", "tick", ".param set @sink archive"), 0, "idle tick",
           "archive (logs): nothing shipped\n")
    expect(shell.script("in.db", "tick", ".param set @sink archiv"), 1, "tick of another", "no such sink: archiv")
    expect(shell.script("in.db", "verify"), 0, "verify", "archive: 2 objects", "all there")
    for name in ("tick", "verify", "maintain"):
        done = shell.script("in.db", name, ".param set @quiet 1")
        check((done.returncode, said(done)) == (0, ""), f"{name}: not quiet when all is well", said(done))
    files = sorted((shell.folder / "archive" / "logs").rglob("*.zst"))
    check(len(files) == 2, "two files", files)
    files[0].unlink()
    expect(shell.script("in.db", "verify"), 1, "verify what was lost", "1 MISSING", files[0].name)
    expect(shell.script("in.db", "verify", ".param set @quiet 1"), 1, "verify it quietly", "1 MISSING", files[0].name)
    expect(shell.script("in.db", "maintain"), 0, "maintain", "logs: now 2 rows, 0 of them in the tail")
    expect(shell.script("in.db", "maintain", ".param set @dataset lgos"), 1, "maintain another",
           "no such dataset: lgos")
    shell.make("in.db", "UPDATE tidemark_sink SET state = 'diverged';")
    for quiet in ("0", "1"):
        expect(shell.script("in.db", "tick", f".param set @quiet {quiet}"), 1, "tick of a diverged sink", "DIVERGED",
               "tidemark_fork")
    expect(shell.script("in.db", "status"), 0, "status of it", "diverged", "tidemark_fork")
    page = check_page(shell.script("in.db", "report"), "report of it")
    check("tidemark_fork('archive')" in page.text, "report: no remedy for a diverged sink", page.text)


def damage(shell):
    """A partition that cannot be read keeps no other from its housekeeping, and is told."""
    shell.make("torn.db", "CREATE VIRTUAL TABLE logs USING tidemark(k TEXT, body TEXT, partition_by=k,"
                          " retention_rows=1);"
                          "INSERT INTO logs VALUES ('a', 'x'), ('a', 'x'), ('b', 'x'), ('b', 'x');"
                          "SELECT tidemark_flush('logs') IS NULL;")
    with sqlite3.connect(shell.folder / "torn.db") as db:
        db.execute("UPDATE logs_chunk SET data = zeroblob(length(data)) WHERE id ="
                   " (SELECT chunk FROM logs_segment LIMIT 1)")
    expect(shell.script("torn.db", "maintain"), 1, "maintain", "pruned 1 rows", "could not be pruned: k=a: ")
    for name in ("status", "report"):
        expect(shell.script("torn.db", name), 1, f"{name} of damage", "dataset logs, segment of partition 'k=a'")


def lag_is_right(page, sink, ticks):
    """The lag of a bar is at most the true one, and is it where a tick of archive has just seen how much there is."""
    article = page[page.index(f"<h3>{sink} "):].split("</article>")[0]
    most = re.search(r"most ([\d,]+)</span></figcaption>\n<svg[^>]*><title>Rows waiting", article)[1]
    most = int(most.replace(",", ""))
    points = re.search(r'<polygon class="lag" points="5,100 (.*) 595,100"', article)[1].split()
    for bar, point in enumerate(points):
        shown = (100 - float(point.split(",")[1])) * most / 96
        end = 30 + bar / 2 + 1  # in days: from noon of the 30th day, half a day each
        last = max(day for day in ticks if day + 10 / 24 <= end)
        true = sum(world.rows_of(day) for day in range(last + 1, world.DAYS) if day + 9 / 24 <= end)
        near = abs(shown - true) <= most / 900 + 0.1
        exact = end % 1 == 0.5 and int(end) % 2 == 0 or bar == 59
        check(near if exact else shown <= true + most / 900 + 0.1, f"report: lag of {sink}, bar {bar}", shown, true)


def months(shell):
    """status and report against the export log as any client reads it, and what was written."""
    database = world.months(shell)
    status = shell.script(database, "status")
    text = expect(status, 0, "status of months", "does not exist", "HELD past retention", "and 14 more")
    lines = re.findall("^.{18} source=", text.split("BEHIND")[1].split("HELD")[0], re.M)
    check(len(lines) == 10, "status: ten lines of those behind", text)
    check_width(status, "status of months")
    report = shell.script(database, "report")
    page = check_page(report, "report of months")
    lag_is_right(report.stdout.decode(), "lake", [day for day in range(40) if day % 9 == 0])
    lag_is_right(report.stdout.decode(), "archive", [day for day in range(world.DAYS) if day % 2 == 0])
    written = sum(map(world.rows_of, range(world.DAYS)))
    with sqlite3.connect(shell.folder / database) as db:
        # the log of the last 30 days, and the sums of what housekeeping took from it
        had = {sink: (all_of_it, shown) for sink, all_of_it, shown in db.execute("""
            SELECT sink, sum(rows), sum(iif(at >= ?, rows, 0)) FROM (
              SELECT sink, rows, committed_at AS at FROM tidemark_export_log
              UNION ALL SELECT sink, rows, 0 FROM tidemark_export_total) GROUP BY 1
            """, (world.START + 30 * world.DAY + world.DAY // 2,))}
        chunks, = db.execute("SELECT sum(length(data)) FROM logs_chunk").fetchone()
        newest = db.execute("SELECT partition, rows FROM tidemark_export_log ORDER BY id DESC LIMIT 20").fetchall()
    check(sorted(had) == ["archive", "lake"], "who has had rows", had)
    for sink, (all_of_it, shown) in had.items():
        behind = written - all_of_it
        check(re.search(rf"^{sink} +logs +active +{behind} ", text, re.M), f"status: {sink}, {behind} behind", text)
        check(f"{sink} active logs" in page.text, f"report: {sink}")
        check(f"Behind by {behind:,} rows" in page.text, f"report: {sink}, {behind} behind", page.text)
        check(f"delivered: {shown:,} rows" in page.text, f"report: {sink} had {shown} in 30 days", page.text)
    check(re.search(rf"^logs +{written} ", text, re.M), f"status: {written} rows", text)
    for words in ("batch", "Rows wait for sink daily for 60.1 days", "are kept past their retention by"):
        check(words in page.text.replace("Batch", "batch"), f"report: {words}", page.text)
    shown = page.rows["Last deliveries"][1:]
    check([(row[2], int(row[3])) for row in shown] == newest, "report: the last deliveries", shown, newest)
    share = sum(float(row[4].rstrip(" %")) for row in page.rows["Columns"][1:])
    check(chunks > 0 and abs(share - 100) < 0.5, "report: columns are all that is stored", share)


def hostile(shell):
    database = world.hostile(shell)
    status = shell.script(database, "status")
    expect(status, 0, "status of hostile names", "<b onload=x>")
    check_width(status, "status of hostile names")
    page = check_page(shell.script(database, "report"), "report of hostile names")
    shown = re.sub("[\x1b\x9b\u202e]", "\ufffd", world.HOSTILE)
    for text in (f"{shown} active a \"<i>' & log → file:///nowhere/<b>&\"', ndjson", shown + "folder", "漢" * 199,
                 "<u>col"):
        check(text in page.text, f"report: {text!r} is not shown as it is", page.text)
    done = shell.script(database, "tick")
    check(b"\x1b" not in done.stdout and b"\xc2\x9b" not in done.stdout, "tick: an escape reaches the terminal", done)


def losses(shell):
    """Rows that a sink never had, rows taken back, rows refused: each is counted, with its remedy."""
    (shell.folder / "to").mkdir()
    shell.make("lost.db", f"""
      CREATE VIRTUAL TABLE logs USING tidemark(k TEXT, body TEXT, partition_by=k, retention_rows=1);
      INSERT INTO tidemark_sink(sink, dataset, target, format, hold)
        VALUES ('late', 'logs', 'file://{shell.folder}/to', 'csv', 0);
      INSERT INTO logs VALUES ('a', '1'), ('a', '2'), ('a', '3');
      SELECT tidemark_prune('logs') IS NULL; SELECT tidemark_export() IS NULL;
      SELECT tidemark_rewind('late', 'logs', 'k=a', 2, 'a disk <b>was lost') IS NULL;
      INSERT INTO tidemark_dead(sink, dataset, partition, since, payload, reason, at)
        VALUES ('late', 'logs', 'k=a', 3, '{{}}', 'no', 1), ('late', 'logs', 'k=a', 3, '{{}}', 'no', 1);
      UPDATE tidemark_sink SET state = 'blocked';
      CREATE VIRTUAL TABLE whole USING tidemark(body TEXT);
      INSERT INTO whole VALUES ('1'), ('2');
      INSERT INTO tidemark_sink(sink, dataset) VALUES ('mine', 'whole');
      """)
    page = check_page(shell.script("lost.db", "report"), "report of losses")
    for words in ("2 rows were gone before sink late had them", "2 rows of sink late are set aside",
                  "SELECT tidemark_requeue('late');", "Sink late is blocked",
                  "UPDATE tidemark_sink SET state = 'active' WHERE sink = 'late';"):
        check(words in page.text, f"report: {words}", page.text)
    shown = [row[1:] for row in page.rows["Gaps and replays"][1:]]
    check(shown[0] == ["rewind", "late", "k=a", "1", "a disk <b>was lost"], "report: the rewind", shown)
    check(shown[1][:4] == ["gap", "late", "k=a", "2"], "report: the gap", shown)
    text = expect(shell.script("lost.db", "status"), 0, "status of losses", "SET ASIDE", "late", "2 rows", "blocked",
                  "set its state to active")
    check(re.search(r"^  \(all\) +2 .*\n(.*\n)*mine +\(all\) +2 ", text, re.M), "status: one without partitions", text)
    check(["(all)", "whole", "2"] in [row[:3] for row in page.rows["Partitions"]], "report: one without partitions")
    expect(shell.script("lost.db", "tick"), 1, "tick of a blocked sink", "BLOCKED")


def many(shell):
    database = world.many(shell)
    status = shell.script(database, "status", ".param set @most 5")
    text = expect(status, 0, "status of many partitions", "and 295 more")
    check(re.search(r"biggest first .*\n  k=7 ", text), "status: the biggest is not the first", text)
    page = check_page(shell.script(database, "report"), "report of many partitions")
    rows = page.rows["Partitions"]
    check(len(rows) == 51 and rows[1][0] == "k=7", "report: 50 partitions, the biggest first", rows[:2])
    check("The biggest 50 of 300" in page.text, "report: how many there are", page.text)
    check_page(shell.script("nothing.db", "report"), "report of nothing")
    names = ("status", "report", "tick", "maintain", "verify", "tick")
    reads = "".join(f".read {world.SQL}/{name}.sql\n" for name in names)
    done = shell.run(database, reads + ".print the end;", f".param set @extension {shell.module}")
    expect(done, 0, "all in one session", "BEHIND", "</html>", "far (logs): 301 rows",
           "sealed 301 rows", "far: 300 objects", "nothing shipped", "the end")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shell", default="sqlite3")
    parser.add_argument("--preload", default="")
    parser.add_argument("module", type=pathlib.Path)
    parser.add_argument("clock", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tidemark.", dir=world.QUICK) as folder:
        for part in (the_way_in, damage, months, hostile, losses, many):
            home = pathlib.Path(folder).resolve() / part.__name__
            home.mkdir()
            part(world.Shell(arguments.shell, arguments.module, arguments.clock, home, arguments.preload))
    raise SystemExit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
