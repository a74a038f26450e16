#!/usr/bin/env python3
"""Batches forwarded over http to a receiver that misbehaves, by processes that die: in the end it holds each row once.

  forward.py TIDEMARK NET [--shell SQLITE3] [--preload LIBRARY] [TEST...]

Each tick is a run of the stock sqlite3 shell with both modules. The receiver (receiver.py) lives in this process, so
that a test decides at which step it answers, drops the connection, or waits for a process to be killed. What is
expected is the list of rows that the test itself wrote.
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from receiver import Receiver

HERE = pathlib.Path(__file__).resolve().parent
LONG_S = 60  # for what takes a moment
MODULES = []
SHELL = ["sqlite3", "-batch", "-bail"]
PRELOAD = ""


class Case(unittest.TestCase):
    """A database with the dataset logs, of so many partitions, and its sink `hook`, and a receiver for it."""

    shards = 1

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="tidemark.")
        self.addCleanup(self.folder.cleanup)
        self.database = os.path.join(self.folder.name, "test.db")
        self.receiver = self.make_receiver()
        self.addCleanup(self.receiver.stop)
        self.environment = {}
        self.written = []
        self.sql("CREATE VIRTUAL TABLE logs USING tidemark(id INTEGER, word TEXT, shard INTEGER, partition_by=shard); " +
                 self.registration(self.receiver.url))

    def make_receiver(self):
        return Receiver().start()

    def registration(self, target, max_rows="NULL", options=None, form="ndjson"):
        options = "'%s'" % json.dumps(options) if options else "NULL"
        return ("INSERT OR REPLACE INTO tidemark_sink(sink, dataset, target, format, max_rows, options) "
                "VALUES ('hook', 'logs', '%s', '%s', %s, %s)" % (target, form, max_rows, options))

    def register(self, *args, **kwargs):
        self.sql(self.registration(*args, **kwargs))

    # ---- processes ----

    def start(self, sql, database=None):
        command = SHELL + [arg for module in MODULES for arg in ("-cmd", ".load '%s'" % module)]
        command += ["-cmd", ".timeout %d" % (LONG_S * 1000), database or self.database, sql]
        environment = dict(os.environ, HOME=self.folder.name, LC_ALL="C.UTF-8", **self.environment)
        if PRELOAD:
            environment["LD_PRELOAD"] = PRELOAD
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=environment, text=True)

    def finish(self, process):
        """Its output; a failed statement fails the test."""
        output, errors = process.communicate(timeout=LONG_S)
        if process.returncode != 0 or errors:
            self.fail(errors or "ended with status %d" % process.returncode)
        return output.rstrip("\n")

    def sql(self, sql, database=None):
        return self.finish(self.start(sql, database))

    def read(self, sql, database=None):
        """What ordinary tables hold, as any client of SQLite sees them."""
        with contextlib.closing(sqlite3.connect(database or self.database)) as db:
            return db.execute(sql).fetchall()

    def write(self, *words):
        rows = [(len(self.written) + 1 + i, word) for i, word in enumerate(words)]
        self.sql("INSERT INTO logs VALUES " + ", ".join("(%d, '%s', %d)" % (id, word, id % self.shards) for id, word in rows))
        self.written += rows

    def write_many(self, count):
        self.write(*["w%d" % (len(self.written) + 1 + i) for i in range(count)])

    TICK = "SELECT tidemark_export('hook', 'now')"

    def tick(self, database=None):
        """What the one sink did."""
        done = json.loads(self.sql(self.TICK, database))
        return done["sinks"][0] if done["sinks"] else done

    def failure(self, database=None):
        """The message of a tick that fails in one batch."""
        failures = self.tick(database)["failures"]
        self.assertEqual(len(failures), 1)
        return failures[0]["error"]

    def start_tick(self, hold, **step):
        """A tick that waits in the receiver, "before" or "after" that has taken the rows."""
        self.receiver.reached.clear()
        self.receiver.go.clear()
        self.receiver.script.append({"hold": hold, **step})
        process = self.start(self.TICK)
        self.assertTrue(self.receiver.reached.wait(LONG_S))
        return process

    def kill(self, process):
        process.kill()
        process.communicate()
        self.receiver.go.set()

    # ---- what holds in the end ----

    def received(self):
        rows = [json.loads(line) for line in self.receiver.lines()]
        return collections.Counter((row["id"], row["word"]) for row in rows)

    def dead(self):
        rows = [json.loads(payload) for payload, in self.read("SELECT payload FROM tidemark_dead")]
        return collections.Counter((row["id"], row["word"]) for row in rows)

    def assert_exact(self, dead=()):
        """The sink has nothing more to do, and each row that was written is received once, or among the dead."""
        requests = len(self.receiver.requests)
        self.assertEqual(self.sql(self.TICK + " ->> 'failed'; SELECT sum(rows) FROM tidemark_lag"), "0\n0")
        self.assertEqual(len(self.receiver.requests), requests, "a tick with nothing new sends nothing")
        self.assertEqual(self.received(), collections.Counter(self.written) - collections.Counter(dead))
        self.assertEqual(self.dead(), collections.Counter(dead))
        self.assertEqual(self.read("SELECT sum(rows), sum(dead) FROM tidemark_export_log"),
                         [(len(self.written) - len(dead), len(dead))])
        self.assertEqual(self.read("SELECT * FROM tidemark_batch"), [])
        self.assert_state("active")

    def assert_state(self, state, database=None):
        self.assertEqual(self.read("SELECT state FROM tidemark_sink", database), [(state,)])

    def keys(self):
        return [headers["Idempotency-Key"] for _, headers, _ in self.receiver.requests]


class Delivery(Case):
    def test_batches_of_a_sink(self):
        self.register(self.receiver.url, max_rows=4)
        self.write_many(10)
        self.assertEqual(self.tick()["batches"], 3)
        self.assertEqual([len(lines) for _, _, lines in self.receiver.requests], [4, 4, 2])
        self.assertEqual(len(set(self.keys())), 3)
        self.assert_exact()

    def test_compressed(self):
        self.register(self.receiver.url, form="ndjson.zst")
        self.write_many(10)
        self.tick()
        self.assertEqual(self.receiver.requests[0][1]["Content-Encoding"], "zstd")
        self.assert_exact()

    def test_a_rewind_is_sent_again_under_new_keys(self):
        self.write_many(3)
        self.tick()
        self.sql("SELECT tidemark_rewind('hook', 'logs', 'shard=0', 1, 'again')")
        self.tick()
        self.assertEqual(len(set(self.keys())), 2)
        self.assertEqual(self.received(), collections.Counter(self.written + self.written[1:]))


class Answers(Case):
    """Whatever the receiver does to a request, the next tick brings the rows, each once."""

    def meets(self, step, message):
        self.write_many(3)
        self.receiver.script.append(step)
        self.assertEqual(self.failure(), message.replace("@", self.receiver.url[:-len("/in")]))
        self.assert_state("active")
        self.assertEqual(self.tick()["rows"], 3)
        self.assertEqual(len(set(self.keys())), 1)
        self.assert_exact()

    def test_dropped_before_it_was_taken(self):
        self.meets({"drop": "before"}, "@: Server returned nothing (no headers, no data)")

    def test_dropped_after_it_was_taken(self):
        self.meets({"drop": "after"}, "@: Server returned nothing (no headers, no data)")

    def test_500(self):
        self.meets({"status": 500, "body": "oh\x1b no"}, "@ answered 500: oh no")

    def test_404(self):
        self.meets({"status": 404, "body": "<p>nothing here</p>"}, "@ answered 404: <p>nothing here</p>")

    def test_409_without_a_tick(self):
        self.meets({"status": 409}, "@ answered 409 (without a Tidemark-Tick header: it is tried again)")

    def test_207_without_lines(self):
        self.meets({"status": 207, "body": "some"},
                   '@ answered 207 without saying which lines it refused: expected {"refused":[{"line":1,"reason":"..."}]},'
                   " with at most 10000")

    def test_207_about_a_line_that_was_not_sent(self):
        self.meets({"status": 207, "body": '{"refused":[{"line":4,"reason":"bad"}]}'},
                   "the receiver refused row 4 of batch 1, which has 3")

    def test_redirect(self):
        other = Receiver().start()
        self.addCleanup(other.stop)
        self.meets({"status": 307, "headers": {"Location": other.url + "?hidden"}},
                   "@ answered 307, a redirect to %s, which is not followed: expected the final URL" % other.url[:-3])
        self.assertEqual(other.requests, [])

    def test_nobody_there(self):
        self.receiver.stop()
        self.write_many(3)
        self.assertIn("Couldn't connect to server (Connection refused)", self.failure())


class Waiting(Case):
    def test_retry_after_is_remembered_by_the_next_process(self):
        for headers in ({"Retry-After": "3600"},
                        {"Retry-After": "Mon, 30 Nov 2026 13:00:00 GMT", "Date": "Mon, 30 Nov 2026 12:00:00 GMT"}):
            self.write_many(3)
            self.receiver.script.append({"status": 429, "headers": headers, "body": "slow down"})
            requests = len(self.receiver.requests) + 1
            self.assertIn("answered 429: slow down", self.failure())
            asked = json.loads(self.sql("SELECT tidemark_export('hook')"))
            self.assertEqual((asked["rows"], asked["failed"]), (0, 0))
            self.assertEqual(len(self.receiver.requests), requests)
            self.assertEqual(self.read("SELECT (not_before - claimed_at) / 60000 FROM tidemark_batch"), [(60,)])
            self.assertEqual(self.tick()["rows"], 3)
        self.assert_exact()

    def test_new_rows_wait_too(self):
        self.receiver.script.append({"status": 503, "headers": {"Retry-After": "3600"}})
        self.write_many(3)
        self.tick()
        self.write_many(3)
        self.sql("SELECT tidemark_export('hook')")
        self.assertEqual(len(self.receiver.requests), 1)
        self.tick()
        self.assert_exact()

    def test_nothing_is_locked_meanwhile(self):
        self.write_many(3)
        process = self.start_tick("before")
        with contextlib.closing(sqlite3.connect(self.database, timeout=0)) as db:
            db.execute("CREATE TABLE other(x)")
        self.write_many(3)
        self.receiver.go.set()
        self.finish(process)
        self.tick()
        self.assert_exact()

    def test_an_interrupt_ends_it(self):
        self.write_many(3)
        process = self.start_tick("before")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=LONG_S)
        self.assertIn("interrupted", errors)
        self.receiver.go.set()
        self.tick()
        self.assert_exact()


class Refusals(Case):
    def test_one_bad_row_is_set_aside(self):
        for status in (400, 422, 207):
            with self.subTest(status):
                self.receiver.poison, self.receiver.poison_status = "bad%d" % status, status
                self.write("a", "b", "c", "bad%d" % status, "d", "e", "f", "g")
                self.assertEqual(self.tick()["dead"], 1)
        bad = [row for row in self.written if row[1].startswith("bad")]
        self.assert_exact(dead=bad)
        self.assertIn(" is bad", self.read("SELECT reason FROM tidemark_dead")[0][0])

    def test_several_bad_rows_apart(self):
        self.receiver.poison = "bad"
        self.write(*["bad" if i in (0, 1, 9, 15) else "w" for i in range(16)])
        self.tick()
        self.assert_exact(dead=[row for row in self.written if row[1] == "bad"])

    def test_nothing_but_bad_rows_blocks_the_sink(self):
        self.receiver.poison = "bad"
        self.write(*["bad"] * 14)
        self.assertIn("10 rows in a row were refused", self.failure())
        self.assert_state("blocked")
        self.receiver.poison = None
        self.sql("UPDATE tidemark_sink SET state = 'active'")
        self.tick()
        self.assert_exact(dead=self.written[:10])

    def test_too_large_is_split(self):
        self.receiver.max_rows = 3
        self.write_many(17)
        self.tick()
        self.assertLessEqual(self.read("SELECT max(rows) FROM tidemark_export_log")[0][0], 3)
        self.assert_exact()

    def test_one_row_that_is_too_large_is_set_aside(self):
        self.receiver.max_rows = 0
        self.write_many(1)
        self.tick()
        self.receiver.max_rows = None
        self.assert_exact(dead=self.written)

    def test_forbidden_blocks_until_somebody_acts(self):
        for status in (401, 403):
            self.write_many(3)
            self.receiver.script.append({"status": status, "body": "who are you?"})
            self.assertIn("answered %d: who are you?" % status, self.failure())
            requests = len(self.receiver.requests)
            self.assert_state("blocked")
            self.tick()
            self.assertEqual(len(self.receiver.requests), requests)
            self.sql("UPDATE tidemark_sink SET state = 'active'")
            self.tick()
        self.assert_exact()


class Crashes(Case):
    """The ticking process is killed, and another goes on."""

    def goes_on(self, requests):
        self.tick()
        self.assertEqual(len(self.receiver.requests), requests)
        self.assert_exact()

    def test_before_the_receiver_took_it(self):
        self.write_many(3)
        self.kill(self.start_tick("before", drop="before"))
        self.goes_on(2)
        self.assertEqual(len(set(self.keys())), 1)

    def test_before_the_receiver_takes_it_late(self):
        self.write_many(3)
        self.kill(self.start_tick("before"))
        self.goes_on(2)

    def test_before_the_receiver_answered(self):
        self.write_many(3)
        self.kill(self.start_tick("after"))
        self.write_many(3)
        self.goes_on(3)
        self.assertEqual(len(set(self.keys())), 2)

    def test_before_it_wrote_the_answer_down(self):
        self.write_many(3)
        process = self.start_tick("after")
        with contextlib.closing(sqlite3.connect(self.database)) as db:
            db.execute("BEGIN IMMEDIATE")
            self.receiver.go.set()
            self.kill(process)
            db.execute("ROLLBACK")
        self.goes_on(2)

    def test_within_a_split(self):
        self.receiver.max_rows = 3
        self.write_many(8)
        self.receiver.script.extend([{}, {}])
        self.kill(self.start_tick("after"))
        self.tick()
        self.assert_exact()

    def test_within_the_search_for_a_bad_row(self):
        self.receiver.poison = "bad"
        self.write("a", "b", "c", "bad", "d", "e", "f", "g")
        for place in range(5):
            self.receiver.script.extend([{}] * place)
            self.kill(self.start_tick("after" if place % 2 == 0 else "before"))
        self.tick()
        self.assert_exact(dead=[(4, "bad")])

    def test_again_and_again(self):
        self.register(self.receiver.url, max_rows=2)
        self.write_many(9)
        for place in range(4):
            self.receiver.script.extend([{}] * (place % 2))
            self.kill(self.start_tick("after" if place % 3 == 0 else "before"))
        self.tick()
        self.assert_exact()


class Chance(Case):
    """Many ticks with whatever may happen to them, by chance."""

    shards = 3

    def make_step(self, chance):
        return chance.choice([{}, {}, {}, {"drop": "before"}, {"drop": "after"}, {"status": 500}, {"status": 404},
                              {"status": 429, "headers": {"Retry-After": "60"}}, {"status": 401}, {"status": 207},
                              {"status": 302, "headers": {"Location": self.receiver.url}}])

    def meddle(self, chance):
        """One tick, or two at once, or one that is killed."""
        self.sql("UPDATE tidemark_sink SET max_rows = %d, state = 'active'" % chance.randint(1, 20))
        self.receiver.max_rows = chance.choice([None, 1, 3])
        self.receiver.poison_status = chance.choice([400, 422, 207])
        self.receiver.script.clear()
        self.receiver.script.extend(self.make_step(chance) for _ in range(chance.randint(0, 3)))
        what = chance.randrange(3)
        if what == 0:
            self.tick()
        elif what == 1:
            for process in [self.start(self.TICK) for _ in range(2)]:
                process.communicate(timeout=LONG_S)
        else:
            self.receiver.script.clear()
            self.write_many(1)
            where = chance.choice(["before", "after"])
            self.kill(self.start_tick(where, drop=chance.choice([None, where])))

    def test_by_chance(self):
        rounds, seeds = (40, range(20)) if "TIDE_TEST_LONG" in os.environ else (8, [int(os.environ.get("TIDE_SEED", 1))])
        for seed in seeds:
            with self.subTest(seed=seed):
                chance = random.Random(seed)
                self.receiver.poison = "bad"
                for _ in range(rounds):
                    self.write(*["bad" if chance.random() < 0.05 else "w" for _ in range(chance.randint(1, 12))])
                    self.meddle(chance)
                self.receiver.script.clear()
                self.receiver.max_rows = None
                self.sql("UPDATE tidemark_sink SET state = 'active'")
                self.tick()
                self.assert_exact(dead=[row for row in self.written if row[1] == "bad"])


class Company(Case):
    def test_two_processes_share_a_sink(self):
        self.write_many(3)
        first = self.start_tick("before")
        self.assertEqual(self.tick()["rows"], 0)
        self.assertEqual(len(self.receiver.requests), 1)
        self.receiver.go.set()
        self.finish(first)
        self.assert_exact()

    def test_two_processes_at_once(self):
        self.register(self.receiver.url, max_rows=2)
        self.write_many(20)
        self.receiver.script.extend([{"drop": "after"}, {}, {"status": 500}, {"drop": "before"}])
        processes = [self.start("; ".join([self.TICK] * 4)) for _ in range(2)]
        self.write_many(5)
        for process in processes:
            self.finish(process)
        self.receiver.script.clear()  # a tick that finds the other at work sends nothing: they may not have met all of it
        self.tick()
        self.assert_exact()

    def test_an_old_copy_sends_nothing(self):
        self.write_many(3)
        self.tick()
        copy = self.database + ".old"
        self.sql("VACUUM INTO '%s'" % copy)
        self.write_many(3)
        self.tick()
        lines = self.receiver.lines()
        self.sql("INSERT INTO logs VALUES (99, 'other', 0)", copy)
        self.assertIn("was told of tick 2 of this sink, which this database knows nothing of", self.failure(copy))
        self.assert_state("diverged", copy)
        self.tick(copy)
        self.assertEqual(self.receiver.lines(), lines)
        self.assert_exact()
        self.sql("SELECT tidemark_fork('hook')", copy)
        self.tick(copy)
        self.assertEqual(self.received() - collections.Counter(self.written), collections.Counter([(99, "other")]))


class Secrets(Case):
    TOKEN = "hush4711"

    def make_receiver(self):
        receiver = Receiver(certificate=HERE / "localhost.pem")
        receiver.token = self.TOKEN
        receiver.url = "https://localhost:%d/in" % receiver.port
        return receiver.start()

    def setUp(self):
        super().setUp()
        self.register(self.receiver.url, options={"token_env": "TIDE_TEST_TOKEN"})
        self.environment = {"TIDE_TEST_TOKEN": self.TOKEN, "CURL_CA_BUNDLE": str(HERE / "localhost.pem")}
        self.write_many(3)

    def test_a_token_over_tls(self):
        self.tick()
        self.assert_exact()

    def test_nobody_is_trusted_unasked(self):
        del self.environment["CURL_CA_BUNDLE"]
        self.assertIn("certificate", self.failure())
        self.assertEqual(self.receiver.requests, [])

    def test_certificates_that_are_not_there(self):
        self.environment["CURL_CA_BUNDLE"] = "/nowhere/ca.pem"
        self.assertIn("install ca-certificates, or name a file in CURL_CA_BUNDLE", self.failure())
        self.assertEqual(self.receiver.requests, [])

    def test_another_host_is_not_trusted(self):
        self.register(self.receiver.url.replace("localhost", "127.0.0.1"), options={"token_env": "TIDE_TEST_TOKEN"})
        self.assertIn("no alternative certificate subject name matches target host name '127.0.0.1'", self.failure())
        self.assertEqual(self.receiver.requests, [])

    def test_a_variable_that_is_not_set_is_named(self):
        del self.environment["TIDE_TEST_TOKEN"]
        self.assertIn("environment variable TIDE_TEST_TOKEN is not set", self.failure())
        self.environment["TIDE_TEST_TOKEN"] = self.TOKEN
        self.tick()
        self.assert_exact()

    def test_no_secret_stays_in_the_database(self):
        self.receiver.script.append({"status": 400, "body": "no row for " + self.TOKEN})
        self.receiver.script.append({"status": 403, "body": "not you, " + self.TOKEN})
        self.assertIn("not you, ********", self.failure())
        self.sql("UPDATE tidemark_sink SET state = 'active'")
        self.tick()
        self.assert_exact()
        self.assertNotIn(self.TOKEN.encode(), pathlib.Path(self.database).read_bytes())


class Loading(Case):
    def test_net_alone_says_what_is_missing(self):
        process = subprocess.run(SHELL + ["-cmd", ".load '%s'" % MODULES[1], ":memory:", "SELECT 1"], text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                 env=dict(os.environ, LD_PRELOAD=PRELOAD))
        self.assertIn("tidemark_net adds targets to tidemark, which this connection does not have: load tidemark first",
                      process.stderr)

    def test_twice_is_fine(self):
        self.assertEqual(self.sql(".load '%s'" % MODULES[1]), "")

    def test_a_sink_without_it_says_what_to_load(self):
        self.write_many(1)
        net = MODULES.pop()
        try:
            process = self.start("UPDATE tidemark_sink SET target = 'http://127.0.0.1/other'")
            _, errors = process.communicate(timeout=LONG_S)
            self.assertIn("the extension tidemark_net adds s3 and http", errors)
        finally:
            MODULES.append(net)


def main():
    global PRELOAD
    parser = argparse.ArgumentParser()
    parser.add_argument("--shell", default="sqlite3")
    parser.add_argument("--preload", default="", help="a library for the shell's LD_PRELOAD: the sanitizer's")
    parser.add_argument("modules", nargs=2, type=pathlib.Path)
    parser.add_argument("tests", nargs="*", help="unittest's names, such as Crashes or Answers.test_500")
    arguments = parser.parse_args()
    SHELL[0] = arguments.shell
    PRELOAD = arguments.preload
    MODULES.extend(str(module.resolve()) for module in arguments.modules)
    unittest.main(argv=[sys.argv[0]] + arguments.tests)


if __name__ == "__main__":
    main()
