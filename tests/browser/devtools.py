"""Headless Chromium over a pipe: --remote-debugging-pipe speaks the DevTools protocol on file descriptors 3 and 4, each
message JSON with a NUL behind it. No network, no port."""
import base64
import json
import os
import subprocess

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe"]


class Browser:
    """One tab. seen: what the page asked for, and what the browser complained about, since the last look."""

    def __init__(self, program, profile):
        there, self.write_end = os.pipe()
        self.read_end, back = os.pipe()

        def connect():  # in the child; pipes may themselves be 3 or 4
            ends = os.dup(there), os.dup(back)
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen([program, *FLAGS, f"--user-data-dir={profile}", "about:blank"], close_fds=False,
                                        preexec_fn=connect, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(there)
        os.close(back)
        self.rest, self.calls, self.seen, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def message(self):
        while b"\0" not in self.rest:
            part = os.read(self.read_end, 1 << 20)
            if not part:
                raise SystemExit("the browser ended")
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def note(self, message):
        """What a page must not do, and that it is loaded."""
        method, what = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.seen.append("request " + what["request"]["url"])
        elif method == "Log.entryAdded":
            self.seen.append("log " + what["entry"]["text"])
        elif method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Page.javascriptDialogOpening"):
            self.seen.append(method)
        return method

    def call(self, method, **params):
        self.calls += 1
        message = {"id": self.calls, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.calls:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def open(self, path, width, scheme, media=""):
        """Loads the file; gives what it asked for beside itself and what went wrong."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url="about:blank")
        self.seen = []
        self.call("Page.navigate", url=path.as_uri())
        while self.note(self.message()) != "Page.loadEventFired" or self.evaluate("location.href") != path.as_uri():
            pass
        return [what for what in self.seen if what not in (f"request {path.as_uri()}", "request about:blank")]

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise SystemExit(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def picture(self):
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def close(self):
        os.close(self.write_end)
        self.process.terminate()
        self.process.wait(timeout=20)
        os.close(self.read_end)
