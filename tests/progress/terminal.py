#!/usr/bin/env python3
"""The stock shell on a pseudo-terminal, with an export that a receiver holds up: the line shows, another connection sees
the batch, Ctrl-C ends the call and not the shell, and the same call afterwards delivers each row once.

  terminal.py [--shell SQLITE3] [--preload LIBRARY] MODULE NET
"""
import argparse
import fcntl
import http.server
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading

PATIENCE_S = 60
COLUMNS = 64


class Receiver(http.server.BaseHTTPRequestHandler):
    """Holds every request up until the test lets them go; keeps the rows of those that it answered, by their key."""

    held = threading.Event()  # one is
    go = threading.Event()
    taken = {}

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Receiver.held.set()
        if not Receiver.go.wait(PATIENCE_S):
            return
        Receiver.taken.setdefault(self.headers["Idempotency-Key"], body)
        try:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
        except OSError:
            pass  # the one that was interrupted is gone

    def log_message(self, *_):
        pass


def start(arguments, folder, mode="-batch", **streams):
    environment = dict(os.environ, HOME=folder, LC_ALL="C.UTF-8")
    if arguments.preload:
        environment["LD_PRELOAD"] = arguments.preload
    command = [arguments.shell, mode]
    for module in (arguments.module, arguments.net):
        command += ["-cmd", f".load '{module.resolve()}'"]
    return subprocess.Popen([*command, folder + "/test.db"], env=environment, **streams)


def run(arguments, folder, sql):
    shell = start(arguments, folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, complaints = shell.communicate(sql.encode(), PATIENCE_S)
    return out.decode().strip(), complaints.decode().strip()


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r}, expected {wanted!r}")


class Terminal:
    def __init__(self, arguments, folder):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        # one that reads a script ends with the first Ctrl-C, whatever the call does
        self.shell = start(arguments, folder, "-interactive", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=slave)
        os.close(slave)
        self.seen = ""

    def type(self, sql):
        self.shell.stdin.write(sql.encode() + b"\n")
        self.shell.stdin.flush()

    def wait_for(self, pattern):
        while not re.search(pattern, self.seen):
            if not select.select([self.master], [], [], PATIENCE_S)[0]:
                sys.exit(f"{pattern!r} did not come: {self.seen!r}")
            self.seen += os.read(self.master, 4096).decode()


def check_meanwhile(arguments, folder):
    """Another connection sees how much is in flight, whose it is, and that it is not done."""
    out, _ = run(arguments, folder, """SELECT json_array(rows, since, until, owner IS NOT NULL, attempts, error,
        lease_until - claimed_at) FROM tidemark_batch;
        SELECT sum(rows) FROM tidemark_lag; SELECT count(*) FROM tidemark_export_log;""")
    batch, lag, logged = out.split("\n")
    expect("the batch in flight", json.loads(batch)[:6], [3, 0, 3, 1, 0, None])
    expect("what is left and done", (lag, logged), ("3", "0"))


def check(arguments, folder, port):
    run(arguments, folder, f"""CREATE VIRTUAL TABLE logs USING tidemark(body TEXT);
        INSERT INTO tidemark_sink(sink, dataset, target, format)
          VALUES ('hook', 'logs', 'http://127.0.0.1:{port}/', 'ndjson');
        INSERT INTO logs VALUES ('one'), ('two'), ('three');""")
    terminal = Terminal(arguments, folder)
    terminal.type("SELECT tidemark_progress(1);\nSELECT tidemark_export('hook');")
    terminal.wait_for("\rtidemark: export hook/logs 3 rows[^\r]*\x1b\\[K")
    for line in re.findall("\r([^\r\x1b]*)\x1b", terminal.seen):
        expect("as wide as the terminal at the most", len(line) < COLUMNS, True)
    expect("the receiver has it", Receiver.held.is_set(), True)
    check_meanwhile(arguments, folder)
    terminal.shell.send_signal(signal.SIGINT)
    terminal.wait_for("interrupted")
    expect("the line goes first", "\r\x1b[K" in terminal.seen.split("rror")[0], True)
    Receiver.go.set()
    terminal.type("SELECT 'alive';\nSELECT json_extract(tidemark_export('hook', 'now'), '$.rows', '$.failed');")
    out, _ = terminal.shell.communicate(timeout=PATIENCE_S)
    expect("the shell went on", [line for line in ("alive", "[3,0]") if line in out.decode()], ["alive", "[3,0]"])
    rows = [json.loads(line)["body"] for body in Receiver.taken.values() for line in body.splitlines()]
    expect("each row once", rows, ["one", "two", "three"])
    out, _ = run(arguments, folder, "SELECT sum(rows) FROM tidemark_export_log; SELECT count(*) FROM tidemark_batch;"
                                    "SELECT tidemark_check('logs');")
    expect("afterwards", out.split("\n"), ["3", "0", "ok"])


def check_silent(arguments, folder):
    """The same without a terminal: an interrupted call says so, and nothing else is there."""
    Receiver.held.clear()
    Receiver.go.clear()
    run(arguments, folder, "INSERT INTO logs VALUES ('four');")
    shell = start(arguments, folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    shell.stdin.write(b"SELECT tidemark_progress(1);\nSELECT tidemark_export('hook');\n")
    shell.stdin.flush()
    expect("the receiver has it", Receiver.held.wait(PATIENCE_S), True)
    shell.send_signal(signal.SIGINT)
    _, complaints = shell.communicate(timeout=PATIENCE_S)
    expect("no line", ("tidemark: " in complaints.decode(), "interrupted" in complaints.decode()), (False, True))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shell", default="sqlite3")
    parser.add_argument("--preload", help="a library for the shell's LD_PRELOAD: the sanitizer's")
    parser.add_argument("module", type=pathlib.Path)
    parser.add_argument("net", type=pathlib.Path)
    arguments = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="tidemark.") as folder:
        check(arguments, folder, server.server_address[1])
        check_silent(arguments, folder)
    Receiver.go.set()


if __name__ == "__main__":
    main()
