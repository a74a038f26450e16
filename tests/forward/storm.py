#!/usr/bin/env python3
"""Ticks of several processes to a receiver over HTTP, to objects of an S3 and to a Delta table there, while servers and
ticks are killed, connections cut and requests held up, and rows go on coming.

  storm.py TIDEMARK NET [--shell SQLITE3] [--preload LIBRARY] [TEST...]

In the end ledger, objects and table hold each committed row once. What is expected are the rows of the transactions
that the test saw committed; one whose writer was killed is there whole or not at all. The seed decides all but who of
several processes comes first. TIDE_TEST_LONG=1: many seeds; TIDE_SEED: one.
"""
import collections
import contextlib
import json
import os
import pathlib
import queue
import random
import re
import sqlite3
import threading
import urllib.parse
import zlib

import forward
import weather

HERE = pathlib.Path(__file__).resolve().parent
forward.LONG_S = 900  # many processes at once, on a machine that does much else
SINKS = ("hook", "objects", "lake")
BIG = 6 << 20  # more than a part of an upload


class Storm(forward.Case):
    shards = 2

    def setUp(self):
        """Each seed has a world of its own."""

    def open_world(self, seed):
        """The tables and sinks; each server and the proxy before it."""
        self.lock = threading.Lock()
        self.chance = random.Random(seed)
        self.folder = forward.tempfile.TemporaryDirectory(prefix="tidemark.")
        self.addCleanup(self.folder.cleanup)
        self.database = os.path.join(self.folder.name, "test.db")
        self.environment = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
        self.happenings = queue.Queue()
        self.ledger, self.store = (os.path.join(self.folder.name, name) for name in ("ledger.db", "store.db"))
        self.servers = [weather.Server(str(HERE / "receiver.py"), self.ledger),
                        weather.Server(str(HERE / "s3_server.py"), self.store)]
        self.proxies = [weather.Proxy(server, self.next_fate, self.happenings.put) for server in self.servers]
        for each in self.servers + self.proxies:
            self.addCleanup(each.stop)
        self.calm = True
        self.met = collections.Counter()
        self.written = []
        self.live = []
        options = {"endpoint": self.proxies[1].url, "part_size": 5 << 20}
        self.sql("CREATE VIRTUAL TABLE logs USING tidemark(id INTEGER, word TEXT, shard INTEGER, partition_by=shard,"
                 " segment_rows=64);"
                 "INSERT INTO tidemark_sink(sink, dataset, target, format, options, max_rows) VALUES"
                 " ('hook', 'logs', '%s/in', 'ndjson', NULL, 7),"
                 " ('objects', 'logs', 's3://bucket/objects', 'ndjson', '%s', 9),"
                 " ('lake', 'logs', 's3://bucket/lake', 'parquet', '%s', 12)" %
                 (self.proxies[0].url, json.dumps(options), json.dumps(dict(options, table="delta"))))

    # ---- fates ----

    def next_fate(self, path):
        """Parts of an upload meet more: there are few."""
        with self.lock:
            if self.calm or self.chance.random() < (0.5 if "upload" in path else 0.75):
                return None, None
            what, when = self.chance.choice(weather.FATES), self.chance.choice(("before", "after"))
            self.met[what] += 1
            return what, when

    def watch(self, process):
        """Tells of its end."""
        self.live.append(process)

        def wait():
            output, errors = process.communicate()
            self.happenings.put(("ended", (process, output, errors)))

        threading.Thread(target=wait, daemon=True).start()

    def kill_one(self):
        if self.live:
            self.chance.choice(self.live).kill()
            self.met["killed"] += 1

    def meanwhile(self):
        """What is done while a request is held up."""
        what = self.chance.randrange(5)
        if what == 0:
            self.kill_one()
        elif what == 1:
            self.chance.choice(self.servers).kill()
        elif what == 2 and len(self.live) < 4:
            self.start_ticking()
        elif what == 3:
            self.append()
        elif what == 4:
            self.skew(self.chance.choice((0, 3600, -3600)))

    def skew(self, seconds):
        with contextlib.closing(sqlite3.connect(self.store, timeout=forward.LONG_S)) as db, db:
            db.execute("DELETE FROM clock")
            db.execute("INSERT INTO clock VALUES (?)", (seconds,))

    # ---- writers and ticks ----

    def append(self, killed=False):
        """One transaction. One whose process is killed is looked for afterwards: it is there whole or not at all."""
        first = len(self.written) + 1
        words = ["w%d" % self.chance.randrange(1000) for _ in range(self.chance.randint(1, 25))]
        if self.chance.random() < 0.4:
            words[0] = "x" * BIG
        rows = [(first + i, word, (first + i) % self.shards) for i, word in enumerate(words)]
        text = {word: "printf('%%.*c', %d, 'x')" % BIG if len(word) == BIG else "'%s'" % word for word in words}
        values = ", ".join("(%d, %s, %d)" % (id, text[word], shard) for id, word, shard in rows)
        process = self.start("INSERT INTO logs VALUES " + values)
        if killed:
            for _ in range(self.chance.randrange(200000)):
                pass
            process.kill()
            process.communicate()
            there = int(self.sql("SELECT count(*) FROM logs WHERE id >= %d" % first))
            self.assertIn(there, (0, len(rows)))
            self.met["writer killed"] += 1
            if there == 0:
                return
        else:
            self.finish(process)
        self.written += rows

    def start_ticking(self):
        calls = ["SELECT tidemark_export('%s', 'now')" % sink for sink in SINKS] + ["SELECT tidemark_export()"]
        self.watch(self.start("; ".join(self.chance.choice(calls) for _ in range(self.chance.randint(1, 3)))))

    def handle(self, kind, what):
        if kind == "stall":
            self.meanwhile()
            what.set()
        elif kind == "kill tick":
            self.kill_one()
            what.set()
        else:
            process, output, errors = what
            self.live.remove(process)
            self.met["ticks"] += output.count('"sinks"')
            if process.returncode != -9 and errors:
                self.assertIn("locked", errors)  # by another for longer than this one waits

    def spell(self):
        """Some ticks at once, and what befalls them."""
        self.append(killed=self.chance.random() < 0.3)
        for _ in range(self.chance.randint(1, 3)):
            self.start_ticking()
        while self.live:
            self.handle(*self.happenings.get(timeout=forward.LONG_S))

    # ---- what holds in the end ----

    def settle(self):
        self.calm = True
        self.skew(0)
        for sink in SINKS:
            done = json.loads(self.sql("SELECT tidemark_export('%s', 'now')" % sink))
            self.assertEqual((done["failed"], done["waiting"], done["more"]), (0, 0, False), done)
        self.assertEqual(self.sql("SELECT sum(rows) FROM tidemark_lag; SELECT tidemark_check('logs')"), "0\nok")
        self.assertEqual(self.read("SELECT * FROM tidemark_batch"), [])
        self.assertEqual(self.read("SELECT DISTINCT state FROM tidemark_sink"), [("active",)])

    def expected(self):
        return collections.Counter((id, zlib.crc32(word.encode())) for id, word, _ in self.written)

    def found(self, lines):
        rows = [json.loads(line) for line in lines]
        return collections.Counter((row["id"], zlib.crc32(row["word"].encode())) for row in rows)

    def check_ledger(self):
        self.assertEqual(self.found(line for line, in self.read("SELECT line FROM rows", self.ledger)), self.expected())

    def logged(self, sink):
        return sorted(name for name, in self.read("SELECT object FROM tidemark_export_log WHERE sink = '%s'" % sink))

    def check_objects(self):
        objects = dict(self.read("SELECT substr(key, 9), body FROM object WHERE key LIKE 'objects/logs/%'", self.store))
        self.assertEqual(sorted(objects), self.logged("objects"))
        lines = [line for body in objects.values() for line in body.decode().splitlines()]
        self.assertEqual(self.found(lines), self.expected())

    def check_lake(self):
        """Each version of the table is there; each file is added once, with the rows of its range."""
        objects = dict(self.read("SELECT substr(key, 6), body FROM object WHERE key LIKE 'lake/logs/%'", self.store))
        versions = sorted(name for name in objects if re.search(r"_delta_log/\d{20}\.json$", name))
        self.assertEqual([int(name[-25:-5]) for name in versions], list(range(len(versions))))
        adds = [json.loads(line)["add"] for name in versions for line in objects[name].decode().splitlines()
                if '"add":' in line]
        files = ["logs/" + urllib.parse.unquote(add["path"]) for add in adds]
        self.assertEqual(sorted(files), self.logged("lake"))
        self.assertEqual(sorted(files), sorted(name for name in objects if "_delta_log" not in name))
        ids = []
        for add in adds:
            stats, shard = json.loads(add["stats"]), int(add["partitionValues"]["shard"])
            inside = [id for id, _, its in self.written
                      if its == shard and stats["minValues"]["id"] <= id <= stats["maxValues"]["id"]]
            self.assertEqual(stats["numRecords"], len(inside))
            ids += inside
        self.assertEqual(sorted(ids), [id for id, _, _ in self.written])

    def check_uploads(self):
        """None that nobody goes on with is left, once a tick has shipped something more."""
        self.calm = True
        for shard in range(self.shards):
            self.append()
        for sink in SINKS:
            self.sql("SELECT tidemark_export('%s', 'now')" % sink)
        connection = weather.http.client.HTTPConnection("127.0.0.1", self.servers[1].ready())
        connection.request("GET", "/bucket?uploads", headers={"x-amz-date": self.sql(
            "SELECT strftime('%Y%m%dT%H%M%SZ', 'now')")})
        self.assertNotIn(b"<Upload>", connection.getresponse().read())
        connection.close()

    def test_storm(self):
        long = "TIDE_TEST_LONG" in os.environ
        seeds, spells = (range(1, 11), 30) if long else ([int(os.environ.get("TIDE_SEED", 3))], 5)
        total = collections.Counter()
        for seed in seeds:
            with self.subTest(seed=seed):
                self.open_world(seed)
                for _ in range(spells):
                    self.calm = False
                    self.spell()
                self.settle()
                self.check_uploads()
                self.settle()
                self.check_ledger()
                self.check_objects()
                self.check_lake()
                self.met["server deaths"] = sum(server.deaths for server in self.servers)
                self.met["rows"] = len(self.written)
                total += self.met
                print("seed %d: %s" % (seed, dict(self.met)), flush=True)
                self.doCleanups()
        self.assertGreater(sum(total[fate] for fate in weather.FATES), 2)
        for what in (*weather.FATES, "killed", "server deaths") if long else ("ticks", "writer killed"):
            self.assertGreater(total[what], 0, what)


if __name__ == "__main__":
    forward.main()
