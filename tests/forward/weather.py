"""What stands between ticks and a server that may be killed: a proxy that decides what befalls each request.

A request is passed on, or its connection is cut before or after the server has seen it, or the server is killed at one
of these moments, or it waits there until it is told to go on, or it is answered with 503. Who waits is not slow by a
clock: the test is told, does what it wants to do meanwhile, and lets it go.
"""
import http.client
import http.server
import subprocess
import sys
import threading

FATES = ("cut", "kill server", "stall", "kill tick", "busy")


class Server:
    """A server in a process of its own, which prints its URL when it is ready."""

    def __init__(self, *command):
        self.command = [sys.executable, *command]
        self.lock = threading.Lock()
        self.deaths = 0
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().split(":")[2].split("/")[0])

    def kill(self):
        """Dead until it is asked for the next time."""
        with self.lock:
            if self.process.poll() is None:
                self.process.kill()
                self.deaths += 1
            self.process.wait()
            self.process.stdout.close()
            self.port = None

    def ready(self):
        with self.lock:
            if self.port is None:
                self.start()
            return self.port

    def stop(self):
        if self.port is not None:
            self.kill()


class Proxy:
    """fate(path): what befalls the next request, a pair of one of FATES, or None, and "before" or "after"; told
    ("stall", event) or ("kill tick", event): the request goes on when the event is set."""

    def __init__(self, server, fate, told):
        self.server, self.fate, self.told = server, fate, told
        self.listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler_of(self))
        self.listener.daemon_threads = True
        self.listener.handle_error = lambda *_: None  # a tick that was killed is no news
        self.url = "http://127.0.0.1:%d" % self.listener.server_address[1]
        threading.Thread(target=self.listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self):
        self.listener.shutdown()
        self.listener.server_close()

    def befall(self, what):
        """True when the request ends here."""
        if what == "kill server":
            self.server.kill()
        elif what in ("stall", "kill tick"):
            go = threading.Event()
            self.told((what, go))
            go.wait()
            return what == "kill tick"
        return True


def handler_of(proxy):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def pass_on(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            what, when = proxy.fate(self.path)
            self.close_connection = True
            if what == "busy":
                self.answer(503, [("Retry-After", "1")], b"")
                return
            if what is not None and when == "before" and proxy.befall(what):
                return
            try:
                answer, content = self.ask(body)
            except (OSError, http.client.HTTPException):
                return
            if what is not None and when == "after" and proxy.befall(what):
                return
            self.close_connection = False
            self.answer(answer.status, answer.getheaders(), content)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = pass_on

        def ask(self, body):
            upstream = http.client.HTTPConnection("127.0.0.1", proxy.server.ready())
            try:
                headers = {name: value for name, value in self.headers.items() if name.lower() != "expect"}
                upstream.request(self.command, self.path, body, headers)
                answer = upstream.getresponse()
                return answer, answer.read()
            finally:
                upstream.close()

        def answer(self, status, headers, content):
            self.send_response_only(status)
            for name, value in headers:
                if name.lower() not in ("content-length", "connection"):
                    self.send_header(name, value)
            size = dict((name.lower(), value) for name, value in headers).get("content-length", str(len(content)))
            self.send_header("Content-Length", size)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args):
            pass

    return Handler
