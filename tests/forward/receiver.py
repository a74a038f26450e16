#!/usr/bin/env python3
"""A receiver of what sinks with an http target send: the smallest one that is exact.

  receiver.py LEDGER [PORT]      keeps what it gets in the SQLite file LEDGER, until it is ended

What makes it exact is one transaction: the rows of a request and its key are kept together, so that a request that
comes again (its answer was lost, or its sender died) adds nothing and is answered as before. It also refuses what
comes of a database that was restored from an old backup: the highest tick of each log and sink is kept with its token.

For tests, `Receiver` does on demand what receivers do at their worst: see Receiver.script.
"""
import collections
import http.server
import json
import sqlite3
import ssl
import subprocess
import sys
import threading

SCHEMA = """
CREATE TABLE IF NOT EXISTS received(key TEXT PRIMARY KEY, status INTEGER NOT NULL, answer TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS rows(id INTEGER PRIMARY KEY, key TEXT NOT NULL, line TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS ticks(sink TEXT PRIMARY KEY, tick INTEGER NOT NULL, token TEXT NOT NULL) STRICT;
"""

Answer = collections.namedtuple("Answer", "status headers body", defaults=({}, ""))


class Drop(Exception):
    """The connection ends here without an answer."""


class Receiver:
    """Listens on the loopback in threads of this process.

    script: what the next requests meet, one dict each, then nothing special. Its keys:
      status, headers, body   this answer, and nothing is kept
      drop    "before" or "after" the transaction, the connection is closed
      hold    "before" or "after" it, the request waits: `reached` is set, and it goes on once `go` is
    token: what requests must bring as Authorization: Bearer; None: nothing
    poison: lines with this word are refused, by an answer of status poison_status; 207 keeps the other lines
    max_rows: a request with more lines is answered 413
    """

    def __init__(self, ledger=":memory:", port=0, certificate=None):
        self.script = collections.deque()
        self.requests = []  # (path, headers, lines) of each, as they came
        self.token = None
        self.poison = None
        self.poison_status = 400
        self.max_rows = None
        self.reached = threading.Event()
        self.go = threading.Event()
        self._lock = threading.Lock()
        self._db = sqlite3.connect(ledger, check_same_thread=False, isolation_level=None)
        self._db.executescript(SCHEMA)
        self._server = Server(("127.0.0.1", port), handler_of(self))
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self._server.server_address[1]
        self.url = "http://127.0.0.1:%d/in" % self.port

    def start(self):
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def run(self):
        self._server.serve_forever()

    def stop(self):
        self.go.set()
        self._server.shutdown()
        self._server.server_close()

    def lines(self):
        with self._lock:
            return [line for line, in self._db.execute("SELECT line FROM rows ORDER BY id")]

    def receive(self, path, headers, body):
        """Gives the Answer to one request, or raises Drop."""
        with self._lock:
            step = self.script.popleft() if self.script else {}
            lines = lines_of(headers, body)
            self.requests.append((path, headers, lines))
        self._pause(step, "before")
        if "status" in step:
            return Answer(step["status"], step.get("headers", {}), step.get("body", ""))
        with self._lock:
            answer = self._keep(headers, lines)
        self._pause(step, "after")
        return answer

    def _pause(self, step, where):
        if step.get("hold") == where:
            self.reached.set()
            self.go.wait()
        if step.get("drop") == where:
            raise Drop

    def _keep(self, headers, lines):
        if self.token is not None and headers.get("Authorization") != "Bearer " + self.token:
            return Answer(401, body="who are you?")
        key = key_of(headers)
        if key is None:
            return Answer(400, body="a request needs an Idempotency-Key")
        self._db.execute("BEGIN IMMEDIATE")
        try:
            answer = self._known(key) or self._behind(key, headers) or self._take(key, lines)
            self._db.execute("COMMIT" if answer.status < 300 else "ROLLBACK")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        return answer

    def _known(self, key):
        for status, body in self._db.execute("SELECT status, answer FROM received WHERE key = ?", (key,)):
            return Answer(status, body=body)
        return None

    def _behind(self, key, headers):
        sink = "/".join(key.split("/")[:2])
        tick, token = headers.get("Tidemark-Tick", "0 0").split(" ")
        for seen, its in self._db.execute("SELECT tick, token FROM ticks WHERE sink = ?", (sink,)):
            if int(tick) < seen or (int(tick) == seen and token != its):
                return Answer(409, {"Tidemark-Tick": "%d %s" % (seen, its)}, "a later tick was here before")
        self._db.execute("INSERT OR REPLACE INTO ticks VALUES (?, ?, ?)", (sink, int(tick), token))
        return None

    def _take(self, key, lines):
        if self.max_rows is not None and len(lines) > self.max_rows:
            return Answer(413, body="at most %d rows" % self.max_rows)
        bad = [i for i, line in enumerate(lines) if self.poison is not None and self.poison in line]
        if bad and self.poison_status != 207:
            return Answer(self.poison_status, body="line %d is bad" % (bad[0] + 1))
        answer = Answer(200)
        if bad:
            refused = [{"line": i + 1, "reason": "line %d is bad" % (i + 1)} for i in bad]
            answer = Answer(207, body=json.dumps({"refused": refused}))
        self._db.executemany("INSERT INTO rows(key, line) VALUES (?, ?)",
                             [(key, line) for i, line in enumerate(lines) if i not in bad])
        self._db.execute("INSERT INTO received VALUES (?, ?, ?)", (key, answer.status, answer.body))
        return answer


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A sender that went away, or that does not trust this one, is no news."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def lines_of(headers, body):
    if headers.get("Content-Encoding") == "zstd":
        body = subprocess.run(["zstd", "-dc"], input=body, stdout=subprocess.PIPE, check=True).stdout
    return body.decode().splitlines()


def key_of(headers):
    """The string within the quotes (RFC 8941 section 3.3.3; these keys need no escapes); None: there is none."""
    text = headers.get("Idempotency-Key", "")
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] == '"' else None


def handler_of(receiver):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # an answer leaves in one piece, not head first

        def handle_expect_100(self):
            go_on = super().handle_expect_100()
            self.wfile.flush()  # curl holds a body above 1 MiB back until it has this, or for a second
            return go_on

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            try:
                answer = receiver.receive(self.path, dict(self.headers), body)
                self.send_response_only(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body.encode())))
                self.end_headers()
                self.wfile.write(answer.body.encode())
            except Drop:
                self.close_connection = True

        def log_message(self, *args):
            pass

    return Handler


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    standing = Receiver(sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 0)
    print(standing.url, flush=True)
    try:
        standing.run()
    except KeyboardInterrupt:
        pass
