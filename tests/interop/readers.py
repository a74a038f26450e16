"""What the scripts of tests/interop share. A script runs in an empty folder, checks one thing after the other with
Checks, and ends with checks.end(). Drivers in JavaScript (*.mjs) are run by node(), beside the packages."""
import json
import os
import subprocess
import sys

MODULE = os.environ["TIDEMARK_MODULE"]
FOLDER = os.environ["INTEROP_FOLDER"]
LARGE = os.environ["INTEROP_LARGE"].split()


class Checks:
    """Counts; what fails is said and does not end the script."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, name, good, found=""):
        self.passed += bool(good)
        self.failed += not good
        print(f"{'ok' if good else 'FAILED'} {name}{'' if good else f': {found}'}", flush=True)

    def equal(self, name, found, expected):
        """Lists are told apart element by element."""
        if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
            different = [i for i, pair in enumerate(zip(found, expected)) if pair[0] != pair[1]]
            where = "".join(f"\n  [{i}] {found[i]!r}, expected {expected[i]!r}" for i in different[:5])
            self.check(name, not different, where)
        else:
            self.check(name, found == expected, f"{found!r}, expected {expected!r}")

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed else 0)


def sqlite(database, script):
    """Runs a script in the sqlite3 shell with the module loaded and gives what it prints."""
    done = subprocess.run(["sqlite3", "-batch", "-bail", database], input=f".load '{MODULE}'\n{script}".encode(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise SystemExit(f"sqlite3: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode()


def node(driver, *arguments):
    """Runs a driver and gives what it prints, as JSON."""
    done = subprocess.run(["node", os.path.join(FOLDER, driver), *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{driver}: {done.stderr.decode(errors='replace')}")
    return json.loads(done.stdout)
