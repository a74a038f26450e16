"""A gate in front of a server on the loopback: it ends a process when one of its requests arrives, or is answered."""
import os
import signal
import socket
import threading


class Gate:
    """with Gate(port) as gate: ... gate.kill = (process, method, nth, when): the nth request of that method; `when` is
    "asked" (it is not passed on) or "answered" (the answer is not)."""

    def __init__(self, port):
        self.target = port
        self.kill = None
        self.counts = {}
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.target))
            state = {"method": b""}
            for source, into, asked in ((client, server, True), (server, client, False)):
                threading.Thread(target=self.pass_on, args=(source, into, asked, state), daemon=True).start()

    def is_over(self, state, content, asked):
        """Requests come one at a time on a connection, each in a piece that begins with its method."""
        first = content.split(b" ")[0]
        if asked and first in (b"GET", b"HEAD", b"PUT", b"POST", b"DELETE"):
            state["method"] = first
            self.counts[first] = self.counts.get(first, 0) + 1
        if self.kill is None:
            return False
        process, method, nth, when = self.kill
        if state["method"] != method or self.counts[method] != nth or (when == "asked") != asked:
            return False
        os.kill(process.pid, signal.SIGKILL)
        self.kill = None
        return True

    def pass_on(self, source, into, asked, state):
        try:
            while content := source.recv(65536):
                if self.is_over(state, content, asked):
                    break
                into.sendall(content)
        except OSError:
            pass  # the other direction has ended it
        for each in (source, into):
            each.close()
