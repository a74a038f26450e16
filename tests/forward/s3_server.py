#!/usr/bin/env python3
"""A small S3: one that keeps its objects when it is killed, and loses the uploads in parts that were not completed.

  s3_server.py STORE      serves on the loopback until it is ended; the first line it prints is its URL

Objects are rows of the SQLite file STORE, where a test reads them too. It knows what Tidemark asks: put (also only where
there is none), get by ranges, head, delete, ListObjectsV2, and uploads in parts. Keys of any bucket are one space, and
signatures are not checked (tests/interop has a server that does), but their date is: it may be 15 minutes off this
server's clock, which goes `skew` seconds wrong.
"""
import datetime
import hashlib
import http.server
import sqlite3
import sys
import threading
import urllib.parse
import xml.sax.saxutils

SCHEMA = """
CREATE TABLE IF NOT EXISTS object(key TEXT PRIMARY KEY, body BLOB NOT NULL, etag TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS clock(skew INTEGER NOT NULL) STRICT;
"""
PAGE = 3  # keys of a listing: few, so that pages are turned
SKEW_MAX_S = 900


class Refusal(Exception):
    def __init__(self, status, code):
        super().__init__(code)
        self.status, self.code = status, code


class Store:
    def __init__(self, path):
        self.lock = threading.Lock()
        self.db = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=60)
        self.db.executescript(SCHEMA)
        self.uploads = {}  # id -> (key, {number: bytes}), in memory: they go with the process
        self.given = 0

    def find(self, key):
        found = self.db.execute("SELECT body, etag FROM object WHERE key = ?", (key,)).fetchone()
        if found is None:
            raise Refusal(404, "NoSuchKey")
        return found

    def put(self, key, body, only_new):
        if only_new and self.db.execute("SELECT 1 FROM object WHERE key = ?", (key,)).fetchone():
            raise Refusal(412, "PreconditionFailed")
        etag = '"%s"' % hashlib.md5(body).hexdigest()
        self.db.execute("INSERT OR REPLACE INTO object VALUES (?, ?, ?)", (key, body, etag))
        return etag

    def upload(self, id):
        if id not in self.uploads:
            raise Refusal(404, "NoSuchUpload")
        return self.uploads[id]

    def check_date(self, text):
        skew, = self.db.execute("SELECT coalesce(max(skew), 0) FROM clock").fetchone()
        sent = datetime.datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
        now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=skew)
        if abs((now - sent).total_seconds()) > SKEW_MAX_S:
            raise Refusal(403, "RequestTimeTooSkewed")


def page_of(entries, key_of, after, name, marker):
    """XML of the first entries behind `after`, and where the next page begins."""
    left = [entry for entry in entries if key_of(entry) > after]
    page = left[:PAGE]
    more = len(left) > len(page)
    last = xml.sax.saxutils.escape(key_of(page[-1])) if page else ""
    return ("<%s><IsTruncated>%s</IsTruncated>" % (name, "true" if more else "false") +
            ("<%s>%s</%s>" % (marker, last, marker) if more else "")), page


def handler_of(store):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def serve(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            path, _, query = self.path.partition("?")
            self.key = urllib.parse.unquote(path).partition("/")[2].partition("/")[2]
            self.query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
            with store.lock:
                try:
                    store.check_date(self.headers["x-amz-date"])
                    answer = getattr(self, "on_" + self.command.lower())(body)
                except Refusal as refusal:
                    answer = (refusal.status, {}, b"<Error><Code>%s</Code></Error>" % refusal.code.encode())
            self.answer(*answer)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = serve

        def answer(self, status, headers, body):
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *args):
            pass

        def on_put(self, body):
            if "uploadId" in self.query:
                store.upload(self.query["uploadId"])[1][int(self.query["partNumber"])] = body
                return 200, {"ETag": '"%s"' % hashlib.md5(body).hexdigest()}, b""
            return 200, {"ETag": store.put(self.key, body, "if-none-match" in self.headers)}, b""

        def on_post(self, _):
            if "uploads" in self.query:
                store.given += 1
                id = "upload%d.%d" % (id_base, store.given)
                store.uploads[id] = (self.key, {})
                return 200, {}, b"<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>" % (
                    id.encode())
            key, parts = store.upload(self.query["uploadId"])
            store.put(key, b"".join(parts[number] for number in sorted(parts)), "if-none-match" in self.headers)
            del store.uploads[self.query["uploadId"]]
            return 200, {}, b"<CompleteMultipartUploadResult><Key>k</Key></CompleteMultipartUploadResult>"

        def on_delete(self, _):
            if "uploadId" in self.query:
                store.upload(self.query["uploadId"])
                del store.uploads[self.query["uploadId"]]
            else:
                store.db.execute("DELETE FROM object WHERE key = ?", (self.key,))
            return 204, {}, b""

        def on_head(self, _):
            body, etag = store.find(self.key)
            return 200, {"ETag": etag}, body

        def on_get(self, _):
            if self.key == "":
                return 200, {}, self.list().encode()
            body, etag = store.find(self.key)
            unit, _, span = self.headers.get("range", "").partition("=")
            if unit != "bytes":
                return 200, {"ETag": etag}, body
            first, last = (int(number) for number in span.split("-"))
            if first >= len(body):
                raise Refusal(416, "InvalidRange")
            if self.headers.get("if-match", etag) != etag:
                raise Refusal(412, "PreconditionFailed")
            piece = body[first:last + 1]
            return 206, {"ETag": etag,
                         "Content-Range": "bytes %d-%d/%d" % (first, first + len(piece) - 1, len(body))}, piece

        def list(self):
            prefix = self.query.get("prefix", "")
            escape = xml.sax.saxutils.escape
            if "uploads" in self.query:
                entries = sorted((key, id) for id, (key, _) in store.uploads.items() if key.startswith(prefix))
                head, page = page_of(entries, lambda entry: "%s\n%s" % entry,
                                     "%s\n%s" % (self.query.get("key-marker", ""), self.query.get("upload-id-marker", "")),
                                     "ListMultipartUploadsResult", "NextKeyMarker")
                if "NextKeyMarker" in head:
                    head = head.replace(escape("%s\n%s" % page[-1]), escape(page[-1][0]))
                    head += "<NextUploadIdMarker>%s</NextUploadIdMarker>" % page[-1][1]
                return head + "".join("<Upload><Key>%s</Key><UploadId>%s</UploadId></Upload>" % (escape(key), id)
                                      for key, id in page) + "</ListMultipartUploadsResult>"
            after = self.query.get("continuation-token", self.query.get("start-after", ""))
            entries = store.db.execute("SELECT key, length(body) FROM object WHERE substr(key, 1, ?) = ? ORDER BY key",
                                       (len(prefix), prefix)).fetchall()
            head, page = page_of(entries, lambda entry: entry[0], after, "ListBucketResult", "NextContinuationToken")
            return head + "".join("<Contents><Key>%s</Key><Size>%d</Size></Contents>" % (escape(key), size)
                                  for key, size in page) + "</ListBucketResult>"

    return Handler


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that went away is no news."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    opened = Store(sys.argv[1])
    server = Server(("127.0.0.1", 0), handler_of(opened))
    id_base = server.server_address[1]
    print("http://127.0.0.1:%d" % server.server_address[1], flush=True)
    server.serve_forever()
