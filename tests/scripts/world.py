"""Databases for the tests of sql/: a life of months with trouble in it, hostile names, many partitions, nothing at all.

The stock shell makes them. clock.so (clock.c) is the time: each step of a life sets it, so all is the same in each run.
"""
import os
import pathlib
import subprocess

SQL = pathlib.Path(__file__).resolve().parents[2] / "sql"
DAY = 86400000
DAYS = 60
START = 1767225600000  # 2026-01-01
QUICK = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a life of months has some hundreds of syncs
HOSTILE = "<b onload=x>&\"'`]]>-->\x1b[31m\x9b\u202e日本"


class Shell:
    """The stock shell in a folder, at a time, with clock.so and the sanitizer's library, if any."""

    def __init__(self, shell, module, clock, folder, preload=""):
        self.shell, self.module, self.folder = shell, pathlib.Path(module).resolve(), pathlib.Path(folder)
        self.environment = dict(os.environ, TZ="UTC", LC_ALL="C.UTF-8", HOME=str(folder), TIDE_TEST_CLOCK="clock",
                                LD_PRELOAD=f"{preload} {pathlib.Path(clock).resolve()}".strip())
        self.environment.pop("LD_LIBRARY_PATH", None)  # meson's: on it the extension is found without being told
        self.set_clock(START)

    def set_clock(self, ms):
        (self.folder / "clock").write_text(str(ms), encoding="ascii")

    def run(self, database, sql, *before):
        """Runs SQL text, or the script of that name, as people do: on stdin."""
        text = sql if "\n" in sql or ";" in sql else (SQL / f"{sql}.sql").read_text(encoding="utf-8")
        command = [self.shell]
        for line in before:
            command += ["-cmd", line]
        return subprocess.run(command + [database], input=text.encode("utf-8", "surrogateescape"), cwd=self.folder,
                              env=self.environment, capture_output=True, timeout=60, check=False)

    def script(self, database, name, *before):
        return self.run(database, name, f".param set @extension {self.module}", *before)

    def make(self, database, sql):
        done = self.run(database, sql, ".bail on", f".load {self.module}")
        if done.returncode != 0:
            raise SystemExit(f"{database}: {done.stderr.decode()}")


def at(day, hour=0):
    return f"SELECT writefile('clock', '{START + day * DAY + hour * 3600000}') WHERE 0 OR 1;\n"


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def rows_of(day):
    return 40 + day * 7 % 30


def months(shell):
    """Writes every day. archive ticks every other day, lake until it stops, away has no folder, daily never begins."""
    sql = ["CREATE VIRTUAL TABLE logs USING tidemark(source TEXT NOT NULL, ts TIMESTAMP_MS, level TEXT, body TEXT,"
           " partition_by=source, retention_age='40 days');\n"]
    for folder in ("archive", "lake"):
        (shell.folder / folder).mkdir()
        sql.append(f"INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('{folder}', 'logs',"
                   f" 'file://{shell.folder}/{folder}', '{'ndjson' if folder == 'archive' else 'parquet'}');\n")
    sql.append(f"INSERT INTO tidemark_sink(sink, dataset, target, format, hold) VALUES ('away', 'logs',"
               f" 'file://{shell.folder}/away', 'csv', 0);\n"
               "INSERT INTO tidemark_sink(sink, dataset) VALUES ('daily', 'logs');\n")
    for day in range(DAYS):
        rows = rows_of(day)
        sql.append(at(day, 9) + f"""
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
          INSERT INTO logs SELECT printf('host%d', i * i % 11), {START + day * DAY} + i * 1000, 'info',
            printf('GET /page/%d took %d ms', i * {day + 3} % 97, i * i % 401) FROM n;
          """)
        if day % 2 == 0:
            sql.append(at(day, 10) + "SELECT tidemark_export('archive') IS NULL;\n")
        if day % 9 == 0 and day < 40:
            sql.append("SELECT tidemark_export('lake') IS NULL;\n")
        if day % 20 == 19:
            sql.append("SELECT tidemark_export('away') IS NULL; SELECT tidemark_maintain() IS NULL;\n")
    sql.append(at(DAYS, 12) + "SELECT tidemark_export('away') IS NULL;\n")
    shell.make("months.db", "".join(sql))
    return "months.db"


def hostile(shell):
    """Names, values and errors that would be markup, or move a terminal's cursor, or be no text at all."""
    name = quoted(HOSTILE)
    shell.make("hostile.db", f"""
      CREATE VIRTUAL TABLE "a ""<i>' & log" USING tidemark(k TEXT, body TEXT, "<u>col" TEXT, partition_by=k);
      INSERT INTO "a ""<i>' & log" VALUES ({name}, {name}, 'x'), (CAST(x'ff3c623effc3' AS TEXT), 'y', NULL),
        (printf('%.*c', 28, '漢'), 'z', NULL), ('</table><script>alert(1)</script>', '', NULL), ('', '', NULL);
      INSERT INTO tidemark_sink(sink, dataset, target, format)
        VALUES ({name}, 'a "<i>'' & log', 'file:///nowhere/<b>&"''', 'ndjson');
      INSERT INTO tidemark_sink(sink, dataset) VALUES (printf('%.*c', 200, '漢'), 'a "<i>'' & log');
      INSERT INTO tidemark_sink(sink, dataset) VALUES (CAST(x'61fffe62c3' AS TEXT), 'a "<i>'' & log');
      SELECT tidemark_flush('a "<i>'' & log') IS NULL;
      SELECT tidemark_export() IS NULL;
      UPDATE tidemark_batch SET error = {name} || error || CAST(x'0a7fc0af00' AS TEXT),
        attempts = 9223372036854775807, not_before = 9e18;
      """)
    return "hostile.db"


def many(shell, partitions=300):
    """More partitions than a page shows, the one named 7 the biggest."""
    (shell.folder / "many").mkdir()
    shell.make("many.db", f"""
      CREATE VIRTUAL TABLE logs USING tidemark(k INTEGER, body TEXT, partition_by=k);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {partitions})
      INSERT INTO logs SELECT i, 'a' FROM n;
      INSERT INTO logs VALUES (7, printf('%.*c', 5000, 'x'));
      INSERT INTO tidemark_sink(sink, dataset, target, format)
        VALUES ('far', 'logs', 'file://{shell.folder}/many', 'ndjson');
      """)
    return "many.db"
